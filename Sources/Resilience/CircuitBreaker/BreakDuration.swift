/// How long an open circuit stays open. A pure value, asked once a trip.
public protocol BreakDuration: Sendable, CustomStringConvertible {
    /// - Parameters:
    ///   - trip: the trip that the break follows.
    ///   - chance: where to draw from.
    /// - Returns: zero or more; less is taken for zero.
    func duration(of trip: Trip, using chance: SplitMix64) -> Duration
}

/// A circuit's opening.
public struct Trip: Sendable, Hashable {
    /// Trips before this one without a recovery in between, from 0.
    public let earlier: Int
    /// How the call ended that made it open; nil if one did that is still under way.
    public let verdict: Verdict?

    public init(earlier: Int, verdict: Verdict? = nil) {
        self.earlier = earlier
        self.verdict = verdict
    }
}

/// The same time at every trip.
public struct ConstantBreak: BreakDuration, Hashable {
    public let length: Duration

    public func duration(of trip: Trip, using chance: SplitMix64) -> Duration { length }
    public var description: String { "for \(length)" }
}

/// A time that grows with every trip in a row: doubling, or by its base at a time.
///
/// base × min(`maxMultiplier`, 2^trips), or base × (trips + 1), never above `cap`: 30, 60, 120, 240, 300 s with the
/// defaults. Linear is how Envoy's outlier detection ejects hosts.
public struct GrowingBreak: BreakDuration, Hashable {
    public enum Growth: Sendable, Hashable {
        case linear
        case exponential(maxMultiplier: Int)
    }

    public let base: Duration
    public let growth: Growth
    public let cap: Duration

    public func duration(of trip: Trip, using chance: SplitMix64) -> Duration {
        let multiplier: Int64 =
            switch growth {
            case .linear: Int64(max(0, trip.earlier)).saturatingAdding(1)
            case .exponential(let limit):
                min(Int64(limit), trip.earlier < 63 ? Int64(1) << Int64(max(0, trip.earlier)) : .max)
            }
        return min(cap, .nanoseconds(base.saturatedNanoseconds.saturatingMultiplied(by: multiplier)))
    }

    public var description: String {
        switch growth {
        case .linear: "for \(base) × n up to \(cap)"
        case .exponential: "for \(base) × 2ⁿ up to \(cap)"
        }
    }
}

/// As long as the failure that opened the circuit asks for, if it asks. Less than no time is not asked for.
public struct RetryAfterBreak: BreakDuration {
    public let otherwise: any BreakDuration
    public let cap: Duration

    public func duration(of trip: Trip, using chance: SplitMix64) -> Duration {
        guard let asked = trip.verdict?.retryAfter, asked >= .zero else {
            return otherwise.duration(of: trip, using: chance)
        }
        return min(asked, cap)
    }

    public var description: String { "for as long as asked, up to \(cap), else \(otherwise)" }
}

/// Another break, give or take a share of it, so that many clients do not come back at once.
public struct JitteredBreak: BreakDuration {
    public let length: any BreakDuration
    public let share: Double

    public func duration(of trip: Trip, using chance: SplitMix64) -> Duration {
        let plain = max(0, length.duration(of: trip, using: chance).saturatedNanoseconds)
        let spread = min(plain, Int64(saturating: Double(plain) * share))
        var chance = chance
        return .nanoseconds(Int64.random(in: plain - spread...plain.saturatingAdding(spread), using: &chance))
    }

    public var description: String { "\(length) ± \(share)" }
}

extension BreakDuration {
    /// This one, give or take up to this share of it.
    /// - Parameter share: 0…1. The cap of a growing break holds before the jitter.
    public func jittered(by share: Double = 0.2) -> JitteredBreak {
        precondition((0...1).contains(share), "BreakDuration: jitter share is \(share), and must lie in 0...1")
        return JitteredBreak(length: self, share: share)
    }
}

extension BreakDuration where Self == ConstantBreak {
    /// - Parameter length: zero or more.
    public static func constant(_ length: Duration) -> Self {
        precondition(length >= .zero, "BreakDuration: length is \(length), and must not be negative")
        return ConstantBreak(length: length)
    }
}

extension BreakDuration where Self == GrowingBreak {
    /// Doubles with every trip in a row, up to `maxMultiplier` times `base`, and never above `cap`.
    public static func exponential(
        from base: Duration = .seconds(30), maxMultiplier: Int = 10, cap: Duration = .seconds(300)
    ) -> Self {
        precondition(maxMultiplier >= 1, "BreakDuration: maxMultiplier is \(maxMultiplier), and must be at least 1")
        return growing(from: base, .exponential(maxMultiplier: maxMultiplier), cap: cap)
    }

    /// `base`, twice it, three times it …, never above `cap`.
    public static func linear(from base: Duration = .seconds(30), cap: Duration = .seconds(300)) -> Self {
        growing(from: base, .linear, cap: cap)
    }

    private static func growing(from base: Duration, _ growth: GrowingBreak.Growth, cap: Duration) -> Self {
        precondition(base >= .zero, "BreakDuration: base is \(base), and must not be negative")
        precondition(cap >= .zero, "BreakDuration: cap is \(cap), and must not be negative")
        return GrowingBreak(base: base, growth: growth, cap: cap)
    }
}

extension BreakDuration where Self == RetryAfterBreak {
    /// As long as the failure that opened the circuit asks for (``Verdict/throttled(retryAfter:)``), else as `otherwise`
    /// says.
    /// - Parameter cap: the longest, whatever is asked for.
    public static func retryAfter(
        otherwise: some BreakDuration = .exponential(), cap: Duration = .seconds(3600)
    ) -> Self {
        precondition(cap >= .zero, "BreakDuration: cap is \(cap), and must not be negative")
        return RetryAfterBreak(otherwise: otherwise, cap: cap)
    }
}
