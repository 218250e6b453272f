/// Opens when too many of the latest calls failed: a share of them, or a number.
public struct FailuresInWindow: PackagedRule, Hashable {
    /// How many failures are too many.
    public enum Limit: Sendable, Hashable {
        /// This share of the calls in the window, above 0 and at most 1.
        case ratio(Double)
        /// This number of failures, 1 or more.
        case count(Int)
    }

    /// How many failures are too many.
    public internal(set) var limit: Limit
    /// The latest calls that count; the last 100 by default.
    ///
    /// The kind `failures` requires a window.
    public internal(set) var window = CallWindow.standard
    /// How many calls the window must have before the circuit can open; 1 or more, 10 by default (kind `failures`: its
    /// `count`).
    public internal(set) var minimumCalls = 1
    /// The verdicts that count as failures; `transient` and `uncertain` by default.
    public internal(set) var failing: VerdictSet = [.transient, .uncertain]
    /// The verdicts that count as calls without a failure; `success` and `permanent` by default.
    ///
    /// Calls with any other verdict are not in the window.
    public internal(set) var healthy: VerdictSet = [.success, .permanent]
    var outcomes = OutcomeWindow()

    var bare: FailuresInWindow {
        FailuresInWindow(
            limit: limit, window: window, minimumCalls: minimumCalls, failing: failing, healthy: healthy)
    }

    public func evidence(of end: CallEnd) -> TripEvidence { end.verdict.evidence(failing: failing, healthy: healthy) }

    public mutating func ended(_ end: CallEnd) { add(1, end) }

    private mutating func add(_ count: Int, _ end: CallEnd) {
        let evidence = evidence(of: end)
        if evidence != .inconclusive { outcomes.add(count, failing: evidence == .failing, at: end.time) }
    }

    public func isMet(at now: MonotonicInstant) -> Bool {
        limit.isReached(by: outcomes.counts(at: now), minimumCalls: minimumCalls)
    }

    public mutating func reset() { outcomes = OutcomeWindow(window) }

    public func counts(at now: MonotonicInstant) -> TripCounts { limit.shown(outcomes.counts(at: now)) }

    public func tallyEnds(after now: MonotonicInstant) -> MonotonicInstant { outcomes.stretchEnds(after: now) }

    public func tallyStretch(at now: MonotonicInstant) -> Range<MonotonicInstant>? {
        guard !failing.contains(Verdict.success),
            !limit.couldBeReached(by: outcomes.counts(at: now), minimumCalls: minimumCalls)
        else { return nil }
        return .distantPast..<tallyEnds(after: now)
    }

    public mutating func succeeded(_ count: Int, at now: MonotonicInstant) { add(count, CallEnd(.success, at: now)) }

    public func memory(at now: MonotonicInstant) -> [Int] { outcomes.memory(at: now) }

    public mutating func restore(_ memory: [Int], at now: MonotonicInstant) -> Bool {
        outcomes.restore(memory, of: window, takenAt: now)
    }

    public var description: String {
        "opens on \(limit) of \(window) being \(failing), of at least \(minimumCalls)"
    }
}

extension FailuresInWindow {
    /// Creates a rule.
    ///
    /// - Parameters:
    ///   - limit: How many failures are too many.
    ///   - window: The calls that count.
    ///   - minimumCalls: How many calls the window must have before the circuit can open; 1 or more, and no more than
    ///     the window holds.
    ///   - failing: The verdicts that count as failures.
    ///   - healthy: The verdicts that count as calls without a failure; disjoint from `failing`. Calls with any other
    ///     verdict are not in the window.
    public init(
        _ limit: Limit, over window: CallWindow, minimumCalls: Int, failing: VerdictSet, healthy: VerdictSet
    ) {
        self = FailuresInWindow(
            limit: limit, window: window, minimumCalls: minimumCalls, failing: failing, healthy: healthy
        ).checked()
    }
}

extension FailuresInWindow.Limit: CustomStringConvertible {
    func isReached(by counts: OutcomeWindow.Counts, minimumCalls: Int) -> Bool {
        guard counts.calls >= minimumCalls else { return false }
        return switch self {
        // Divided, not multiplied: 3 / 30 equals the literal 0.1, but 0.1 · 30 is more than 3.
        case .ratio(let ratio): Double(counts.failures) / Double(counts.calls) >= ratio
        case .count(let count): counts.failures >= count
        }
    }

    /// Whether the limit is reached, or would be reached after enough further calls without a failure.
    func couldBeReached(by counts: OutcomeWindow.Counts, minimumCalls: Int) -> Bool {
        let enough = OutcomeWindow.Counts(failures: counts.failures, calls: max(counts.calls, minimumCalls))
        return isReached(by: enough, minimumCalls: minimumCalls)
    }

    func shown(_ counts: OutcomeWindow.Counts) -> TripCounts {
        TripCounts(failureCount: counts.failures, failureLimit: count, callCount: counts.calls)
    }

    public var description: String {
        switch self {
        case .ratio(let ratio): "\(ratio)"
        case .count(let count): "\(count)"
        }
    }
}

extension TripRule where Self == FailuresInWindow {
    /// Opens when this share of the latest calls failed.
    ///
    /// - Parameters:
    ///   - ratio: The share; above 0, at most 1.
    ///   - window: The calls that count.
    ///   - minimumCalls: How many calls the window must have before the circuit can open; 1 or more, and no more than
    ///     the window holds.
    ///   - failing: The verdicts that count as failures.
    ///   - healthy: The verdicts that count as calls without a failure. Calls with any other verdict are not in the
    ///     window.
    public static func failureRatio(
        _ ratio: Double, over window: CallWindow = .calls(100), minimumCalls: Int = 10,
        failing: VerdictSet = [.transient, .uncertain], healthy: VerdictSet = [.success, .permanent]
    ) -> Self {
        FailuresInWindow(.ratio(ratio), over: window, minimumCalls: minimumCalls, failing: failing, healthy: healthy)
    }

    /// Opens when this many of the latest calls failed.
    ///
    /// - Parameters:
    ///   - count: The number of failures; 1 or more, and no more than the window holds.
    ///   - window: The calls that count.
    ///   - failing: The verdicts that count as failures.
    ///   - healthy: The verdicts that count as calls without a failure. Calls with any other verdict are not in the
    ///     window.
    public static func failures(
        _ count: Int, over window: CallWindow, failing: VerdictSet = [.transient, .uncertain],
        healthy: VerdictSet = [.success, .permanent]
    ) -> Self {
        FailuresInWindow(.count(count), over: window, minimumCalls: count, failing: failing, healthy: healthy)
    }
}
