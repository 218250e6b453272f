/// Closed, open, half-open: an open circuit is tested by a few probes before everybody may call again.
///
/// ```
/// closed ──rule trips──▶ open ──break over, next call──▶ half-open ──enough probes succeed──▶ closed
///                          ▲                                  │                                 ▲
///                          └───────────a probe fails──────────┤                                 │
///                          └────────rule trips────────── a growing share ──────ramp over────────┘
/// ```
///
/// A probe holds a lease: one that never reports back frees its place when the lease ends. A probe that was cancelled, or
/// whose end says nothing about the endpoint, frees its place and decides nothing.
///
/// With a `ramp`, enough good probes do not close the circuit: it lets a growing share of the calls in, evenly spread,
/// `max(1/10, t/ramp)` of them at time t, and closes when the ramp is over. Meanwhile the rule counts as in a closed
/// circuit, from nothing.
public struct ThreeStateCircuit: CircuitStateMachine {
    /// What becomes of calls that come while all probes are out.
    public enum Excess: Sendable, Hashable {
        case refused
        /// They wait for the probes' end, for this long at most.
        case waits(upTo: Duration)
    }

    struct Probe: Sendable {
        let ticket: UInt64
        let leaseEnds: Instant
    }

    enum Phase: Sendable {
        case closed
        /// → half-open, at the first call after `until`.
        case open(until: Instant)
        /// → closed or ramp by success, → open by failure.
        case halfOpen(probes: [Probe], successes: Int)
        /// → closed when it is over, → open when the rule trips. `credit` is what is let in, in nanoseconds of the ramp: a
        /// call costs the whole of it.
        case ramp(since: Instant, credit: Int64)
    }

    private var rule: any TripRule
    private let openFor: any BreakDuration
    private let maxProbes: Int
    private let successesToClose: Int
    private let probeLease: Duration
    private let excess: Excess
    private let ramp: Int64
    private(set) var phase = Phase.closed
    private(set) var trips = 0
    private var lastTicket: UInt64 = 0

    /// - Parameters:
    ///   - rule: when to open.
    ///   - openFor: for how long.
    ///   - probes: calls let through at the same time while half-open; 1 or more.
    ///   - successesToClose: probes that must succeed before the circuit closes; 1 or more.
    ///   - probeLease: how long a probe may take before its place is given to another; above zero.
    ///   - excess: what becomes of calls beyond the probes.
    ///   - ramp: how long a growing share is let in before all are; zero for all at once.
    public init(
        tripping rule: some TripRule = .consecutiveFailures(5),
        openFor: some BreakDuration = .constant(.seconds(60)),
        probes: Int = 1, successesToClose: Int = 1, probeLease: Duration = .seconds(60), excess: Excess = .refused,
        ramp: Duration = .zero
    ) {
        precondition(probes >= 1, "ThreeStateCircuit: probes is \(probes), and must be at least 1")
        precondition(
            successesToClose >= 1,
            "ThreeStateCircuit: successesToClose is \(successesToClose), and must be at least 1")
        precondition(probeLease > .zero, "ThreeStateCircuit: probeLease is \(probeLease), and must be above zero")
        precondition(ramp >= .zero, "ThreeStateCircuit: ramp is \(ramp), and must not be negative")
        if case .waits(let limit) = excess {
            precondition(limit > .zero, "ThreeStateCircuit: excess waits up to \(limit), and must be above zero")
        }
        self.rule = rule
        self.openFor = openFor
        maxProbes = probes
        self.successesToClose = successesToClose
        self.probeLease = probeLease
        self.excess = excess
        self.ramp = ramp.saturatedNanoseconds
    }

    public var state: CircuitState {
        switch phase {
        case .closed: .closed
        case .open: .open
        case .halfOpen, .ramp: .halfOpen
        }
    }

    public mutating func admit(at now: Instant, using chance: SplitMix64) -> CircuitAdmission {
        switch phase {
        case .closed:
            return admitWatched(at: now, using: chance)
        case .open(let until):
            guard until <= now else { return .refuse(retryAfter: now.duration(to: until)) }
            return startProbe(beside: [], successes: 0, at: now)
        case .halfOpen(let probes, let successes):
            let alive = probes.filter { now < $0.leaseEnds }
            guard alive.count < maxProbes else {
                // There is one at least, since there is room for one.
                let leaseEnds = alive.map(\.leaseEnds).min()!
                return switch excess {
                case .refused: .refuse(retryAfter: now.duration(to: leaseEnds))
                case .waits(let limit): .wait(upTo: limit, leaseEnds: leaseEnds)
                }
            }
            return startProbe(beside: alive, successes: successes, at: now)
        case .ramp(let start, let credit):
            let elapsed = start.duration(to: now).saturatedNanoseconds
            guard elapsed < ramp else {
                close()
                return admitWatched(at: now, using: chance)
            }
            let more = credit.saturatingAdding(max(ramp / 10, elapsed))
            phase = .ramp(since: start, credit: more < ramp ? more : more - ramp)
            return more < ramp ? .refuse(retryAfter: nil) : admitWatched(at: now, using: chance)
        }
    }

