/// How long an open circuit stays open.
///
/// A pure value, asked once per trip.
///
/// A break can have the same length each time, grow with each trip, or follow the wait that the other side asks for.
/// Jitter keeps many clients from coming back at the same instant.
///
/// ```swift
/// CircuitBreaker(openFor: .seconds(60))
/// CircuitBreaker(
///     openFor: .retryAfter(otherwise: .exponential().jittered()))
/// ```
public protocol BreakDuration: Sendable, CustomStringConvertible {
    /// Returns how long the circuit stays open after a trip.
    ///
    /// - Parameters:
    ///   - trip: The trip that the break follows.
    ///   - generator: The source of chance.
    /// - Returns: 0 or more; less counts as 0.
    func duration(of trip: CircuitTrip, using generator: SplitMix64) -> Duration

    /// The longest break that this ever returns; nil, the default, if unknown.
    ///
    /// A restored break is cut to this length.
    var longest: Duration? { get }
}

extension BreakDuration {
    public var longest: Duration? { nil }
}

/// One opening of a circuit.
public struct CircuitTrip: Sendable, Hashable {
    /// The number of trips before this one without a recovery in between, from 0.
    public let earlier: Int
    /// The verdict of the call that opened the circuit; nil if it was opened by a slow call in flight, or by hand.
    public let verdict: Verdict?

    /// Creates a trip.
    ///
    /// - Parameters:
    ///   - earlier: The number of trips before this one without a recovery in between; 0 or more.
    ///   - verdict: The verdict of the call that opened the circuit; nil if none did.
    public init(earlier: Int, verdict: Verdict? = nil) {
        self.earlier = earlier
        self.verdict = verdict
    }
}

/// A break of the same length after every trip.
public struct ConstantBreak: BreakDuration, Hashable {
    /// How long the circuit stays open; 0 s or more, required.
    var length: Duration

    public func duration(of trip: CircuitTrip, using generator: SplitMix64) -> Duration { length }
    public var longest: Duration? { length }
    public var description: String { "for \(length.text)" }
}

/// A break that grows with every trip in a row: it doubles, or grows by its base.
///
/// base × min(`maxMultiplier`, 2^trips), or base × (trips + 1), never above `cap`: 30, 60, 120, 240, 300 s with the
/// defaults of `exponential`. The linear form is the same as in Envoy's outlier detection.
public struct GrowingBreak: BreakDuration, Hashable {
    /// How long the circuit stays open the first time; 0 s or more, 30 s by default.
    var base = Duration.seconds(30)
    /// The longest break, as a multiple of the first; 1 or more, 10 by default.
    ///
    /// The break doubles with each trip; nil if it grows by the base instead.
    var maxMultiplier: Int?
    /// The longest break; 0 s or more, 300 s by default.
    var cap = Duration.seconds(300)

    public func duration(of trip: CircuitTrip, using generator: SplitMix64) -> Duration {
        let earlier = Int64(max(0, trip.earlier))
        guard let maxMultiplier else { return duration(multipliedBy: earlier.saturatingAdding(1)) }
        return duration(multipliedBy: min(Int64(maxMultiplier), earlier < 63 ? 1 << earlier : .max))
    }

    private func duration(multipliedBy multiplier: Int64) -> Duration {
        min(cap, .nanoseconds(base.saturatedNanoseconds.saturatingMultiplied(by: multiplier)))
    }

    public var longest: Duration? { maxMultiplier.map { duration(multipliedBy: Int64($0)) } ?? cap }

    public var description: String {
        maxMultiplier == nil
            ? "for \(base.text) × n up to \(cap.text)" : "for \(base.text) × 2ⁿ up to \((longest ?? cap).text)"
    }
}

/// A break as long as the wait that the failure asks for, if that wait is above zero.
public struct RetryAfterBreak: BreakDuration {
    /// The break if the other side names no wait; by default exponential from 30 s to 300 s.
    var otherwise: BreakSettings
    /// The longest break that the other side can ask for; 0 s or more, 3600 s by default.
    var cap = Duration.seconds(3600)

    public func duration(of trip: CircuitTrip, using generator: SplitMix64) -> Duration {
        guard let asked = trip.verdict?.namedWait else {
            return otherwise.duration.duration(of: trip, using: generator)
        }
        return min(asked, cap)
    }

    public var longest: Duration? { otherwise.duration.longest.map { max($0, cap) } }

    public var description: String { "for as long as asked, up to \(cap.text), else \(otherwise)" }
}

/// Another break ± a share of its length, so that clients do not all return at once.
public struct JitteredBreak: BreakDuration {
    /// The break before jitter; required.
    var plain: BreakSettings
    /// The largest change by chance, as a share of the break; 0…1, by default 0.2.
    var share = 0.2

