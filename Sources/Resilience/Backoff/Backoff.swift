/// How long to wait before each retry.
///
/// A backoff is a value without counters, so each delay costs the same to compute. All arithmetic saturates. The cap
/// applies before the growth could overflow, and again after jitter: a delay is never above the cap or below zero.
///
/// Formulas: AWS Architecture Blog, "Exponential Backoff And Jitter" (exponential; full, equal and decorrelated
/// jitter); resilience4j and gRPC (proportional jitter); Polly (constant, linear).
///
/// See <doc:RetryGuide>.
public struct Backoff: SettingsGroup {
    /// How chance changes a delay.
    public enum Jitter: Sendable, Hashable {
        /// No jitter: the delay is unchanged.
        case none
        /// Anything from zero to the delay.
        ///
        /// With this kind of jitter, clients make the fewest calls.
        case full
        /// Anything from half of the delay to the delay.
        case equal
        /// Anything from the base to three times the previous delay, up to the cap.
        ///
        /// This jitter replaces the growth of the delays.
        case decorrelated
        /// The delay ± this share of it (0…1), never above the cap.
        ///
        /// The cap of a constant delay is that delay, so jitter can only shorten it.
        case proportional(Double)
    }

    /// The behavior after the last delay of a sequence.
    public enum SequenceEnd: String, SettingChoice {
        /// The last delay again, for each further retry.
        case repeatLast
        /// No retry: a ``Retry`` gives up.
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

    private init(base: Duration, cap: Duration, growth: Growth, jitter: Jitter) {
        self.base = base.saturatedNanoseconds
        self.cap = cap.saturatedNanoseconds
        self.growth = growth
        self.jitter = jitter
        isJittered = jitter != .none
    }

    private init(_ delays: [Duration], _ end: SequenceEnd, _ jitter: Jitter) {
        self.init(
            base: delays.first ?? .zero, cap: delays.max() ?? .zero,
            growth: .sequence(delays.map(\.saturatedNanoseconds), end: end), jitter: jitter)
    }

    /// The same delay before each retry.
    ///
    /// - Parameters:
    ///   - delay: The delay; 0 or more. It is also the cap.
    ///   - jitter: How chance changes the delay.
    public static func constant(_ delay: Duration, jitter: Jitter = .none) -> Backoff {
        Backoff(base: delay, cap: delay, growth: .constant, jitter: jitter).valid()
    }

    /// No delay.
    public static let none = constant(.zero)

    /// (n + 1) · `step` before retry n, counted from 0, and never above `cap`.
    ///
    /// - Parameters:
    ///   - step: The first delay, and the growth per retry; 0 or more.
    ///   - cap: The longest delay; 0 or more.
    ///   - jitter: How chance changes the delays.
    public static func linear(_ step: Duration, cap: Duration = .seconds(20), jitter: Jitter = .none) -> Backoff {
        Backoff(base: step, cap: cap, growth: .linear, jitter: jitter).valid()
    }

    /// `base` · `factor`ⁿ before retry n, counted from 0, and never above `cap`.
    ///
    /// - Parameters:
    ///   - base: The first delay; 0 or more.
    ///   - factor: The growth per retry; 1 or more.
    ///   - cap: The longest delay; 0 or more.
    ///   - jitter: How chance changes the delays.
    public static func exponential(
        from base: Duration = .milliseconds(50), factor: Double = 2, cap: Duration = .seconds(20),
        jitter: Jitter = .full
    ) -> Backoff {
        Backoff(base: base, cap: cap, growth: .exponential(factor: factor), jitter: jitter).valid()
    }

    /// The given delays, in order.
    ///
    /// - Parameters:
    ///   - delays: One delay or more, each 0 or more. The longest is the cap.
    ///   - end: The behavior after the last delay.
    ///   - jitter: How chance changes the delays.
    public static func sequence(
        _ delays: [Duration], atEnd end: SequenceEnd = .repeatLast, jitter: Jitter = .none
    ) -> Backoff {
        Backoff(delays, end, jitter).valid()
    }

    /// The delays that a closure returns, limited to 0…`cap`.
    ///
    /// A custom backoff is equal only to copies of itself.
    ///
    /// - Parameters:
    ///   - cap: The longest delay; 0 or more.
    ///   - jitter: How chance changes the delays. Not ``Jitter/decorrelated``, which would replace them.
    ///   - delay: A pure function of the retry's number, from 0, and of the delay before the previous retry, which is
    ///     zero at the first retry. It is called on the call's task, never under a lock.
    public static func custom(
        cap: Duration = .seconds(20), jitter: Jitter = .none,
        _ delay: @escaping @Sendable (_ retry: Int, _ previous: Duration) -> Duration
    ) -> Backoff {
        Backoff(base: .zero, cap: cap, growth: .custom(CustomDelay(delay)), jitter: jitter).valid()
    }

