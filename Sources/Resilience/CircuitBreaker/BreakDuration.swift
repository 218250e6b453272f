/// How long an open circuit stays open. A pure value, asked once a trip.
public protocol BreakDuration: Sendable, CustomStringConvertible {
    /// - Parameters:
    ///   - trip: the trip that the break follows.
    ///   - generator: where to draw from.
    /// - Returns: zero or more; less is taken for zero.
    func duration(of trip: CircuitTrip, using generator: SplitMix64) -> Duration

    /// The longest that it ever returns; nil if nobody can tell, as by default. A restored break is cut to it.
    var longest: Duration? { get }
}

extension BreakDuration {
    public var longest: Duration? { nil }
}

/// A circuit's opening.
public struct CircuitTrip: Sendable, Hashable {
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

    public func duration(of trip: CircuitTrip, using generator: SplitMix64) -> Duration { length }
    public var longest: Duration? { length }
    public var description: String { "for \(length.text)" }
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

    public func duration(of trip: CircuitTrip, using generator: SplitMix64) -> Duration {
        let multiplier: Int64 =
            switch growth {
            case .linear: Int64(max(0, trip.earlier)).saturatingAdding(1)
            case .exponential(let limit):
                min(Int64(limit), trip.earlier < 63 ? Int64(1) << Int64(max(0, trip.earlier)) : .max)
            }
        return duration(multipliedBy: multiplier)
    }

    private func duration(multipliedBy multiplier: Int64) -> Duration {
        min(cap, .nanoseconds(base.saturatedNanoseconds.saturatingMultiplied(by: multiplier)))
    }

    public var longest: Duration? {
        switch growth {
        case .linear: cap
        case .exponential(let limit): duration(multipliedBy: Int64(limit))
        }
    }

    public var description: String {
        switch growth {
        case .linear: "for \(base.text) × n up to \(cap.text)"
        case .exponential: "for \(base.text) × 2ⁿ up to \(cap.text)"
        }
    }
}

/// As long as the failure that opened the circuit asks for, if it asks. Less than no time is not asked for.
public struct RetryAfterBreak: BreakDuration {
    public let otherwise: any BreakDuration
    public let cap: Duration

    public func duration(of trip: CircuitTrip, using generator: SplitMix64) -> Duration {
        guard let asked = trip.verdict?.namedWait else {
            return otherwise.duration(of: trip, using: generator)
        }
        return min(asked, cap)
    }

    public var longest: Duration? { otherwise.longest.map { max($0, cap) } }

    public var description: String { "for as long as asked, up to \(cap.text), else \(otherwise)" }
}

/// Another break, give or take a share of it, so that many clients do not come back at once.
public struct JitteredBreak: BreakDuration {
    public let length: any BreakDuration
    public let share: Double

    public func duration(of trip: CircuitTrip, using generator: SplitMix64) -> Duration {
        let plain = max(0, length.duration(of: trip, using: generator).saturatedNanoseconds)
        let spread = min(plain, Int64(saturating: Double(plain) * share))
        var generator = generator
        return .nanoseconds(Int64.random(in: plain - spread...plain.saturatingAdding(spread), using: &generator))
    }

    public var longest: Duration? {
        length.longest.map { longest in
            let plain = max(0, longest.saturatedNanoseconds)
            return .nanoseconds(plain.saturatingAdding(min(plain, Int64(saturating: Double(plain) * share))))
        }
    }

    public var description: String { "\(length) ± \(share)" }
}

private let breakChecks = SettingChecks("BreakDuration")

extension BreakDuration {
    /// This one, give or take up to this share of it.
    /// - Parameter share: 0…1. The cap of a growing break holds before the jitter.
    public func jittered(by share: Double = 0.2) -> JitteredBreak {
        JitteredBreak(length: self, share: breakChecks.share(share, "jitter share"))
    }
}

extension BreakDuration where Self == ConstantBreak {
    /// What a circuit has if not told otherwise: 60 s.
    public static var standard: Self { .seconds(60) }

    /// - Parameter length: zero or more.
    public static func constant(_ length: Duration) -> Self {
        ConstantBreak(length: breakChecks.notNegative(length, "length"))
    }

    /// - Parameter seconds: zero or more.
    public static func seconds(_ seconds: Int) -> Self { .constant(.seconds(seconds)) }

    /// - Parameter seconds: zero or more; above 10¹⁸ it is that.
    public static func seconds(_ seconds: Double) -> Self {
        let valid = breakChecks.require(seconds >= 0, seconds, "seconds", "must not be negative", else: 60)
        return .constant(.seconds(min(valid, 1e18)))
    }

    /// - Parameter milliseconds: zero or more.
    public static func milliseconds(_ milliseconds: Int) -> Self { .constant(.milliseconds(milliseconds)) }
}

extension BreakDuration where Self == GrowingBreak {
    /// Doubles with every trip in a row, up to `maxMultiplier` times `base`, and never above `cap`.
    public static func exponential(
        from base: Duration = .seconds(30), maxMultiplier: Int = 10, cap: Duration = .seconds(300)
    ) -> Self {
        let maxMultiplier = breakChecks.atLeast(1, maxMultiplier, "maxMultiplier")
        return growing(from: base, .exponential(maxMultiplier: maxMultiplier), cap: cap)
    }

    /// `base`, twice it, three times it …, never above `cap`.
    public static func linear(from base: Duration = .seconds(30), cap: Duration = .seconds(300)) -> Self {
        growing(from: base, .linear, cap: cap)
    }

    private static func growing(from base: Duration, _ growth: GrowingBreak.Growth, cap: Duration) -> Self {
        GrowingBreak(
            base: breakChecks.notNegative(base, "base"), growth: growth, cap: breakChecks.notNegative(cap, "cap"))
    }
}

extension BreakDuration where Self == RetryAfterBreak {
    /// As long as the failure that opened the circuit asks for (``Verdict/throttled(retryAfter:)``), else as `otherwise`
    /// says.
    /// - Parameter cap: the longest, whatever is asked for.
    public static func retryAfter(
        otherwise: some BreakDuration = .exponential(), cap: Duration = .seconds(3600)
    ) -> Self {
        RetryAfterBreak(otherwise: otherwise, cap: breakChecks.notNegative(cap, "cap"))
    }
}