    public func duration(of trip: CircuitTrip, using generator: SplitMix64) -> Duration {
        let plain = max(0, plain.duration.duration(of: trip, using: generator).saturatedNanoseconds)
        let spread = min(plain, Int64(saturating: Double(plain) * share))
        var generator = generator
        return .nanoseconds(Int64.random(in: plain - spread...plain.saturatingAdding(spread), using: &generator))
    }

    public var longest: Duration? {
        plain.duration.longest.map { longest in
            let plain = max(0, longest.saturatedNanoseconds)
            return .nanoseconds(plain.saturatingAdding(min(plain, Int64(saturating: Double(plain) * share))))
        }
    }

    public var description: String { "\(plain) ± \(share)" }
}

extension BreakDuration {
    /// Returns this break with jitter: ± up to a share of it.
    ///
    /// - Parameter share: The largest change, 0…1. The cap of a growing break applies before the jitter.
    public func jittered(by share: Double = 0.2) -> JitteredBreak {
        var jittered = JitteredBreak(plain: BreakSettings(ConstantBreak.standard), share: share).checked()
        // Set after the check: the break may be of another module, and a file can't contain such a break.
        jittered.plain = BreakSettings(self)
        return jittered
    }
}

extension BreakDuration {
    /// Whether another break always has the same length; false for breaks of other modules.
    func isSame(as other: any BreakDuration) -> Bool {
        switch (self, other) {
        case (let own as ConstantBreak, let other as ConstantBreak): own == other
        case (let own as GrowingBreak, let other as GrowingBreak): own == other
        case (let own as RetryAfterBreak, let other as RetryAfterBreak):
            own.cap == other.cap && own.otherwise.duration.isSame(as: other.otherwise.duration)
        case (let own as JitteredBreak, let other as JitteredBreak):
            own.share == other.share && own.plain.duration.isSame(as: other.plain.duration)
        // A break of another module may have differences that its `==` ignores.
        case _: false
        }
    }
}

extension BreakDuration where Self == ConstantBreak {
    /// The default of a circuit: 60 s.
    public static var standard: Self { ConstantBreak(length: .seconds(60)) }

    /// A break of the same length after every trip.
    ///
    /// - Parameter length: 0 or more.
    public static func constant(_ length: Duration) -> Self { ConstantBreak(length: length).checked() }

    /// A break of whole seconds.
    ///
    /// - Parameter seconds: 0 or more.
    public static func seconds(_ seconds: Int) -> Self { .constant(.seconds(seconds)) }

    /// A break of seconds.
    ///
    /// - Parameter seconds: 0 or more; above 10¹⁸ it counts as 10¹⁸.
    public static func seconds(_ seconds: Double) -> Self {
        // NaN is also invalid.
        .constant(.seconds(seconds >= 0 ? min(seconds, 1e18) : -1))
    }

    /// A break of milliseconds.
    ///
    /// - Parameter milliseconds: 0 or more.
    public static func milliseconds(_ milliseconds: Int) -> Self { .constant(.milliseconds(milliseconds)) }
}

extension BreakDuration where Self == GrowingBreak {
    /// A break that doubles with every trip in a row.
    ///
    /// - Parameters:
    ///   - base: The first break; 0 or more.
    ///   - maxMultiplier: The largest multiple of `base`; 1 or more.
    ///   - cap: The longest break; 0 or more.
    public static func exponential(
        from base: Duration = .seconds(30), maxMultiplier: Int = 10, cap: Duration = .seconds(300)
    ) -> Self {
        GrowingBreak(base: base, maxMultiplier: maxMultiplier, cap: cap).checked()
    }

    /// A break that grows by `base` with every trip in a row.
    ///
    /// - Parameters:
    ///   - base: The first break; 0 or more.
    ///   - cap: The longest break; 0 or more.
    public static func linear(from base: Duration = .seconds(30), cap: Duration = .seconds(300)) -> Self {
        GrowingBreak(base: base, cap: cap).checked()
    }
}

extension BreakDuration where Self == RetryAfterBreak {
    /// A break as long as the failure that opened the circuit asks for (``Verdict/throttled(retryAfter:)``).
    ///
    /// - Parameters:
    ///   - otherwise: The break if the failure asks for no wait.
    ///   - cap: The longest break that a failure can ask for; 0 or more. It does not limit `otherwise`.
    public static func retryAfter(
        otherwise: some BreakDuration = .exponential(), cap: Duration = .seconds(3600)
    ) -> Self {
        var asked = RetryAfterBreak(otherwise: BreakSettings(ConstantBreak.standard), cap: cap).checked()
        asked.otherwise = BreakSettings(otherwise)
        return asked
    }
}
