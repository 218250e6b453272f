/// How long an open circuit stays open. A pure value, asked once a trip.
public protocol BreakDuration: Sendable, CustomStringConvertible {
    /// - Parameter trips: trips before this one without a recovery in between, from 0.
    /// - Returns: zero or more.
    func duration(afterTrips trips: Int) -> Duration
}

/// The same time at every trip.
public struct ConstantBreak: BreakDuration, Hashable {
    public let length: Duration

    public func duration(afterTrips trips: Int) -> Duration { length }
    public var description: String { "for \(length)" }
}

/// A time that doubles with every trip in a row.
///
/// base × min(`maxMultiplier`, 2^trips), never above `cap`: 30, 60, 120, 240, 300 s with the defaults.
public struct ExponentialBreak: BreakDuration, Hashable {
    public let base: Duration
    public let maxMultiplier: Int
    public let cap: Duration

    public func duration(afterTrips trips: Int) -> Duration {
        let doubled = trips < 63 ? Int64(1) << Int64(max(0, trips)) : .max
        let length = base.saturatedNanoseconds.saturatingMultiplied(by: min(Int64(maxMultiplier), doubled))
        return min(cap, .nanoseconds(length))
    }

    public var description: String { "for \(base) × 2ⁿ up to \(cap)" }
}

extension BreakDuration where Self == ConstantBreak {
    public static func constant(_ length: Duration) -> Self {
        precondition(length >= .zero, "BreakDuration: length is \(length), and must not be negative")
        return ConstantBreak(length: length)
    }
}

extension BreakDuration where Self == ExponentialBreak {
    public static func exponential(
        from base: Duration = .seconds(30), maxMultiplier: Int = 10, cap: Duration = .seconds(300)
    ) -> Self {
        precondition(base >= .zero, "BreakDuration: base is \(base), and must not be negative")
        precondition(cap >= .zero, "BreakDuration: cap is \(cap), and must not be negative")
        precondition(maxMultiplier >= 1, "BreakDuration: maxMultiplier is \(maxMultiplier), and must be at least 1")
        return ExponentialBreak(base: base, maxMultiplier: maxMultiplier, cap: cap)
    }
}
