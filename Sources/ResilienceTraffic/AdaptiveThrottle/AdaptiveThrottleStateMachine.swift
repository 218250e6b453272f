import Resilience

/// Decides which calls to admit to a service that accepts too few of them.
///
/// Source: Google's *Site Reliability Engineering*, "Handling Overload", client-side throttling.
struct AdaptiveThrottleStateMachine: Sendable, Hashable {
    typealias Settings = AdaptiveThrottle.Settings

    /// Whether the machine has just begun or stopped rejecting calls.
    enum Change: Sendable, Hashable {
        case began, ended
    }

    static let buckets = 10

    private(set) var settings: Settings
    /// The ended calls that the service accepted, or that failed.
    private var counted: LatestTime
    /// The calls among them that failed because the other side asked for fewer calls.
    private var throttled: LatestTime
    /// The calls that were rejected here.
    private var rejected: LatestTime
    /// The admitted calls that showed nothing about the service.
    private var silent: LatestTime
    /// The latest time at which a call began or ended: the compared windows begin at the same time, even if the clock
    /// is set back.
    private var latest = MonotonicInstant.distantPast
    /// The weight of a rejected call, 0…1: at the latest failure, the share of failures that meant too many calls.
    private var overload = 0.0
    /// Whether calls were rejected when a call last began or ended.
    private(set) var isRejecting = false

    init(_ settings: Settings) {
        self.settings = settings
        counted = LatestTime(settings.window.saturatedNanoseconds, buckets: Self.buckets)
        (throttled, rejected, silent) = (counted, counted, counted)
    }

    /// The calls of the window: ended calls, and rejected calls, which count as failed.
    func counts(at now: MonotonicInstant) -> OutcomeCounts {
        let now = max(latest, now)
        var counts = counted.counts(at: now)
        let rejected = rejected.counts(at: now).calls
        counts.calls += rejected
        counts.failures += rejected
        return counts
    }

    /// The share of calls that is rejected, 0…1.
    ///
    /// Rejected calls count only by the share of failures that mean too many calls. If they counted after any failure,
    /// a service that fails half of its calls for other reasons would get fewer and fewer, since each rejection would
    /// cause the next. Without a failure in the window, rejected calls count as they did after the latest failure:
    /// otherwise all calls would be admitted at once when the last 429 leaves the window.
    func rejection(at present: MonotonicInstant) -> Double {
        let now = max(latest, present)
        let counts = counted.counts(at: now)
        let rejected = rejected.counts(at: now).calls
        guard counts.failures + rejected > 0, counts.calls + rejected >= settings.minimumCalls else { return 0 }
        let (calls, excess) = excess(counts, rejected, at: now)
        let all = calls + Double(silent.counts(at: present).calls)
        let rejection = excess / (all + 1)
        // A product such as 1.15 × 100 may be just below a whole number.
        return rejection < 1e-9 ? 0 : min(settings.maxRejection, rejection)
    }

    /// The calls that count, and their excess over what the service accepts.
    private func excess(
        _ counts: OutcomeCounts, _ rejected: Int, at now: MonotonicInstant
    ) -> (calls: Double, excess: Double) {
        let overload = throttledShare(of: counts.failures, at: now) ?? overload
        let calls = Double(counts.calls) + Double(rejected) * overload
        return (calls, calls - settings.multiplier * Double(counts.calls - counts.failures))
    }

    /// Until this instant every call is admitted, however many begin and succeed, if nothing else happens; nil if that
    /// is uncertain.
    var calmEnds: MonotonicInstant? {
        guard !isRejecting, !settings.failing.contains(Verdict.success) else { return nil }
        let (counts, rejected) = (counted.counts(at: latest), rejected.counts(at: latest).calls)
        if counts.failures + rejected == 0 { return .distantFuture }
        // Each success makes the excess smaller, since the multiplier is above 1.
        return excess(counts, rejected, at: latest).excess <= 0 ? stretchEnds : nil
    }

    /// Until this instant, calls count as if they came at the latest time, and no counted call expires.
    var stretchEnds: MonotonicInstant { counted.stretchEnds(after: latest) }

    /// Adds successes that came between the latest time and ``stretchEnds``.
    mutating func succeeded(_ count: Int) {
        if count > 0 { counted.add(OutcomeCounts(calls: count), at: latest) }
    }

    /// The share of the failures that mean too many calls; nil without failures.
    private func throttledShare(of failures: Int, at now: MonotonicInstant) -> Double? {
        failures == 0 ? nil : Double(throttled.counts(at: now).calls) / Double(failures)
    }

    /// A call begins.
    /// - Returns: Whether it is admitted, and the change since the last time.
    mutating func admits(
        at now: MonotonicInstant, using generator: inout some RandomNumberGenerator
    ) -> (isAdmitted: Bool, Change?) {
        let share = rejection(at: now)
        let change = change(to: share > 0)
        guard share > 0, Double.random(in: 0..<1, using: &generator) < share else { return (true, change) }
        latest = max(latest, now)
        rejected.add(OutcomeCounts(failures: 1, calls: 1), at: latest)
        return (false, change)
    }

    /// An admitted call has ended. Calls in flight do not count: otherwise a first volley would look like calls that
    /// the service did not accept.
    ///
    /// A call that was cancelled, or rejected by an inner policy, does not justify a rejection. But if it did not
    /// count at all, the rejections alone would cause more rejections, for ever.
    /// - Returns: The change since the last time.
    mutating func ended(_ verdict: Verdict, at now: MonotonicInstant) -> Change? {
        if verdict.saysNothing {
            silent.add(OutcomeCounts(failures: 0, calls: 1), at: now)
        } else {
            let isFailure = settings.failing.contains(verdict)
            latest = max(latest, now)
            counted.add(OutcomeCounts(failures: isFailure ? 1 : 0, calls: 1), at: latest)
            if isFailure {
                if verdict.kind == .throttled { throttled.add(OutcomeCounts(failures: 1, calls: 1), at: latest) }
                overload = throttledShare(of: counted.counts(at: latest).failures, at: latest) ?? 0
            }
        }
        return change(to: rejection(at: now) > 0)
    }

    /// Applies other settings. The counts are kept unless the window's length changes.
    mutating func change(to settings: Settings) {
        let isOtherWindow = settings.window != self.settings.window
        self.settings = settings
        if isOtherWindow { reset() }
    }

    /// Resets all counts. The next call reports that rejecting has ended.
    mutating func reset() {
        counted = LatestTime(settings.window.saturatedNanoseconds, buckets: Self.buckets)
        (throttled, rejected, silent) = (counted, counted, counted)
        (overload, latest) = (0, .distantPast)
    }

    private mutating func change(to rejects: Bool) -> Change? {
        guard rejects != isRejecting else { return nil }
        isRejecting = rejects
        return rejects ? .began : .ended
    }
}