    /// Returns the delay before a retry.
    ///
    /// - Parameters:
    ///   - retry: The retry's number, from 0.
    ///   - previous: The delay before the previous retry; nil at the first retry. Only decorrelated jitter and custom
    ///     delays use this delay.
    ///   - generator: The random source; it gives one number if there is jitter, and otherwise none.
    /// - Returns: The delay, from zero to the cap.
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

    /// - Parameter bits: 64 random bits.
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
            // The cap limits the range, not the picked delay: otherwise half of all clients would wait for exactly the
            // cap.
            return Self.pick(
                from: max(0, delay - spread), through: min(cap, delay.saturatingAdding(spread)), bits)
        }
    }

    /// Whether no retry is left: the backoff is a sequence that stops, and it has ended.
    func hasEnded(beforeRetry retry: Int) -> Bool {
        if case .sequence(let delays, .stop) = growth { retry >= delays.count } else { false }
    }

    /// Whether asking for a delay runs a user's code, which must not happen under a lock.
    var isCustom: Bool { if case .custom = growth { true } else { false } }

    private func plainDelay(beforeRetry retry: Int, previous: Int64) -> Int64 {
        switch growth {
        case .constant:
            return base
        case .linear:
            return min(cap, base.saturatingMultiplied(by: Int64(retry).saturatingAdding(1)))
        case .exponential(2):
            guard base > 0 else { return 0 }
            // Shifting further would exceed Int64.max, so the cap applies.
            return retry < base.leadingZeroBitCount ? min(cap, base << Int64(retry)) : cap
        case .exponential(let factor):
            // Zero times infinity is NaN, which saturates to zero.
            return min(cap, Int64(saturating: Double(base) * Self.power(factor, retry)))
        case .sequence(let delays, _):
            return delays[min(retry, delays.count - 1)]
        case .custom(let delay):
            return min(cap, max(0, delay.body(retry, .nanoseconds(previous)).saturatedNanoseconds))
        }
    }

    /// `base` to the power of `exponent`, by squaring: at most 64 steps; infinity if the result is too large. Never NaN
    /// for a base of 1 or more.
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

    /// An integer from `low` through `high`: the high half of one product. All integers are equally likely to within
    /// 2⁻⁶⁴. Source: Lemire, "Fast Random Integer Generation in an Interval" (ACM TOMACS 2019), without the rejections
    /// that would remove the rest of the bias.
    private static func pick(from low: Int64, through high: Int64, _ bits: UInt64) -> Int64 {
        // `low` is not below zero, and not above `high`, so neither the difference nor the sum overflows.
        low + Int64(bits.multipliedFullWidth(by: UInt64(high - low) + 1).high)
    }
}

extension Int64 {
    /// The nearest representable integer; zero for NaN.
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

/// `{"kind": "exponential", "baseSeconds": 0.05, "factor": 2, "capSeconds": 20, "jitter": "full"}`; `linear`;
/// `{"kind": "constant", "baseSeconds": 1}`; `{"kind": "sequence", "sequenceSeconds": [1, 5, 30], "atEnd": "stop"}`.
extension Backoff {
    public static let schema = SettingsSchema(
        "Backoff", standard: Parts.standard.constant,
        kinds: [
            kind("constant", Parts.standard, [SettingField("baseSeconds", \.base, .atLeast(0), need: .required)]) {
                $0.constant
            } isOwn: {
                $0 == .constant
            },
            kind(
                "linear", Parts.standard,
                [
                    SettingField("baseSeconds", \.base, .atLeast(0), need: .required),
                    SettingField("capSeconds", \.cap, .atLeast(0)),
                ]
            ) {
                Backoff(base: $0.base, cap: $0.cap, growth: .linear, jitter: $0.jitter)
            } isOwn: {
                $0 == .linear
            },
            kind(
                "exponential", Parts(base: .milliseconds(50), jitterKind: .full),
                [
                    SettingField("baseSeconds", \.base, .atLeast(0)),
                    SettingField("factor", \.factor, .atLeast(1)),
                    SettingField("capSeconds", \.cap, .atLeast(0)),
                ]
            ) {
                Backoff(base: $0.base, cap: $0.cap, growth: .exponential(factor: $0.factor), jitter: $0.jitter)
            } isOwn: {
                if case .exponential = $0 { true } else { false }
            },
            kind(
                "sequence", Parts.standard,
                [
                    SettingField("sequenceSeconds", \.sequence, .atLeast(0), need: .required),
                    SettingField("atEnd", \.end),
                ]
            ) {
                Backoff($0.sequence, $0.end, $0.jitter)
            } isOwn: {
                if case .sequence = $0 { true } else { false }
            },
            .code(
                standard: Parts.standard,
                [SettingField("capSeconds", \.cap, .atLeast(0)), SettingField("jitterShare", \.share, .within(0, 1))]
            ) {
                Backoff(base: .zero, cap: $0.cap, growth: $0.growth, jitter: $0.jitter)
            } finish: { parts, given in
                if parts.jitterKind == .decorrelated {
                    given.note(
                        "jitter", "decorrelated", "must be another one, since this would replace the custom delay")
                }
            } values: {
                if case .custom = $0.growth { Parts($0) } else { nil }
            },
        ])

