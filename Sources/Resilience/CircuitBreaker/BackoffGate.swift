/// A gate that shuts for a growing time and then simply opens: no probes, for everybody at once.
///
/// What a sync engine wants under a rate limit. Trips in a row without a success in between shut it for longer and longer
/// (30, 60, 120, 240, 300 s by default). The failures counted before a trip still count after it: the first one after the
/// gate has opened shuts it again, a success clears the slate.
public struct BackoffGate: CircuitStateMachine {
    private var rule: any TripRule
    private let openFor: any BreakDuration
    private(set) var shutUntil: Instant?
    private(set) var trips = 0

    /// - Parameters:
    ///   - rule: when to shut; not one that watches calls, as ``SlowCalls`` does.
    ///   - openFor: for how long.
    public init(
        tripping rule: some TripRule = .consecutiveThrottles(3), openFor: some BreakDuration = .exponential()
    ) {
        precondition(!rule.needs.contains(.calls), "BackoffGate: \"\(rule)\" watches calls, and a gate tells of none")
        self.rule = rule
        self.openFor = openFor
    }

    public var state: CircuitState { shutUntil == nil ? .closed : .open }

    public mutating func admit(at now: Instant, using chance: SplitMix64) -> CircuitAdmission {
        if let shutUntil {
            guard shutUntil <= now else { return .refuse(retryAfter: now.duration(to: shutUntil)) }
            self.shutUntil = nil
        }
        return .allow(ticket: 0)
    }

    public mutating func record(_ end: CallEnd, ticket: UInt64, using chance: SplitMix64) {
        guard shutUntil == nil, count(end) else { return }
        let length = openFor.duration(of: Trip(earlier: trips, verdict: end.verdict), using: chance)
        shutUntil = end.time + max(.zero, length)
        trips = trips.saturatingAdding(1)
    }

    // Once shut, it has a trip behind it.
    public func isAtRest(at now: Instant) -> Bool { trips == 0 && rule.counts(at: now).failures == 0 }

    /// - Returns: whether to shut. Only a failure shuts: a success must not, however many failures it has seen.
    private mutating func count(_ end: CallEnd) -> Bool {
        rule.ended(end)
        switch rule.evidence(of: end) {
        case .healthy:
            trips = 0
            return false
        case .failing: return rule.isMet(at: end.time)
        case .none: return false
        }
    }

    public mutating func observe(_ end: CallEnd) -> Bool { count(end) }

    public mutating func reset(keepingGrowth: Bool) {
        shutUntil = nil
        rule.reset()
        if !keepingGrowth { trips = 0 }
    }

    public func status(at now: Instant) -> CircuitStatus {
        let remaining: Duration? = shutUntil.flatMap { now < $0 ? now.duration(to: $0) : nil }
        return CircuitStatus(
            state: remaining == nil ? .closed : .open, rule.counts(at: now), timeRemaining: remaining,
            isAllowed: remaining == nil)
    }

    public var needs: CircuitNeeds {
        let rule = rule.needs
        guard shutUntil == nil else { return .all }
        var needs: CircuitNeeds = []
        if rule.contains(.successes) || trips > 0 { needs.insert(.successes) }
        return needs
    }

    public func tallyEnds(after now: Instant) -> Instant { trips == 0 ? rule.tallyEnds(after: now) : now }

    public mutating func succeeded(_ count: Int, at now: Instant) { rule.succeeded(count, at: now) }

    public func memory(at now: Instant) -> CircuitMemory? {
        let remaining = shutUntil.map { max(.zero, now.duration(to: $0)) }
        return CircuitMemory(
            state: state, remaining: remaining ?? .zero, trips: trips, counted: rule.memory(at: now))
    }

    public mutating func restore(_ memory: CircuitMemory, takenAt instant: Instant) -> Bool {
        guard memory.remaining >= .zero, memory.trips >= 0, rule.restore(memory.counted, at: instant) else {
            return false
        }
        trips = memory.trips
        shutUntil = memory.state == .closed ? nil : instant + memory.remaining
        return true
    }

    public var description: String { "\(rule), \(openFor), then opens" }
}
