import Resilience
import ResilienceHTTP

/// What a response means, whatever its status and fields.
package enum HTTPVerdictOracle {
    private static let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "get", "", "PROPFIND"]
    private static let remarks: [ServerRemark?] = [
        nil, .rateLimited, .quotaExhausted, .inFlight, .means(.success), .means(.transient), .means(.throttled), nil,
    ]
    private static let names = [
        "retry-after", "date", "x-ratelimit-remaining", "x-should-retry", "stripe-should-retry", "x-ratelimit-reset",
        "x-ratelimit-limit", "ratelimit", "ratelimit-policy", "ratelimit-remaining", "ratelimit-reset",
        "ratelimit-limit", "retry-after-ms", "grpc-retry-pushback-ms", "x-shopify-shop-api-call-limit",
        "x-amzn-errortype", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens", "x-rate-limit-remaining",
    ]

    /// - Parameter input: two bytes of status, one that says method, key and remark, one that says the dialect, then
    ///   fields a line, each with one byte that says which it is.
    /// - Returns: whether the response is a failure.
    package static func check(_ input: [UInt8]) throws -> Bool {
        guard input.count >= 4 else { return false }
        let status = Int(Int16(bitPattern: UInt16(input[0]) << 8 | UInt16(input[1])))
        let request = RequestSemantics(method: methods[Int(input[2] & 7)], hasIdempotencyKey: input[2] & 8 != 0)
        let remark = remarks[Int(input[2] >> 4 & 7)]
        let dialect = RateLimitDialect.allCases[Int(input[3]) % RateLimitDialect.allCases.count]
        var fields: [String: String] = [:]
        for line in input.dropFirst(4).split(separator: UInt8(ascii: "\n")) {
            let value = String(decoding: line.dropFirst(), as: UTF8.self)
            fields[names[Int(line[line.startIndex]) % names.count]] = value
        }
        let verdict = Verdict(httpStatus: status, for: request, remark: remark, dialect: dialect, now: 0) { fields[$0] }
        let shouted = Dictionary(uniqueKeysWithValues: fields.map { ($0.key.uppercased(), $0.value) })
        try expect(
            verdict
                == Verdict(httpStatus: status, for: request, remark: remark, dialect: dialect, now: 0, fields: shouted),
            "the case of a field's name matters")

        let read = RateLimitFields(dialect: dialect, now: 0) { fields[$0] }
        for quota in read.quotas { try check(quota) }
        try expect(read.retryAfter.map { $0 >= .zero } ?? true, "a wait below zero")
        switch verdict.kind {
        case .success:
            try expect(verdict == .success, "a success with a wait")
            try expect(remark == .means(.success) || (100..<400).contains(status), "\(status) is a success")
        case .transient, .permanent, .uncertain:
            let wait = remark == .quotaExhausted ? nil : read.retryAfter
            try expect(verdict.retryAfter == wait, "\(verdict) drops \(String(describing: wait))")
        case .throttled:
            let wait = (remark == .quotaExhausted ? nil : read.retryAfter) ?? read.quotaWait
            try expect(verdict.retryAfter == wait, "\(verdict) drops \(String(describing: wait))")
        case .rejected, .cancelled: throw Finding("a response is \(verdict)")
        }
        if verdict.kind == .uncertain { try expect(!request.isRepeatable, "a repeatable request is uncertain") }
        if verdict.kind != .success { try expect(verdict.shouldRetry == read.shouldRetry, "the server's word is lost") }
        if read.shouldRetry == nil, fields["x-should-retry"] == "false" || fields["x-should-retry"] == "true" {
            throw Finding("x-should-retry is not read")
        }
        try expect(!HTTPStatusError(status: status, verdict: verdict).description.isEmpty, "an error says nothing")
        return verdict.kind != .success
    }

    private static func check(_ quota: ServerQuota) throws {
        try expect(quota.remaining.map { $0 >= 0 } ?? true, "\(quota): less than nothing remains")
        try expect(quota.limit.map { $0 >= 0 } ?? true, "\(quota): a limit below zero")
        let waits = [quota.resetsAfter, quota.window].compactMap(\.self)
        try expect(waits.allSatisfy { .zero <= $0 && $0 <= .nanoseconds(Int64.max) }, "\(quota): out of range")
    }
}
