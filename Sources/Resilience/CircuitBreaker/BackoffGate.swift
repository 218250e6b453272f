/// A gate that shuts for a growing time, and then admits all calls at once, without probes.
///
/// The gate is meant for a sync engine under a rate limit. Each trip in a row, without a success in between, shuts it
/// for longer (30, 60, 120, 240, 300 s by default). Failures counted before a trip still count after that trip: the
/// first failure after the gate has opened shuts it again, and a success resets the count.
///
/// If the rule counts consecutive failures, concurrent calls that fail together count as one failure. After a counted
/// failure, and until a counted success, calls that were already in flight at that failure are ignored, whether they
/// fail or succeed. So each failure in a row belongs to a call that began after the previous failure. But if at least
/// as many of these concurrent calls succeed as fail, the next counted failure starts a new row. With any other rule,
/// the end of every call counts.
///
/// Put policies that make calls wait, such as a throttle or a bulkhead with a queue, outside of a gate, because all
/// calls that the gate admits before a failure count as one volley, even if they are sent later.
public struct BackoffGate: CircuitStateMachine {
    private var rule: any TripRule
    private let openFor: any BreakDuration
    private(set) var shutUntil: MonotonicInstant?
    private(set) var trips = 0
    /// The number of all failures counted so far. A call's ticket is this number at its admission, or 0 if a success
    /// came after the last failure.
    private var failures: UInt64 = 0
    /// Whether a failure was counted since the last success.
    private var hasFailed = false
    /// Successes minus failures among calls that were admitted before the last counted failure and have ended since.
    private var lateSuccesses = 0

    /// Creates an open gate.
    ///
    /// - Parameters:
    ///   - rule: Decides when to shut; not a rule that watches calls, as ``SlowCalls`` does.
    ///   - openFor: How long the gate stays shut.
    public init(
        tripping rule: some TripRule = .consecutiveThrottles(3), openFor: some BreakDuration = .exponential()
    ) {
        self.rule = SettingChecks("BackoffGate").require(
            !rule.needs.contains(.calls), rule as any TripRule, "rule",
            "must not watch calls in flight: a gate does not tell it of them",
            else: ConsecutiveFailures.consecutiveThrottles(3))
        self.openFor = openFor
    }

    public var state: CircuitState { shutUntil == nil ? .closed : .open }

    public var changesAt: MonotonicInstant? { shutUntil }

    public mutating func timePassed(at now: MonotonicInstant) {
        if let shutUntil, shutUntil <= now { self.shutUntil = nil }
    }

    public mutating func admit(at now: MonotonicInstant, using generator: SplitMix64) -> CircuitAdmission {
        timePassed(at: now)
        return shutUntil.map { .reject(retryAfter: now.wait(until: $0)) } ?? .allow(ticket: firstTicket)
    }

    /// The lowest ticket that counts: the ticket of calls admitted after the last counted failure; 0 if a success came
    /// after that failure.
    private var firstTicket: UInt64 { hasFailed ? failures : 0 }

    private var countsInARow: Bool { rule is ConsecutiveFailures }

    public mutating func record(_ end: CallEnd, ticket: UInt64, using generator: SplitMix64) -> Bool {
        guard shutUntil == nil, count(end, ticket: ticket) == .failing else { return false }
        // Only a failure shuts the gate, never a success, even if the rule is met.
        if rule.isMet(at: end.time) { shut(for: nil, after: end.verdict, at: end.time, using: generator) }
        return true
    }

    public mutating func trip(for length: Duration?, at now: MonotonicInstant, using generator: SplitMix64) -> Bool {
        shut(for: length, after: nil, at: now, using: generator)
        return true
    }

    public mutating func endBreak(at now: MonotonicInstant) -> Bool {
        timePassed(at: now)
        return shutUntil.take() != nil
    }

    private mutating func shut(
        for length: Duration?, after verdict: Verdict?, at now: MonotonicInstant, using generator: SplitMix64
    ) {
        let length = length ?? openFor.duration(of: CircuitTrip(earlier: trips, verdict: verdict), using: generator)
        shutUntil = now + max(.zero, length)
        trips = trips.saturatingAdding(1)
    }

    // After a trip, `trips` is above 0.
    public func isAtRest(at now: MonotonicInstant) -> Bool { trips == 0 && rule.counts(at: now).failureCount == 0 }

    /// - Returns: nil if the end does not count.
    private mutating func count(_ end: CallEnd, ticket: UInt64) -> TripEvidence? {
        // The call is recorded because it has a ticket, but its end tells the rule nothing.
        guard !end.verdict.saysNothing else { return nil }
        let evidence = rule.evidence(of: end)
        guard ticket >= firstTicket else {
            if evidence == .healthy { lateSuccesses += 1 }
            if evidence == .failing { lateSuccesses -= 1 }
            return nil
        }
        switch evidence {
        case .failing where countsInARow:
            // The last counted failure belongs to the same volley as these late calls: one surplus success balances it.
            if lateSuccesses > 0 { rule.reset() }
            (hasFailed, lateSuccesses) = (true, 0)
            failures &+= 1
        case .healthy:
            (trips, hasFailed, lateSuccesses) = (0, false, 0)
        case .failing, .inconclusive:
            break
        }
        rule.ended(end)
        return evidence
    }

    /// Counts the end of a call while the breaker only observes: such calls have no tickets, so every failure counts.
    ///
    /// - Parameter end: How the call ended, and when.
    /// - Returns: Whether the gate would have shut.
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
