public import Resilience

/// How an ``AdaptiveBulkhead`` finds its limit on concurrent calls.
///
/// The limit changes after each window of calls, and at once when the other side asks for fewer calls. It stays while
/// no call ends, and is not raised while fewer than half of the permits are in use.
///
/// A window contains the calls that succeeded. It ends when its shortest time is over, it has at least 16 calls and at
/// least one per permit, and the standard error of their mean latency is at most 5 %. From 400 calls on, the number of
/// permits and the error no longer matter. A very slow call counts as four times the earlier mean. After a change, the
/// next window begins one mean latency later, when earlier calls have ended.
///
/// If the share of calls that time out exceeds a tenth by three standard errors, the limit becomes half of the number
/// of calls that ran at the same time. This repeats while calls time out. If the rate of successes then falls below 70
/// % of the earlier rate, the limit was not the reason, and is restored.
///
/// The baseline is the latency of a call that finds no queue on the other side. It is learned while fewer than half of
/// the permits are in use, and otherwise **by halving the limit** for a window, until that no longer makes calls
/// faster. This happens at the start and again after pauses, which grow to a minute if the baseline stays similar; it
/// takes at most a twentieth of the time. After the service changes, the limit falls at first; if this does not make
/// calls faster, their latency becomes the new baseline.
///
/// See <doc:AdaptiveBulkheadGuide>.
public struct AdaptiveLimit: Sendable {
    /// The limit until another is learned.
    public internal(set) var initial: Int
    /// The lowest limit, 1 or more, at most `highest`; by default 1.
    var lowest: Int
    /// The highest limit; by default 200.
    var highest: Int
    var algorithm: any LimitAlgorithm
    /// The shortest time between two changes; above 0; by default 100 ms.
    var window: Duration
    /// A window whose mean latency is longer than this is an overload; above 0; nil, the default, for no limit.
    var slowAfter: Duration?
    /// The failures that are an overload; by default `throttled`; success and cancelled are never among them.
    var verdicts: VerdictSet

    /// The bounds of the limit.
    public var range: ClosedRange<Int> { lowest...max(lowest, highest) }

    /// Raises the limit by a constant after each window, and lowers it by a factor after an overload.
    ///
    /// It ignores latencies except for `slowAfter`, so it is for services that report their overload.
    /// - Parameters:
    ///   - initial: The limit until another is learned, within `range`. By default 20, or the nearest in `range`.
    ///   - range: The bounds of the limit, 1 or more.
    ///   - increase: The number of permits added after each window in which at least half are in use; above 0. Until
    ///     the first overload the limit doubles instead.
    ///   - decrease: The limit's factor after an overload, above 0 and below 1.
    ///   - window: The shortest time between two raises, above zero.
    ///   - slowAfter: A window whose mean latency is longer is an overload. nil, the default, for no limit.
    ///   - verdicts: The failures that are an overload; neither success nor cancelled. Throttled by default. A call
    ///     that an inner `Timeout` ended is an overload as well.
    public static func aimd(
        initial: Int? = nil, in range: ClosedRange<Int> = 1...200, increase: Double = 1, decrease: Double = 0.9,
        window: Duration = .milliseconds(100), slowAfter: Duration? = nil, on verdicts: VerdictSet = .throttled
    ) -> AdaptiveLimit {
        custom(
            AIMDLimit(increase: increase, decrease: decrease), initial: initial, in: range, window: window,
            slowAfter: slowAfter, on: verdicts)
    }