    /// Lets the call in; unless calls under way that are slow make this the moment to open.
    private mutating func admitWatched(at now: Instant, using chance: SplitMix64) -> CircuitAdmission {
        guard rule.needs.contains(.calls) else { return .allow(ticket: 0) }
        rule.began(at: now)
        guard rule.isMet(at: now) else { return .allow(ticket: 0) }
        open(after: nil, at: now, using: chance)
        return admit(at: now, using: chance)
    }

    private mutating func startProbe(beside others: [Probe], successes: Int, at now: Instant) -> CircuitAdmission {
        lastTicket &+= 1
        let probe = Probe(ticket: lastTicket, leaseEnds: now + probeLease)
        phase = .halfOpen(probes: others + [probe], successes: successes)
        return .allow(ticket: lastTicket)
    }

    public mutating func record(_ end: CallEnd, ticket: UInt64, using chance: SplitMix64) {
        switch phase {
        case .ramp where ticket > 0:
            // A probe whose fellows were enough.
            break
        case .closed, .ramp:
            if count(end) { open(after: end.verdict, at: end.time, using: chance) }
        case .open:
            break
        case .halfOpen(var probes, let successes):
            guard let index = probes.firstIndex(where: { $0.ticket == ticket }) else { return }
            probes.remove(at: index)
            switch end.evidence ?? (end.verdict.saysNothing ? .none : rule.evidence(of: end)) {
            case .healthy where successes + 1 >= successesToClose:
                rule.reset()
                if ramp > 0 { phase = .ramp(since: end.time, credit: 0) } else { close() }
            case .healthy: phase = .halfOpen(probes: probes, successes: successes + 1)
            case .failing: open(after: end.verdict, at: end.time, using: chance)
            case .none: phase = .halfOpen(probes: probes, successes: successes)
            }
        }
    }

    /// - Returns: whether to open. Only a failure opens.
    private mutating func count(_ end: CallEnd) -> Bool {
        rule.ended(end)
        switch end.verdict.saysNothing ? .none : rule.evidence(of: end) {
        case .healthy:
            // In a ramp the recovery is not over.
            if case .closed = phase { trips = 0 }
            return false
        case .failing: return rule.isMet(at: end.time)
        case .none: return false
        }
    }

    public mutating func observe(_ end: CallEnd) -> Bool { count(end) }

    private mutating func open(after verdict: Verdict?, at now: Instant, using chance: SplitMix64) {
        let length = openFor.duration(of: Trip(earlier: trips, verdict: verdict), using: chance)
        phase = .open(until: now + max(.zero, length))
        trips = trips.saturatingAdding(1)
    }

    private mutating func close() {
        phase = .closed
        trips = 0
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
        case .closed, .ramp:
            break
        case .open(let until):
            isAllowed = until <= now
            if isAllowed { state = .halfOpen } else { remaining = now.duration(to: until) }
        case .halfOpen(let probes, _):
            isAllowed = probes.count { now < $0.leaseEnds } < maxProbes
        }
        return CircuitStatus(state: state, rule.counts(at: now), timeRemaining: remaining, isAllowed: isAllowed)
    }

    public func isAtRest(at now: Instant) -> Bool {
        if case .closed = phase { trips == 0 && rule.counts(at: now).failures == 0 } else { false }
    }

    public func wantsProbe(at now: Instant) -> Bool {
        switch phase {
        case .closed, .ramp: false
        case .open(let until): until <= now
        case .halfOpen: true
        }
    }

    public var needs: CircuitNeeds {
        let rule = rule.needs
        guard case .closed = phase else { return rule.contains(.calls) ? [.all, .calls] : .all }
        var needs: CircuitNeeds = []
        if rule.contains(.calls) { needs.formUnion([.admissions, .calls]) }
        if rule.contains(.successes) || trips > 0 { needs.insert(.successes) }
        return needs
    }

    public func tallyEnds(after now: Instant) -> Instant { trips == 0 ? rule.tallyEnds(after: now) : now }

    public mutating func succeeded(_ count: Int, at now: Instant) { rule.succeeded(count, at: now) }

    /// Of a ramp as of an open circuit: after a restart it begins anew, with a probe.
    public func memory(at now: Instant) -> CircuitMemory? {
        var memory = CircuitMemory(state: state, trips: trips, counted: rule.memory(at: now))
        if case .open(let until) = phase { memory.remaining = max(.zero, now.duration(to: until)) }
        return memory
    }

    public mutating func restore(_ memory: CircuitMemory, takenAt instant: Instant) -> Bool {
        guard memory.remaining >= .zero, memory.trips >= 0, rule.restore(memory.counted, at: instant) else {
            return false
        }
        trips = memory.trips
        phase = memory.state == .closed ? .closed : .open(until: instant + memory.remaining)
        return true
    }

    public var description: String {
        let recovery = ramp == 0 ? "" : ", then a growing share for \(Duration.nanoseconds(ramp))"
        return "\(rule), \(openFor), then \(maxProbes) probe\(maxProbes == 1 ? "" : "s") at a time\(recovery)"
    }
}
