import Resilience
import ResilienceHTTP

/// What a response means, whatever its status and fields.
package enum HTTPVerdictOracle {
    private static let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "get", "", "PROPFIND"]
    private static let remarks: [ServerRemark?] = [nil, .rateLimited, .quotaExhausted, .inFlight]
    private static let names = [
        "retry-after", "date", "x-ratelimit-remaining", "x-should-retry", "stripe-should-retry",
    ]

    /// - Parameter input: two bytes of status, one that says method, key and remark, then fields a line, each with one
    ///   byte that says which it is.
    /// - Returns: whether the response is a failure.
    package static func check(_ input: [UInt8]) throws -> Bool {
        guard input.count >= 3 else { return false }
        let status = Int(Int16(bitPattern: UInt16(input[0]) << 8 | UInt16(input[1])))
        let request = RequestSemantics(method: methods[Int(input[2] & 7)], hasIdempotencyKey: input[2] & 8 != 0)
        let remark = remarks[Int(input[2] >> 4 & 3)]
        var fields: [String: String] = [:]
        for line in input.dropFirst(3).split(separator: UInt8(ascii: "\n")) {
            let value = String(decoding: line.dropFirst(), as: UTF8.self)
            fields[names[Int(line[line.startIndex]) % names.count]] = value
        }
        let verdict = Verdict(httpStatus: status, for: request, remark: remark, now: 0) { fields[$0] }
        let shouted = Dictionary(uniqueKeysWithValues: fields.map { ($0.key.uppercased(), $0.value) })
        try expect(
            verdict == Verdict(httpStatus: status, for: request, remark: remark, now: 0, fields: shouted),
            "the case of a field's name matters")

        let asked = fields["retry-after"].flatMap { RetryAfter.wait($0, date: fields["date"], now: 0) }
        try expect((verdict == .success) == (100..<400).contains(status), "\(status) is \(verdict)")
        switch verdict {
        case .success, .transient, .permanent: break
        case .throttled(let wait):
            try expect(wait == asked, "throttled for \(String(describing: wait)), asked \(String(describing: asked))")
        case .uncertain: try expect(!request.isRepeatable, "a request that may be repeated is uncertain")
        case .rejected, .cancelled: throw Finding("a response is \(verdict)")
        }
        if verdict != .success, fields["x-should-retry"] == "false" {
            try expect(verdict == .permanent, "the server's false is taken for \(verdict)")
        }
        if verdict != .success, fields["x-should-retry"] == "true" {
            try expect(verdict != .permanent && verdict != .uncertain, "the server's true is taken for \(verdict)")
        }
        try expect(!HTTPStatusError(status: status, verdict: verdict).description.isEmpty, "an error says nothing")
        return verdict != .success
    }
}