    private enum JitterKind: String, SettingChoice {
        case none, full, equal, decorrelated, proportional
    }

    private struct Parts: Sendable {
        /// The first delay before jitter (with `constant`, every delay); 0 s or more, 50 ms by default with
        /// `exponential`, else required.
        var base = Duration.zero
        /// The longest delay; 0 s or more, 20 s by default.
        var cap = Duration.seconds(20)
        /// The factor from each delay to the next; 1 or more, 2 by default.
        var factor = 2.0
        /// The delays, in order; at least one, each 0 s or more, required.
        var sequence = [Duration.zero]
        /// The behavior after the last delay: the same delay again (`repeatLast`, the default), or no further attempt
        /// (`stop`).
        var end = SequenceEnd.repeatLast
        /// How chance changes a delay, so that clients do not return together; `full` by default with `exponential`,
        /// else `none`.
        var jitterKind = JitterKind.none
        /// The largest change, as a share of the delay; 0…1; only for `proportional` jitter, which requires it.
        var share: Double?
        var growth = Growth.constant

        static let standard = Parts()

        init(base: Duration = .zero, jitterKind: JitterKind = .none) {
            self.base = base
            self.jitterKind = jitterKind
        }

        init(_ backoff: Backoff) {
            (base, cap, growth) = (.nanoseconds(backoff.base), .nanoseconds(backoff.cap), backoff.growth)
            if case .exponential(let factor) = growth { self.factor = factor }
            if case .sequence(let delays, let end) = growth {
                (sequence, self.end) = (delays.map { .nanoseconds($0) }, end)
            }
            jitterKind = Self.jitters.first { $0.value == backoff.jitter }?.key ?? .proportional
            if case .proportional(let share) = backoff.jitter { self.share = share }
        }

        private static let jitters: [JitterKind: Jitter] = [
            .none: .none, .full: .full, .equal: .equal, .decorrelated: .decorrelated,
        ]

        var jitter: Jitter { Self.jitters[jitterKind] ?? .proportional(share ?? 0) }

        var constant: Backoff { Backoff(base: base, cap: base, growth: .constant, jitter: jitter) }
    }

    private static func kind(
        _ name: String, _ standard: Parts, _ fields: [SettingField<Parts>],
        _ make: @escaping @Sendable (Parts) -> Backoff, isOwn: @escaping @Sendable (Growth) -> Bool
    ) -> SettingVariant<Backoff> {
        SettingVariant(
            name, standard: standard,
            fields + [
                SettingField("jitter", \.jitterKind),
                SettingField(
                    "jitterShare", \.share, .within(0, 1), need: .conditional("must be given with `proportional`")),
            ], make: make
        ) { parts, given in
            if parts.sequence.isEmpty, given.areSound("sequenceSeconds") {
                given.note("sequenceSeconds", "[]", "must have at least one delay")
            }
            guard given.areSound("jitter", "jitterShare") else { return }
            if parts.jitterKind == .proportional, parts.share == nil { given.noteMissing("jitterShare") }
            if parts.jitterKind != .proportional, parts.share != nil {
                given.note("jitterShare", "given", "is no setting without the jitter proportional")
            }
        } values: {
            isOwn($0.growth) ? Parts($0) : nil
        }
    }
}
