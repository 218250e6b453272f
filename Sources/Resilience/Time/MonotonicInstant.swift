/// A point in time on a ``TimeBase``, in nanoseconds since the start of that time base.
///
/// Arithmetic saturates: an instant plus an infinite wait is ``distantFuture``; it never traps. Instants of two time
/// bases must not be compared; a ``Pipeline`` does not accept policies of different time bases.
@frozen public struct MonotonicInstant: InstantProtocol, Codable {
    /// Nanoseconds since the start of the time base.
    public let nanoseconds: Int64

    /// Creates an instant.
    ///
    /// - Parameter nanoseconds: Nanoseconds since the start of the time base.
    @inlinable public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Later than every real reading: "never".
    @inlinable public static var distantFuture: MonotonicInstant { MonotonicInstant(nanoseconds: .max) }
    /// Earlier than every real reading.
    @inlinable public static var distantPast: MonotonicInstant { MonotonicInstant(nanoseconds: .min) }

    /// Reads what ``encode(to:)`` writes: a whole number of nanoseconds.
    /// - Parameter decoder: The decoder.
    /// - Throws: The decoder's error, if there is no such number.
    public init(from decoder: any Decoder) throws {
        nanoseconds = try decoder.singleValueContainer().decode(Int64.self)
    }

    /// Writes the nanoseconds since the start of the time base. Only the same process can use them: another process has
    /// another start.
    /// - Parameter encoder: The encoder.
    /// - Throws: The encoder's error.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(nanoseconds)
    }

    /// Returns this instant moved by a duration, saturating at ``distantFuture`` and ``distantPast``.
    /// - Parameter duration: How far to move; negative to go back. Fractions of a nanosecond are rounded up.
    public func advanced(by duration: Duration) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: nanoseconds.saturatingAdding(duration.saturatedNanoseconds))
    }

    /// Returns the time from this instant to another, saturating at ±292 years.
    /// - Parameter other: The other instant. If it is earlier, the result is negative.
    public func duration(to other: MonotonicInstant) -> Duration {
        .nanoseconds(other.nanoseconds.saturatingSubtracting(nanoseconds))
    }

    /// The time until another instant; nil if that instant never comes.
    package func wait(until other: MonotonicInstant) -> Duration? {
        other == .distantFuture ? nil : duration(to: other)
    }

    public static func < (lhs: MonotonicInstant, rhs: MonotonicInstant) -> Bool { lhs.nanoseconds < rhs.nanoseconds }

    /// Returns an instant moved by a duration, as ``advanced(by:)`` does.
    ///
    /// - Parameters:
    ///   - lhs: An instant.
    ///   - rhs: How far to move; negative to go back.
    public static func + (lhs: MonotonicInstant, rhs: Duration) -> MonotonicInstant { lhs.advanced(by: rhs) }
}

extension MonotonicInstant {
    /// The instant that a ``PolicySlot`` keeps.
    @inline(__always) init(word: UInt64) { self.init(nanoseconds: Int64(bitPattern: word)) }

    /// The instant as a word of a ``PolicySlot``.
    @inline(__always) var word: UInt64 { UInt64(bitPattern: nanoseconds) }
}

extension Duration {
    /// Whole nanoseconds, rounded up so that no positive wait becomes zero, and saturating at the ends of `Int64`.
    package var saturatedNanoseconds: Int64 {
        // The usual case first: arithmetic on an `Int128` takes twenty times as long, and few durations are longer than
        // nine seconds.
        let short = Int64(truncatingIfNeeded: attoseconds)
        guard Int128(short) != attoseconds else {
            return short / 1_000_000_000 + (short % 1_000_000_000 > 0 ? 1 : 0)
        }
        // First, because `components` traps if a duration has more seconds than an `Int64` can hold.
        guard self < .nanoseconds(Int64.max) else { return .max }
        guard self > .nanoseconds(Int64.min) else { return .min }
        let (seconds, attoseconds) = components
        let nanoseconds = attoseconds / 1_000_000_000 + (attoseconds % 1_000_000_000 > 0 ? 1 : 0)
        return seconds * 1_000_000_000 + nanoseconds
    }

    /// The duration in whole nanoseconds, rounded up, and at most 292 years.
    var inNanoseconds: Duration { .nanoseconds(saturatedNanoseconds) }

    /// The duration in seconds, for texts.
    package var inSeconds: Double {
        // The conversion of an `Int128` takes twenty times as long, and few calls take more than nine seconds.
        let short = Int64(truncatingIfNeeded: attoseconds)
        return (Int128(short) == attoseconds ? Double(short) : Double(attoseconds)) / 1e18
    }

    /// Whole seconds, rounded up: a wait for people.
    package var wholeSecondsRoundedUp: Int64 {
        let (seconds, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000_000_000)
        return Int64(clamping: rest > 0 ? seconds + 1 : seconds)
    }

    package static var infinite: Duration { .nanoseconds(Int64.max) }
}

extension FixedWidthInteger {
    /// Divides and rounds down, even below zero, so that the remainder is never negative.
    /// - Parameter divisor: Above zero.
    package func flooredDivision(by divisor: Self) -> (quotient: Self, remainder: Self) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    @inlinable package func saturatingAdding(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    @inlinable package func saturatingSubtracting(_ other: Self) -> Self {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }

    @inlinable package func saturatingMultiplied(by other: Self) -> Self {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
    }
}
