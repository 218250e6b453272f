import Resilience

/// The value of gRPC's `grpc-timeout` (gRPC over HTTP/2, "Timeout"): at most 8 digits, and the letter of a unit.
package enum GRPCTimeout {
    /// The units, the finest first.
    package static let units: [(letter: String, nanoseconds: Int64)] = [
        ("n", 1), ("u", 1_000), ("m", 1_000_000), ("S", 1_000_000_000), ("M", 60_000_000_000), ("H", 3_600_000_000_000),
    ]
    private static let most: Int64 = 99_999_999

    /// Returns the value in the finest unit in which it has at most 8 digits, rounded down.
    /// - Parameter nanoseconds: 0 or more.
    static func value(nanoseconds: Int64) -> String {
        for unit in units where nanoseconds / unit.nanoseconds <= most {
            return "\(nanoseconds / unit.nanoseconds)\(unit.letter)"
        }
        // Not reached: the largest number of nanoseconds is 2,562,047 hours.
        return "\(most)H"
    }

    /// Reads a value, saturating; nil if it is not of this form.
    static func nanoseconds(_ value: FieldCursor) -> Int64? {
        var cursor = value
        var digits = 0
        while let byte = cursor.next, byte.isDigit {
            digits += 1
            guard digits <= 8, cursor.take() != nil else { return nil }
        }
        cursor = value
        guard let number = cursor.digits(), let unit = cursor.index(in: units.map(\.letter)), cursor.isAtEnd else {
            return nil
        }
        return number.saturatingMultiplied(by: units[unit].nanoseconds)
    }
}
