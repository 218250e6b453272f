/// How long to wait before each retry. A value: asking for any delay costs the same, and nothing is counted inside.
///
/// Everything saturates. The cap applies before the growth could overflow and again after jitter, so no delay is above
/// it; the smallest is zero. Formulas: AWS Architecture Blog, "Exponential Backoff And Jitter" (exponential; full, equal
/// and decorrelated jitter); resilience4j and gRPC (proportional jitter); Polly (constant, linear).
public struct Backoff: Sendable, Hashable {
    /// What chance does to a delay.
    public enum Jitter: Sendable, Hashable {
        /// Nothing.
        case none
        /// Anything from zero to the delay. The fewest calls of all jittered kinds.
        case full
        /// Half of the delay, and anything up to the other half.
        case equal
        /// Anything from the base to three times the last delay. Replaces the growth.
        case decorrelated
        /// The delay, give or take this share of it (0…1), and never above the cap: a constant delay is its own cap.
        case proportional(Double)
    }

    /// What comes after the last delay of a sequence.
    public enum SequenceEnd: Sendable, Hashable {
        /// The last delay, over and over.
        case repeatLast
        /// Nothing: a ``Retry`` gives up.
        case stop
    }

    enum Growth: Sendable, Hashable {
        case constant
        case linear
        case exponential(factor: Double)
        case sequence([Int64], end: SequenceEnd)
        case custom(CustomDelay)
    }

    let base: Int64
    let cap: Int64
    let growth: Growth
    let jitter: Jitter
    @usableFromInline let isJittered: Bool

    private static let checks = SettingChecks("Backoff")

    private init(base: Duration, cap: Duration, growth: Growth, jitter: Jitter) {
        let checks = Self.checks
        self.base = checks.notNegative(base, "base").saturatedNanoseconds
        self.cap = checks.notNegative(cap, "cap").saturatedNanoseconds
        self.growth = growth
        self.jitter =
            if case .proportional(let share) = jitter {
                .proportional(checks.share(share, "jitter share"))
            } else {
                jitter
            }
        isJittered = jitter != .none
    }

    /// The same delay each time.
    public static func constant(_ delay: Duration, jitter: Jitter = .none) -> Backoff {
        Backoff(base: delay, cap: delay, growth: .constant, jitter: jitter)
    }

    /// No delay.
    public static let none = constant(.zero)

    /// (n + 1) · `step` before retry n, counted from 0.
    public static func linear(_ step: Duration, cap: Duration = .seconds(20), jitter: Jitter = .none) -> Backoff {
        Backoff(base: step, cap: cap, growth: .linear, jitter: jitter)
    }

    /// `base` · `factor`ⁿ before retry n, counted from 0, and never above `cap`.
    /// - Parameter factor: 1 or more.
    public static func exponential(
        from base: Duration = .milliseconds(50), factor: Double = 2, cap: Duration = .seconds(20),
        jitter: Jitter = .full
    ) -> Backoff {
        let factor = checks.require(
            factor >= 1 && factor.isFinite, factor, "factor", "must be finite and at least 1", else: 1)
        return Backoff(base: base, cap: cap, growth: .exponential(factor: factor), jitter: jitter)
    }

    /// The delays as given.
    /// - Parameter end: what comes after the last one.
    public static func sequence(
        _ delays: [Duration], atEnd end: SequenceEnd = .repeatLast, jitter: Jitter = .none
    ) -> Backoff {
        let delays = checks.require(
            !delays.isEmpty && delays.allSatisfy { $0 >= .zero }, delays, "sequence",
            "must have one delay at least, and none that is negative", else: [.zero])
        return Backoff(
            base: delays[0], cap: delays.max() ?? .zero,
            growth: .sequence(delays.map(\.saturatedNanoseconds), end: end), jitter: jitter)
    }

    /// What `delay` says, but not less than zero or more than `cap`. It is equal only to copies of itself.
    /// - Parameter delay: a pure function of the retry, from 0, and of the delay before the one before, zero at the first.
    ///   It is called on whatever task the call runs on, never under a lock.
    public static func custom(
        cap: Duration = .seconds(20), jitter: Jitter = .none,
        _ delay: @escaping @Sendable (_ retry: Int, _ previous: Duration) -> Duration
    ) -> Backoff {
        let jitter = checks.require(
            jitter != .decorrelated, jitter, "jitter", "must not be, since it would replace the custom delay",
            else: .none)
        return Backoff(base: .zero, cap: cap, growth: .custom(CustomDelay(delay)), jitter: jitter)
    }

    /// The delay before a retry.
    /// - Parameters:
    ///   - retry: which retry, from 0.
    ///   - previous: the delay before the one before; nil at the first. Only decorrelated jitter and a custom delay ask.
    ///   - generator: where chance comes from; asked for one number if there is jitter, and for none without.
    @inlinable public func delay(
        beforeRetry retry: Int, previous: Duration? = nil, using generator: inout some RandomNumberGenerator
    ) -> Duration {
        .nanoseconds(
            delayInNanoseconds(
                beforeRetry: retry, previous: previous.map(Self.nanoseconds) ?? 0, using: &generator))
    }

