import Resilience
import ResilienceHTTP

/// The verdict of a response, for any status and fields.
package enum HTTPVerdictOracle {
    private static let now: Int64 = 1_700_000_000
    private static let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "get", "", "PROPFIND"]
    private static let remarks: [ServerRemark?] = [
        nil, .rateLimited, .quotaExhausted, .inFlight, .means(.success), .means(.transient), .means(.throttled), nil,
    ]
    /// The field names of all dialects. The stored inputs name a field by its position, so new names come last.
    private static let names: [String] = {
        let others = RateLimitRow.all.flatMap { $0.limits.flatMap(\.names) + $0.waits }
        return others.reduce(into: first) { if !$0.contains($1) { $0.append($1) } }
    }()
    private static let dialects: [RateLimitDialect] = {
        let first: [RateLimitDialect] = [.automatic, .ietf, .ietfDraft6, .gitHub, .openAI, .shopify, .grpc, .none]
        return first + RateLimitDialect.allCases.filter { !first.contains($0) }
    }()
    private static let first = [
        "retry-after", "date", "x-ratelimit-remaining", "x-should-retry", "stripe-should-retry", "x-ratelimit-reset",
        "x-ratelimit-limit", "ratelimit", "ratelimit-policy", "ratelimit-remaining", "ratelimit-reset",
        "ratelimit-limit", "retry-after-ms", "grpc-retry-pushback-ms", "x-shopify-shop-api-call-limit",
        "x-amzn-errortype", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens", "x-rate-limit-remaining",
    ]

    /// - Parameter input: Two bytes for the status, one for method, key and remark, and one for the dialect. Then one
    ///   field per line: each line begins with one byte for the field's name.
    /// - Returns: Whether the response is a failure.
    package static func check(_ input: [UInt8]) throws -> Bool {
        guard input.count >= 4 else { return false }
        let status = Int(Int16(bitPattern: UInt16(input[0]) << 8 | UInt16(input[1])))
        let request = RequestSemantics(method: methods[Int(input[2] & 7)], hasIdempotencyKey: input[2] & 8 != 0)
        let remark = remarks[Int(input[2] >> 4 & 7)]
        let dialect = dialects[Int(input[3]) % dialects.count]
        var fields: [String: String] = [:]
        for line in input.dropFirst(4).split(separator: UInt8(ascii: "\n")) {
            let value = String(decoding: line.dropFirst(), as: UTF8.self)
            fields[names[Int(line[line.startIndex]) % names.count]] = value
        }
        let verdict = Verdict(httpStatus: status, for: request, remark: remark, dialect: dialect, now: now) {
            fields[$0]
        }
        let shouted = Dictionary(uniqueKeysWithValues: fields.map { ($0.key.uppercased(), $0.value) })
        try expect(
            verdict
                == Verdict(
                    httpStatus: status, for: request, remark: remark, dialect: dialect, now: now, fields: shouted),
            "the case of a field's name matters")

        let read = RateLimitFields(dialect: dialect, now: now) { fields[$0] }
        for quota in read.quotas { try check(quota) }
        try SecondReading(fields: fields, now: now).check(read, dialect)
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

/// A second reader of the fields that hold one number.
private struct SecondReading {
    let fields: [String: String]
    let now: Int64

    func check(_ read: RateLimitFields, _ dialect: RateLimitDialect) throws {
        for row in RateLimitRow.all where dialect == .automatic || dialect == row.dialect {
            for case .numbers(let form) in row.limits { try check(read.quotas, form) }
        }
    }

    private func check(_ quotas: [ServerQuota], _ form: LimitFields) throws {
        let remaining = fields[form.remaining].flatMap { Number($0, separators: ";") }?.whole
        let limit = form.limit.flatMap { fields[$0] }.flatMap { Number($0, separators: ";,") }?.whole
        guard limit != nil || remaining != nil else { return }
        let found = quotas.contains {
            $0.name == form.name && $0.unit == form.unit && $0.limit.map(Int64.init) == limit
                && $0.remaining.map(Int64.init) == remaining && isReset($0.resetsAfter, form)
        }
        try expect(found, "\(form) is not read from \(fields)")
    }

    /// Whether the wait agrees with the first reset field, if that is a number. Other forms are not checked.
    private func isReset(_ wait: Duration?, _ form: LimitFields) -> Bool {
        let values = form.resets.compactMap { fields[$0] }
        guard let value = values.first else { return wait == nil }
        guard let number = Number(value, separators: ";"), fields["date"] == nil else { return true }
        let longest = Duration.nanoseconds(Int64.max)
        let (earliest, isRounded) = number.wait(since: now)
        return wait.map { min(earliest, longest) <= $0 && $0 <= earliest + (isRounded ? .seconds(1) : .zero) } ?? false
    }

    /// The digits before the first separator, and those after a point.
    private struct Number {
        let whole: Int64
        let fraction: String

        init?(_ value: String, separators: String) {
            var text = value.utf8.split(omittingEmptySubsequences: false) { separators.utf8.contains($0) }[0]
            while let byte = text.first, " \t".utf8.contains(byte) { text.removeFirst() }
            while let byte = text.last, " \t".utf8.contains(byte) { text.removeLast() }
            let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy("0123456789".utf8.contains) })
            else {
                return nil
            }
            // A number that does not fit counts as the largest.
            whole = Int64(String(decoding: parts[0], as: UTF8.self)) ?? .max
            fraction = parts.count == 2 ? String(decoding: parts[1], as: UTF8.self) : ""
        }

        /// The wait, and whether it may be rounded up by a second: an instant with a fraction may.
        func wait(since now: Int64) -> (Duration, isRounded: Bool) {
            if whole >= 1_000_000_000_000 {
                return (max(.zero, .seconds(whole / 1000 - now) + .milliseconds(whole % 1000)), false)
            }
            let isWhole = fraction.allSatisfy { $0 == "0" }
            if whole >= 1_000_000_000 { return (max(.zero, .seconds(whole - now)), !isWhole) }
            let nine = Int64(fraction.prefix(9)) ?? 0
            let padded = (0..<9 - min(9, fraction.utf8.count)).reduce(nine) { value, _ in value * 10 }
            let rest = fraction.dropFirst(9).contains { $0 != "0" }
            return (.seconds(whole) + .nanoseconds(padded + (rest ? 1 : 0)), false)
        }
    }
}
