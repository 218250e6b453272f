import Resilience
import ResilienceHTTP

/// Compares the reader of a deadline's field with a second, different reader, and writes the time again.
package enum DeadlineFieldOracle {
    private static let fields: [DeadlineField] = [.standard, .grpc, DeadlineField("connect-timeout-ms")]

    /// - Parameter input: One byte that chooses the field, then its value.
    /// - Returns: Whether the value was accepted as a time.
    package static func check(_ input: [UInt8]) throws -> Bool {
        guard let first = input.first else { return false }
        let field = fields[Int(first) % fields.count]
        let value = String(decoding: input.dropFirst(), as: UTF8.self)
        let remaining = field.remaining(value)
        let expected = field == .grpc ? grpc(value) : milliseconds(value)
        try expect(
            remaining == expected.map { .nanoseconds(Int64(clamping: $0)) },
            "\(field): \(value.debugDescription) is read as \(String(describing: remaining)), not as "
                + "\(String(describing: expected)) ns")
        try expect(
            CallDeadline(httpField: value, as: field).map { _ in true } == remaining.map { _ in true }, "two ways")
        guard let remaining else { return false }
        try checkWritten(remaining, field)
        // A time between two values that the field can express.
        try checkWritten(remaining / 3, field)
        return true
    }

    private static func checkWritten(_ time: Duration, _ field: DeadlineField) throws {
        guard let written = field.value(for: time) else {
            return try expect(time >= .nanoseconds(Int64.max), "\(time) has no value")
        }
        guard let read = field.remaining(written) else { throw Finding("\(written) can't be read") }
        try expect(read <= time, "\(time) has become longer: \(written)")
        // The field's precision: one millisecond, or for gRPC a part of the time, since its field has eight digits.
        let step = field == .grpc ? max(.nanoseconds(1), time / 100_000 * 60) : .milliseconds(1)
        try expect(time - read < step, "\(time) is written as \(written), which is too short")
        try expect(field.value(for: read) == written, "\(written) is not written as it is read")
    }

    private static func milliseconds(_ value: String) -> Int128? {
        digits(trimmed(value)).map { $0 * 1_000_000 }
    }

    private static func grpc(_ value: String) -> Int128? {
        let text = trimmed(value)
        let units: [Character: Int128] = [
            "H": 3_600_000_000_000, "M": 60_000_000_000, "S": 1_000_000_000, "m": 1_000_000, "u": 1_000, "n": 1,
        ]
        guard (2...9).contains(text.utf8.count), let unit = text.last.flatMap({ units[$0] }) else { return nil }
        return digits(String(text.dropLast())).map { $0 * unit }
    }

    private static func trimmed(_ value: String) -> String {
        var bytes = Array(value.utf8)[...]
        while bytes.first == 0x20 || bytes.first == 0x09 { bytes.removeFirst() }
        while bytes.last == 0x20 || bytes.last == 0x09 { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// nil if there is any other character. More than 25 digits count as the largest number.
    private static func digits(_ text: String) -> Int128? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let significant = text.drop { $0 == "0" }
        if significant.isEmpty { return 0 }
        return significant.utf8.count > 25 ? Int128(Int64.max) : Int128(significant)
    }
}
