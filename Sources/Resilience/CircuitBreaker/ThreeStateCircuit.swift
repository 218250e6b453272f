/// Closed, open, half-open: an open circuit is tested by a few probes before everybody may call again.
///
/// ```
/// closed ──rule trips──▶ open ──break over, next call──▶ half-open ──enough probes succeed──▶ closed
///                          ▲                                  │
///                          └────────────a probe fails─────────┘
/// ```
///
/// A probe holds a lease: one that never reports back frees its place when the lease ends. A probe that was cancelled, or
/// whose end says nothing about the endpoint, frees its place and decides nothing.
public struct ThreeStateCircuit: CircuitStateMachine {
    struct Probe: Sendable {
        let ticket: UInt64
        let leaseEnds: Instant
    }

    enum Phase: Sendable {
        case closed
        /// → half-open, at the first call after `until`.
        case open(until: Instant)
        /// → closed by success, → open by failure.
        case halfOpen(probes: [Probe], successes: Int)
    }

    private var rule: any TripRule
    private let openFor: any BreakDuration
    private let maxProbes: Int
    private let successesToClose: Int
    private let probeLease: Duration
    private(set) var phase = Phase.closed
    private(set) var trips = 0
    private var lastTicket: UInt64 = 0

    /// - Parameters:
    ///   - rule: when to open.
    ///   - openFor: for how long.
    ///   - probes: calls let through at the same time while half-open; 1 or more.
    ///   - successesToClose: probes that must succeed before the circuit closes; 1 or more.
    ///   - probeLease: how long a probe may take before its place is given to another; above zero.
    public init(
        tripping rule: some TripRule = .consecutiveFailures(5),
        openFor: some BreakDuration = .constant(.seconds(60)),
        probes: Int = 1, successesToClose: Int = 1, probeLease: Duration = .seconds(60)
    ) {
        precondition(probes >= 1, "ThreeStateCircuit: probes is \(probes), and must be at least 1")
        precondition(
            successesToClose >= 1,
            "ThreeStateCircuit: successesToClose is \(successesToClose), and must be at least 1")
        precondition(probeLease > .zero, "ThreeStateCircuit: probeLease is \(probeLease), and must be above zero")
        self.rule = rule
        self.openFor = openFor
        maxProbes = probes
        self.successesToClose = successesToClose
        self.probeLease = probeLease
    }

    public var state: CircuitState {
        switch phase {
        case .closed: .closed
        case .open: .open
        case .halfOpen: .halfOpen
        }
    }

    public mutating func admit(at now: Instant) -> CircuitAdmission {
        switch phase {
        case .closed:
            return .allow(ticket: 0)
        case .open(let until):
            guard until <= now else { return .refuse(retryAfter: now.duration(to: until)) }
            return startProbe(beside: [], successes: 0, at: now)
        case .halfOpen(let probes, let successes):
            let alive = probes.filter { now < $0.leaseEnds }
            guard alive.count < maxProbes else {
                return .refuse(retryAfter: alive.map(\.leaseEnds).min().map { now.duration(to: $0) })
            }
            return startProbe(beside: alive, successes: successes, at: now)
        }
    }

    private mutating func startProbe(beside others: [Probe], successes: Int, at now: Instant) -> CircuitAdmission {
        lastTicket &+= 1
        let probe = Probe(ticket: lastTicket, leaseEnds: now + probeLease)
        phase = .halfOpen(probes: others + [probe], successes: successes)
        return .allow(ticket: lastTicket)
    }

    public mutating func record(_ verdict: Verdict, ticket: UInt64, at now: Instant) {
        switch phase {
        case .closed:
            let evidence = rule.evidence(of: verdict)
            if evidence == .healthy { trips = 0 }
            if rule.record(evidence, at: now) { open(at: now) }
        case .open:
            break
        case .halfOpen(var probes, let successes):
            guard let index = probes.firstIndex(where: { $0.ticket == ticket }) else { return }
            probes.remove(at: index)
            switch verdict.saysNothing ? .none : rule.evidence(of: verdict) {
            case .healthy where successes + 1 >= successesToClose: reset(keepingGrowth: false)
            case .healthy: phase = .halfOpen(probes: probes, successes: successes + 1)
            case .failing: open(at: now)
            case .none: phase = .halfOpen(probes: probes, successes: successes)
            }
        }
    }

    private mutating func open(at now: Instant) {
        phase = .open(until: now + openFor.duration(afterTrips: trips))
        trips = trips.saturatingAdding(1)
    }

    public mutating func reset(keepingGrowth: Bool) {
        phase = .closed
        rule.reset()
        if !keepingGrowth { trips = 0 }
    }

    public func status(at now: Instant) -> CircuitStatus {
        var state = self.state
        var remaining: Duration?
        var isAllowed = true
        switch phase {
        case .closed:
            break
        case .open(let until):
            isAllowed = until <= now
            if isAllowed { state = .halfOpen } else { remaining = now.duration(to: until) }
        case .halfOpen(let probes, _):
            isAllowed = probes.count { now < $0.leaseEnds } < maxProbes
        }
        return CircuitStatus(
            state: state, failureCount: rule.failureCount, failureLimit: rule.failureLimit, timeRemaining: remaining,
            isAllowed: isAllowed)
    }

    public var isAtRest: Bool {
        if case .closed = phase { rule.isAtRest && trips == 0 } else { false }
    }

    public var description: String {
        "\(rule), \(openFor), then \(maxProbes) probe\(maxProbes == 1 ? "" : "s") at a time"
    }
}
