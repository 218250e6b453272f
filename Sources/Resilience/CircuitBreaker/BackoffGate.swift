/// A gate that shuts for a growing time and then simply opens: no probes, for everybody at once.
///
/// What a sync engine wants under a rate limit. Trips in a row without a success in between shut it for longer and longer
/// (30, 60, 120, 240, 300 s by default). The failures counted before a trip still count after it: the first one after the
/// gate has opened shuts it again, a success clears the slate.
///
/// Calls that are under way together are refused together, and that is one event. So where the rule counts failures in a row,
/// once one is counted, and until a success, no end of a call that was let in before it counts, neither a failure nor a success:
/// three in a row are three that came one after the other. But if most of such calls got through, the next failure is the first
/// of a new row: where many call at once, and few are refused, the gate stays open. A rule with a window counts each.
///
/// What makes calls wait, such as a throttle or a bulkhead with a line, belongs outside a gate: it takes all that it has let
/// in before a failure for one volley, whenever they are sent.
public struct BackoffGate: CircuitStateMachine {
    private var rule: any TripRule
    private let openFor: any BreakDuration
    private(set) var shutUntil: MonotonicInstant?
    private(set) var trips = 0
    /// Failures counted so far, those of all times: the ticket of a call says how many there were when it was let in.
    private var failures: UInt64 = 0
    /// Whether one was counted since the last success.
    private var hasFailed = false
    /// Of the calls let in before the last counted failure, and ended since: how many more got through than failed.
    private var lateSuccesses = 0

    /// - Parameters:
    ///   - rule: when to shut; not one that watches calls, as ``SlowCalls`` does.
    ///   - openFor: for how long.
    public init(
        tripping rule: some TripRule = .consecutiveThrottles(3), openFor: some BreakDuration = .exponential()
    ) {
        self.rule = SettingChecks("BackoffGate").require(
            !rule.needs.contains(.calls), rule as any TripRule, "rule",
            "must not watch calls, of which a gate tells none", else: ConsecutiveFailures.consecutiveThrottles(3))
        self.openFor = openFor
    }

    public var state: CircuitState { shutUntil == nil ? .closed : .open }

    public var changesAt: MonotonicInstant? { shutUntil }

    public mutating func timePassed(at now: MonotonicInstant) {
        if let shutUntil, shutUntil <= now { self.shutUntil = nil }
    }

    public mutating func admit(at now: MonotonicInstant, using generator: SplitMix64) -> CircuitAdmission {
        timePassed(at: now)
        return shutUntil.map { .refuse(retryAfter: now.duration(to: $0)) } ?? .allow(ticket: firstTicket)
    }

    /// Of the calls that were let in after the last counted failure; of all, if there was a success since.
    private var firstTicket: UInt64 { hasFailed ? failures : 0 }

    private var countsInARow: Bool { rule is ConsecutiveFailures }

    public mutating func record(_ end: CallEnd, ticket: UInt64, using generator: SplitMix64) -> Bool {
        guard shutUntil == nil, count(end, ticket: ticket) == .failing else { return false }
        // Only a failure shuts: a success must not, however many failures it has seen.
        if rule.isMet(at: end.time) { shut(for: nil, after: end.verdict, at: end.time, using: generator) }
        return true
    }

    public mutating func trip(for length: Duration?, at now: MonotonicInstant, using generator: SplitMix64) -> Bool {
        shut(for: length, after: nil, at: now, using: generator)
        return true
    }

    private mutating func shut(
        for length: Duration?, after verdict: Verdict?, at now: MonotonicInstant, using generator: SplitMix64
    ) {
        let length = length ?? openFor.duration(of: CircuitTrip(earlier: trips, verdict: verdict), using: generator)
        shutUntil = now + max(.zero, length)
        trips = trips.saturatingAdding(1)
    }

    // Once shut, it has a trip behind it.
    public func isAtRest(at now: MonotonicInstant) -> Bool { trips == 0 && rule.counts(at: now).failures == 0 }

    /// - Returns: nil for one that is not counted.
    private mutating func count(_ end: CallEnd, ticket: UInt64) -> TripEvidence? {
        // It has a ticket, so it is told here; to the rule it says nothing.
        guard !end.verdict.saysNothing else { return nil }
        let evidence = rule.evidence(of: end)
        guard ticket >= firstTicket else {
            if evidence == .healthy { lateSuccesses += 1 }
            if evidence == .failing { lateSuccesses -= 1 }
            return nil
        }
        switch evidence {
        case .failing where countsInARow:
            // The counted one is of that volley, too.
            if lateSuccesses > 1 { rule.reset() }
            (hasFailed, lateSuccesses) = (true, 0)
            failures &+= 1
        case .healthy:
            (trips, hasFailed, lateSuccesses) = (0, false, 0)
        case .failing, .none:
            break
        }
        rule.ended(end)
        return evidence
    }

    /// Where nobody is refused, nobody is given a ticket: each failure counts.
    public mutating func observe(_ end: CallEnd) -> Bool {
        count(end, ticket: .max) == .failing && rule.isMet(at: end.time)
    }

    public mutating func reset(keepingGrowth: Bool) {
        shutUntil = nil
        rule.reset()
        (hasFailed, lateSuccesses) = (false, 0)
        if !keepingGrowth { trips = 0 }
    }

    public mutating func takeCalls(from other: any CircuitStateMachine) -> Bool {
        guard let other = other as? BackoffGate else { return false }
        (failures, hasFailed, lateSuccesses) = (other.failures, other.hasFailed, other.lateSuccesses)
        return true
    }

    public func status(at now: MonotonicInstant) -> CircuitBreakerStatus {
        let remaining: Duration? = shutUntil.flatMap { now < $0 ? now.duration(to: $0) : nil }
        return CircuitBreakerStatus(
            state: remaining == nil ? .closed : .open, rule.counts(at: now), timeRemaining: remaining,
            isAllowed: remaining == nil)
    }

    public var needs: CircuitNeeds {
        let rule = rule.needs
        guard shutUntil == nil else { return [.admissions, .successes] }
        var needs: CircuitNeeds = hasFailed ? [.admissions] : []
        if rule.contains(.successes) || trips > 0 { needs.insert(.successes) }
        return needs
    }

    public func tallyEnds(after now: MonotonicInstant) -> MonotonicInstant {
        trips == 0 ? rule.tallyEnds(after: now) : now
    }

    public mutating func succeeded(_ count: Int, at now: MonotonicInstant) { rule.succeeded(count, at: now) }

    public var longestBreak: Duration? { openFor.longest }

    public func memory(at now: MonotonicInstant) -> CircuitMemory? {
        let remaining = shutUntil.map { max(.zero, now.duration(to: $0)) }
        return CircuitMemory(
            state: state, remaining: remaining ?? .zero, trips: trips, counted: rule.memory(at: now))
    }

    public mutating func restore(_ memory: CircuitMemory, takenAt instant: MonotonicInstant) -> Bool {
        guard memory.remaining >= .zero, memory.trips >= 0, rule.restore(memory.counted, at: instant) else {
            return false
        }
        trips = memory.trips
        shutUntil = memory.state == .closed ? nil : instant + memory.remaining
        return true
    }

    public var description: String { "\(rule), \(openFor), then opens" }
}