    /// Lowers the limit at once to the level at which calls find no queue, and raises it faster and faster while there
    /// is no queue.
    ///
    /// It adapts quickly to changes. Begin with this one.
    /// - Parameters:
    ///   - initial: The limit until another is learned, within `range`. By default 20, or the nearest in `range`.
    ///   - range: The bounds of the limit, 1 or more.
    ///   - tolerance: The share by which latencies may exceed the baseline, 0.01…10. The limit settles above the
    ///     service's own concurrency by this share. 0.05 is enough if all calls take about the same time.
    ///   - window: The shortest time between two changes, above zero.
    ///   - slowAfter: A window whose mean latency is longer is an overload. nil, the default, for no limit.
    ///   - verdicts: The failures that are an overload; neither success nor cancelled. Throttled by default. After an
    ///     overload the limit falls by a tenth.
    public static func gradient(
        initial: Int? = nil, in range: ClosedRange<Int> = 1...200, tolerance: Double = 0.1,
        window: Duration = .milliseconds(100), slowAfter: Duration? = nil, on verdicts: VerdictSet = .throttled
    ) -> AdaptiveLimit {
        custom(
            GradientLimit(tolerance: tolerance), initial: initial, in: range, window: window, slowAfter: slowAfter,
            on: verdicts)
    }

    /// Raises and lowers the limit by a twentieth, at least 1, so that a few calls wait on the other side.
    ///
    /// It changes slowly, for services whose calls all take about the same time. After the service changes, it needs
    /// longer to adapt than ``gradient(initial:in:tolerance:window:slowAfter:on:)``.
    /// - Parameters:
    ///   - initial: The limit until another is learned, within `range`. By default 20, or the nearest in `range`.
    ///   - range: The bounds of the limit, 1 or more.
    ///   - queue: The share of the limit that may wait on the other side, within 0.01…0.9.
    ///   - window: The shortest time between two changes, above zero.
    ///   - slowAfter: A window whose mean latency is longer is an overload. nil, the default, for no limit.
    ///   - verdicts: The failures that are an overload; neither success nor cancelled. Throttled by default. After an
    ///     overload the limit falls by a tenth.
    public static func vegas(
        initial: Int? = nil, in range: ClosedRange<Int> = 1...200, queue: ClosedRange<Double> = 0.03...0.08,
        window: Duration = .milliseconds(100), slowAfter: Duration? = nil, on verdicts: VerdictSet = .throttled
    ) -> AdaptiveLimit {
        custom(
            VegasLimit(queue: queue), initial: initial, in: range, window: window, slowAfter: slowAfter, on: verdicts)
    }

    /// Changes the limit by a rule of your own.
    ///
    /// - Parameters:
    ///   - algorithm: The rule. Each bulkhead has a copy.
    ///   - initial: The limit until another is learned, within `range`. By default 20, or the nearest in `range`.
    ///   - range: The bounds of the limit, 1 or more.
    ///   - window: The shortest time between two changes, above zero.
    ///   - slowAfter: A window whose mean latency is longer is an overload. nil, the default, for no limit.
    ///   - verdicts: The failures that are an overload; neither success nor cancelled. Throttled by default.
    public static func custom(
        _ algorithm: some LimitAlgorithm, initial: Int? = nil, in range: ClosedRange<Int> = 1...200,
        window: Duration = .milliseconds(100), slowAfter: Duration? = nil, on verdicts: VerdictSet = .throttled
    ) -> AdaptiveLimit {
        made(algorithm, initial: initial, in: range, window: window, slowAfter: slowAfter, on: verdicts).valid()
    }

    private static func made(
        _ algorithm: some LimitAlgorithm, initial: Int? = nil, in range: ClosedRange<Int> = 1...200,
        window: Duration = .milliseconds(100), slowAfter: Duration? = nil, on verdicts: VerdictSet = .throttled
    ) -> AdaptiveLimit {
        AdaptiveLimit(
            initial: initial ?? 20.limited(to: range), lowest: range.lowerBound, highest: range.upperBound,
            algorithm: algorithm, window: window, slowAfter: slowAfter, verdicts: verdicts)
    }
}

extension AdaptiveLimit: SettingsGroup {
    static var standard: AdaptiveLimit { made(GradientLimit(tolerance: 0.1)) }

