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
    ///   - rule: when to shut.
    ///   - openFor: for how long.
    public init(
        tripping rule: some TripRule = .consecutiveThrottles(3), openFor: some BreakDuration = .exponential()
    ) {
        self.rule = rule
        self.openFor = openFor
    }

    public var state: CircuitState { shutUntil == nil ? .closed : .open }

    public mutating func admit(at now: Instant) -> CircuitAdmission {
        if let shutUntil {
            guard shutUntil <= now else { return .refuse(retryAfter: now.duration(to: shutUntil)) }
            self.shutUntil = nil
        }
        return .allow(ticket: 0)
    }

    public mutating func record(_ verdict: Verdict, ticket: UInt64, at now: Instant) {
        guard shutUntil == nil else { return }
        let evidence = rule.evidence(of: verdict)
        if evidence == .healthy { trips = 0 }
        // Asked only about failures: a success must not shut it, however many failures it has seen.
        if rule.record(evidence, at: now), evidence == .failing {
            shutUntil = now + openFor.duration(afterTrips: trips)
            trips = trips.saturatingAdding(1)
        }
    }

    public mutating func reset(keepingGrowth: Bool) {
        shutUntil = nil
        rule.reset()
        if !keepingGrowth { trips = 0 }
    }

    public func status(at now: Instant) -> CircuitStatus {
        let remaining: Duration? = shutUntil.flatMap { now < $0 ? now.duration(to: $0) : nil }
        return CircuitStatus(
            state: remaining == nil ? .closed : .open, failureCount: rule.failureCount,
            failureLimit: rule.failureLimit, timeRemaining: remaining)
    }

    // Once shut, it has a trip behind it.
    public var isAtRest: Bool { trips == 0 && rule.isAtRest }

    public var description: String { "\(rule), \(openFor), then opens" }
}