    @usableFromInline static func nanoseconds(_ duration: Duration) -> Int64 { duration.saturatedNanoseconds }

    @inlinable func delayInNanoseconds(
        beforeRetry retry: Int, previous: Int64, using generator: inout some RandomNumberGenerator
    ) -> Int64 {
        delayInNanoseconds(
            beforeRetry: retry, previous: previous, bits: isJittered ? generator.next() : 0)
    }

    /// - Parameter bits: 64 random ones.
    @usableFromInline func delayInNanoseconds(beforeRetry retry: Int, previous: Int64, bits: UInt64) -> Int64 {
        let retry = max(0, retry)
        switch jitter {
        case .none:
            return plainDelay(beforeRetry: retry, previous: previous)
        case .full:
            return Self.pick(from: 0, through: plainDelay(beforeRetry: retry, previous: previous), bits)
        case .equal:
            let delay = plainDelay(beforeRetry: retry, previous: previous)
            return Self.pick(from: delay / 2, through: delay, bits)
        case .decorrelated:
            let ceiling = max(base, previous).saturatingMultiplied(by: 3)
            return Self.pick(from: min(base, cap), through: min(cap, ceiling), bits)
        case .proportional(let share):
            let delay = plainDelay(beforeRetry: retry, previous: previous)
            let spread = Int64(saturating: Double(delay) * share)
            // The cap cuts the range, not the draw: else half of all clients would meet at the cap.
            return Self.pick(
                from: max(0, delay - spread), through: min(cap, delay.saturatingAdding(spread)), bits)
        }
    }

    /// Whether no retry is left: a sequence that stops has come to its end.
    func hasEnded(beforeRetry retry: Int) -> Bool {
        if case .sequence(let delays, .stop) = growth { retry >= delays.count } else { false }
    }

    /// Whether asking for a delay runs what a user wrote, which must not happen under a lock.
    var isCustom: Bool { if case .custom = growth { true } else { false } }

    private func plainDelay(beforeRetry retry: Int, previous: Int64) -> Int64 {
        switch growth {
        case .constant:
            return base
        case .linear:
            return min(cap, base.saturatingMultiplied(by: Int64(retry).saturatingAdding(1)))
        case .exponential(2):
            guard base > 0 else { return 0 }
            // Shifting further would pass Int64.max, so the cap has it.
            return retry < base.leadingZeroBitCount ? min(cap, base << Int64(retry)) : cap
        case .exponential(let factor):
            // Zero times infinity is not a number, which saturates to zero.
            return min(cap, Int64(saturating: Double(base) * Self.power(factor, retry)))
        case .sequence(let delays, _):
            return delays[min(retry, delays.count - 1)]
        case .custom(let delay):
            return min(cap, max(0, delay.body(retry, .nanoseconds(previous)).saturatedNanoseconds))
        }
    }

    /// `base` to the `exponent`th by squaring: at most 64 steps, infinity when too large. Never NaN for a base of 1 or
    /// more.
    private static func power(_ base: Double, _ exponent: Int) -> Double {
        var result = 1.0
        var square = base
        var rest = exponent
        while rest > 0 {
            if rest & 1 == 1 { result *= square }
            square *= square
            rest >>= 1
        }
        return result
    }

    /// One of the integers from `low` through `high`, by the high half of one product. Each comes up as often as the others
    /// to within 2⁻⁶⁴ of all draws. Source: Lemire, "Fast Random Integer Generation in an Interval" (ACM TOMACS 2019),
    /// without the rejections that would take away the rest of the bias.
    private static func pick(from low: Int64, through high: Int64, _ bits: UInt64) -> Int64 {
        // Zero is not above `low`, nor `low` above `high`, so that neither the difference nor the sum overflows.
        low + Int64(bits.multipliedFullWidth(by: UInt64(high - low) + 1).high)
    }
}

extension Int64 {
    /// The nearest integer that there is; zero for NaN.
    package init(saturating value: Double) {
        if value.isNaN {
            self = 0
        } else {
            self = Int64(exactly: value.rounded()) ?? (value < 0 ? .min : .max)
        }
    }
}

extension Backoff: CustomStringConvertible {
    public var description: String {
        let shape: String =
            switch growth {
            case .constant: "constant \(Duration.nanoseconds(base).text)"
            case .linear: "linear \(Duration.nanoseconds(base).text) up to \(Duration.nanoseconds(cap).text)"
            case .exponential(let factor):
                "exponential \(Duration.nanoseconds(base).text) × \(factor)ⁿ up to \(Duration.nanoseconds(cap).text)"
            case .sequence(let delays, let end):
                "\(delays.map { Duration.nanoseconds($0).text }.joined(separator: ", "))\(end == .stop ? " and no more" : "")"
            case .custom: "custom up to \(Duration.nanoseconds(cap).text)"
            }
        return jitter == .none ? shape : "\(shape), \(jitter) jitter"
    }
}