    public static let schema = SettingsSchema(
        "AdaptiveLimit", standard: standard,
        kinds: [
            kind("gradient", GradientLimit(tolerance: 0.1)) {
                [SettingField("tolerance", \.own.tolerance, .within(0.01, 10))]
            },
            kind("vegas", VegasLimit(queue: 0.03...0.08)) {
                [
                    SettingField("leastQueue", \.own.leastQueue, .within(0.01, 0.9)),
                    SettingField("mostQueue", \.own.mostQueue, .within(0.01, 0.9)),
                ]
            } finish: {
                $1.noteDisorder("leastQueue", $0.own.leastQueue, "mostQueue", $0.own.mostQueue)
            },
            kind("aimd", AIMDLimit(increase: 1, decrease: 0.9)) {
                [
                    SettingField("increase", \.own.increase, .above(0)),
                    SettingField("decrease", \.own.decrease, .between(0, 1)),
                ]
            },
            .code(standard: Kind(limit: standard, own: false), common()) {
                $0.limit
            } finish: {
                check(&$0.limit, &$1)
            } values: {
                Kind(limit: $0, own: false)
            },
        ])

    private struct Kind<Own: Sendable>: Sendable {
        var limit: AdaptiveLimit
        var own: Own
    }

    /// The common fields of all kinds.
    private static func common<Own>() -> [SettingField<Kind<Own>>] {
        let bounds = SettingRange.within(1, 1e9)
        return [
            SettingField(
                "initial", \.limit.initial, need: .conditional("20, or the nearest within the bounds")),
            SettingField("lowest", \.limit.lowest, bounds), SettingField("highest", \.limit.highest, bounds),
            SettingField("windowSeconds", \.limit.window, .above(0)),
            SettingField("slowAfterSeconds", \.limit.slowAfter, .above(0)),
            SettingField("verdicts", \.limit.verdicts, .failures),
        ]
    }

    private static func check(_ limit: inout AdaptiveLimit, _ given: inout GivenSettings) {
        given.noteDisorder("lowest", limit.lowest, "highest", limit.highest)
        if !given.has("initial") || !given.areSound("lowest", "highest") {
            limit.initial = 20.limited(to: limit.range)
        } else if given.areSound("initial"), !limit.range.contains(limit.initial) {
            given.note("initial", "\(limit.initial)", "must lie in \(limit.range)")
        }
    }

    private static func kind<Own: LimitAlgorithm>(
        _ name: String, _ standard: Own, _ own: () -> [SettingField<Kind<Own>>],
        finish: @escaping @Sendable (inout Kind<Own>, inout GivenSettings) -> Void = { _, _ in }
    ) -> SettingVariant<AdaptiveLimit> {
        SettingVariant(name, standard: Kind(limit: made(standard), own: standard), common() + own()) { kind in
            var limit = kind.limit
            limit.algorithm = kind.own
            return limit
        } finish: { kind, given in
            finish(&kind, &given)
            check(&kind.limit, &given)
        } values: { limit in
            (limit.algorithm as? Own).map { Kind(limit: limit, own: $0) }
        }
    }
}

extension GivenSettings {
    /// Notes that the ends of a range are in the wrong order.
    mutating func noteDisorder<Bound: Comparable>(
        _ lowest: String, _ lower: Bound, _ highest: String, _ upper: Bound
    ) {
        guard areSound(lowest, highest), lower > upper else { return }
        note(highest, "\(upper)", "must be \(lower) or more, as the lower bound is")
    }
}

extension Int {
    fileprivate func limited(to range: ClosedRange<Int>) -> Int {
        Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
    }
}

extension AdaptiveLimit: Hashable {
    public static func == (one: AdaptiveLimit, other: AdaptiveLimit) -> Bool {
        (one.initial, one.range, one.window, one.slowAfter, one.verdicts)
            == (other.initial, other.range, other.window, other.slowAfter, other.verdicts)
            && AnyHashable(one.algorithm) == AnyHashable(other.algorithm)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(initial)
        hasher.combine(range)
        hasher.combine(AnyHashable(algorithm))
    }
}
