/// A circuit with three states: after a break, it admits a few probes before it admits all calls.
///
/// ```
/// closed ─rule trips─▶ open ─break over─▶ half-open ─enough succeed─▶ closed
///                       ▲                     │                         ▲
///                       ├────too many fail────┤                         │
///                       └─rule trips── a growing share ────ramp over────┘
/// ```
///
/// While half-open, a ``ProbeRule`` decides from a round of probes. A probe holds a lease: if it outlasts the lease,
/// its place goes to another call. A probe that was cancelled, or whose end says nothing about the endpoint, frees its
/// place and decides nothing.
///
/// With a `ramp`, enough good probes do not close the circuit at once. First the circuit admits a growing share of the
/// calls, evenly spread: `max(1/10, t/ramp)` at time t. It closes when the ramp is over. During the ramp the rule
/// counts as in a closed circuit, starting from nothing. Calls in flight when the ramp ends no longer count, as at
/// every change of state.
public struct ThreeStateCircuit: CircuitStateMachine {
    /// The treatment of calls beyond the probes.
    public enum Excess: Sendable, Hashable {
        /// The calls are rejected.
        case rejected
        /// The calls wait for the probes to end, for this long at most; above 0.
        case waits(upTo: Duration)
    }

    struct Probe: Sendable {
        let ticket: UInt64
        let began: MonotonicInstant
        let leaseEnds: MonotonicInstant
    }

    /// The probes in flight, and the results of those that count.
    struct Round: Sendable {
        var probes: [Probe] = []
        var successes = 0
        var failures = 0

        var decided: Int { successes + failures }
    }

    enum Phase: Sendable {
        case closed
        /// Becomes half-open at `until`.
        case open(until: MonotonicInstant)
        /// Becomes closed, or begins a ramp, on enough successes; becomes open on enough failures.
        case halfOpen(Round)
        /// Becomes closed when the ramp is over; becomes open when the rule is met.
        ///
        /// Each call that asks adds to `credit`, in nanoseconds of the ramp. When the credit reaches the length of the
        /// ramp, the call is admitted and pays that length.
        case ramp(since: MonotonicInstant, credit: Int64)
    }

    /// The constant part. A class, since it is the same for nearly all keys of a registry.
    private final class Terms: Sendable {
        /// The rule as it was given, usually with nothing counted.
        let rule: any TripRule
        let openFor: any BreakDuration
        let maxProbes: Int
        let closing: ProbeRule
        let lease: Int64
        /// 0 if calls beyond the probes are rejected.
        let wait: Int64
        let ramp: Int64

        init(_ rule: any TripRule, _ openFor: any BreakDuration, _ settings: CircuitBreaker.Settings) {
            self.rule = rule
            self.openFor = openFor
            maxProbes = settings.probes
            closing = settings.closing
            lease = settings.probeLease.saturatedNanoseconds
            wait = settings.excessWait?.saturatedNanoseconds ?? 0
            ramp = settings.ramp.saturatedNanoseconds
        }

        func isLike(_ other: Terms) -> Bool {
            (maxProbes, closing, lease, wait, ramp)
                == (other.maxProbes, other.closing, other.lease, other.wait, other.ramp)
                && openFor.isSame(as: other.openFor) && rule.isSame(as: other.rule)
        }
    }

    /// The changing part.
    private struct Course: Sendable {
        var rule: any TripRule
        var phase = Phase.closed
        var trips = 0
        var probeWait = ProbeWait()
        var lastTicket: UInt64 = 0
    }

    private static let recent = Recent<Terms>()

    private let terms: Terms
    /// Empty until anything changes: most circuits of a large registry are closed, and have counted nothing. An array
    /// of at most one element: with the element itself, the machine would exceed three words, and be boxed.
    private var course: [Course] = []

    var rule: any TripRule { course.isEmpty ? terms.rule : course[0].rule }
    var phase: Phase { course.isEmpty ? .closed : course[0].phase }
    var trips: Int { course.isEmpty ? 0 : course[0].trips }
    private var probeWait: ProbeWait { course.isEmpty ? ProbeWait() : course[0].probeWait }
    var openFor: any BreakDuration { terms.openFor }
    var maxProbes: Int { terms.maxProbes }
    var closing: ProbeRule { terms.closing }
    var ramp: Int64 { terms.ramp }

    /// Creates a closed circuit.
    ///
    /// - Parameters:
    ///   - rule: Decides when to open; by default at the 5th failure in a row.
    ///   - openFor: How long the circuit stays open; by default 60 s.
    ///   - probes: How many probes are let through at the same time; 1 to the number of probes in a round.
    ///   - closing: Decides from a round of probes whether the circuit closes or opens again.
    ///   - probeLease: How long a probe keeps its place before another call gets it; above 0.
    ///   - excess: The treatment of calls beyond the probes.
    ///   - ramp: How long the circuit admits only a growing share of the calls after good probes; 0 or more. 0 admits
    ///     all calls at once.
    public init(
        tripping rule: some TripRule = .standard,
        openFor: some BreakDuration = .standard,
        probes: Int = 1, closing: ProbeRule = .successes(1), probeLease: Duration = .seconds(60),
        excess: Excess = .rejected, ramp: Duration = .zero
    ) {
        let settings = CircuitBreaker.Settings(
            probes: probes, closing: closing, probeLease: probeLease, excess: excess, ramp: ramp
        ).valid()
        terms = Self.recent.shared(Terms(rule, openFor, settings)) { $0.isLike($1) }
    }

    /// Changes the ``Course``, in place.
    @inline(__always) private mutating func change<R>(_ body: (inout Course) -> R) -> R {
        if course.isEmpty { course = [Course(rule: terms.rule)] }
        return body(&course[0])
    }

    public var state: CircuitState {
        switch phase {
        case .closed: .closed
        case .open: .open
        case .halfOpen, .ramp: .halfOpen
        }
    }

    var probeLease: Duration { .nanoseconds(terms.lease) }
    var excess: Excess { terms.wait == 0 ? .rejected : .waits(upTo: .nanoseconds(terms.wait)) }

    public var makesCallsWait: Bool { terms.wait > 0 }

    public var changesAt: MonotonicInstant? {
        switch phase {
        case .open(let until): until
        case .ramp(let start, _): start + .nanoseconds(ramp)
        case .closed, .halfOpen: nil
        }
    }

    public mutating func timePassed(at now: MonotonicInstant) {
        guard let changesAt, changesAt <= now else { return }
        if case .open = phase { go(to: .halfOpen(Round())) } else { close() }
    }

    public mutating func admit(at now: MonotonicInstant, using generator: SplitMix64) -> CircuitAdmission {
        timePassed(at: now)
        switch phase {
        case .closed:
            return admitWatched(at: now, using: generator)
        case .open(let until):
            return .reject(retryAfter: now.wait(until: until))
        case .halfOpen(var round):
            round.probes.removeAll { $0.leaseEnds <= now }
            guard hasRoom(for: round) else {
                // Never nil: a round that is not decided and has no probe in flight has room.
                let leaseEnds = round.probes.map(\.leaseEnds).min()!
                return switch excess {
                case .rejected: .reject(retryAfter: now.duration(to: decision(of: round, at: now)))
                case .waits(let limit): .wait(upTo: limit, leaseEnds: leaseEnds)
                }
            }
            let leaseEnds = now + probeLease
            return change { course in
                course.lastTicket &+= 1
                round.probes.append(Probe(ticket: course.lastTicket, began: now, leaseEnds: leaseEnds))
                course.phase = .halfOpen(round)
                return .allow(ticket: course.lastTicket)
            }
        case .ramp(let start, let credit):
            let elapsed = start.duration(to: now).saturatedNanoseconds
            let more = credit.saturatingAdding(max(ramp / 10, elapsed))
            go(to: .ramp(since: start, credit: more < ramp ? more : more - ramp))
            // The share grows, and the next call may enter, so no call is told to wait for the end of a long ramp.
            let rest = min(.nanoseconds(ramp - elapsed), ProbeWait.longest)
            return more < ramp ? .reject(retryAfter: rest) : admitWatched(at: now, using: generator)
        }
    }

    public func probesDecide(at now: MonotonicInstant) -> MonotonicInstant? {
        switch phase {
        case .closed, .ramp: return nil
        case .open(let until): return max(until, now) + probeWait.expected
        case .halfOpen(var round):
            round.probes.removeAll { $0.leaseEnds <= now }
            return decision(of: round, at: now)
        }
    }

    /// When a round will probably get its next result.
    private func decision(of round: Round, at now: MonotonicInstant) -> MonotonicInstant {
        // The first probe is the oldest.
        round.probes.first.map { probeWait.end(ofProbeBegunAt: $0.began, leaseEnds: $0.leaseEnds, at: now) }
            ?? now + probeWait.expected
    }

    /// Whether another probe may be admitted: fewer probes are in flight than allowed, and fewer than the round still
    /// has to count.
    private func hasRoom(for round: Round) -> Bool {
        round.probes.count < min(maxProbes, closing.probes - round.decided)
    }

    /// Admits the call, unless slow calls in flight make the rule open the circuit now.
    private mutating func admitWatched(at now: MonotonicInstant, using generator: SplitMix64) -> CircuitAdmission {
        guard observe(beginAt: now) else { return .allow(ticket: 0) }
        open(for: nil, after: nil, at: now, using: generator)
        return admit(at: now, using: generator)
    }

    public mutating func observe(beginAt now: MonotonicInstant) -> Bool {
        guard rule.needs.contains(.calls) else { return false }
        change { $0.rule.began(at: now) }
        return rule.isMet(at: now)
    }

    public mutating func record(_ end: CallEnd, ticket: UInt64, using generator: SplitMix64) -> Bool {
        switch phase {
        case .ramp where ticket > 0:
            // This probe is late: other probes have decided the round.
            return false
        case .closed, .ramp:
            guard count(end) == .failing else { return false }
            // Only a failure opens the circuit.
            if rule.isMet(at: end.time) { open(for: nil, after: end.verdict, at: end.time, using: generator) }
            return true
        case .open:
            return false
        case .halfOpen(let round):
            return record(probe: end, ticket: ticket, in: round, using: generator)
        }
    }

    private mutating func record(
        probe end: CallEnd, ticket: UInt64, in round: Round, using generator: SplitMix64
    ) -> Bool {
        var round = round
        guard let index = round.probes.firstIndex(where: { $0.ticket == ticket }) else { return false }
        let probe = round.probes.remove(at: index)
        let evidence = end.evidence ?? (end.verdict.saysNothing ? .inconclusive : rule.evidence(ofProbe: end))
        switch evidence {
        case .healthy: round.successes += 1
        case .failing: round.failures += 1
        case .inconclusive: break
        }
        if evidence != .inconclusive { change { $0.probeWait.probeTook(probe.began.duration(to: end.time)) } }
        go(to: .halfOpen(round))
        if round.failures == closing.failures {
            open(for: nil, after: end.verdict, at: end.time, using: generator)
            return false
        }
        if round.successes == closing.successes {
            change { $0.rule.reset() }
            if ramp > 0 { go(to: .ramp(since: end.time, credit: 0)) } else { close() }
        }
        return evidence == .failing
    }

    private mutating func count(_ end: CallEnd) -> TripEvidence {
        change { $0.rule.ended(end) }
        let evidence = end.verdict.saysNothing ? .inconclusive : rule.evidence(of: end)
        // During a ramp the recovery is not complete.
        if evidence == .healthy, case .closed = phase { change { $0.trips = 0 } }
        return evidence
    }

    public mutating func observe(_ end: CallEnd) -> Bool { count(end) == .failing && rule.isMet(at: end.time) }

    private mutating func open(
        for length: Duration?, after verdict: Verdict?, at now: MonotonicInstant, using generator: SplitMix64
    ) {
        let length =
            length ?? terms.openFor.duration(of: CircuitTrip(earlier: trips, verdict: verdict), using: generator)
        go(to: .open(until: now + max(.zero, length)))
        change { course in
            course.probeWait.breakLasts(length)
            course.trips = course.trips.saturatingAdding(1)
            course.rule.forgetCalls()
        }
    }

    public mutating func trip(for length: Duration?, at now: MonotonicInstant, using generator: SplitMix64) -> Bool {
        open(for: length, after: nil, at: now, using: generator)
        return true
    }

    public mutating func endBreak(at now: MonotonicInstant) -> Bool {
        timePassed(at: now)
        switch phase {
        case .closed, .ramp: return false
        case .open, .halfOpen:
            go(to: .halfOpen(Round()))
            return true
        }
    }

    private mutating func go(to phase: Phase) { change { $0.phase = phase } }

    private mutating func close() {
        change { course in
            course.phase = .closed
            course.trips = 0
            course.rule.forgetCalls()
        }
    }

    public mutating func reset(keepingGrowth: Bool) {
        change { course in
            course.phase = .closed
            course.rule.reset()
            if !keepingGrowth { course.trips = 0 }
        }
    }

    public mutating func forgetCalls() {
        change { $0.rule.forgetCalls() }
        // The ends of probes will not be reported either: probes must not keep their places until their leases end.
        guard case .halfOpen(var round) = phase else { return }
        round.probes = []
        go(to: .halfOpen(round))
    }

    public mutating func takeCalls(from other: any CircuitStateMachine) -> Bool {
        guard let other = other as? ThreeStateCircuit else { return !needs.contains(.calls) }
        return change { $0.rule.takeCalls(from: other.rule) }
    }

    public func status(at now: MonotonicInstant) -> CircuitBreakerStatus {
        var then = self
        then.timePassed(at: now)
        switch then.phase {
        case .closed, .ramp:
            return CircuitBreakerStatus(state: then.state, rule.counts(at: now), timeRemaining: nil, isAllowed: true)
        case .open(let until):
            return CircuitBreakerStatus(
                state: .open, rule.counts(at: now), timeRemaining: now.duration(to: until), isAllowed: false)
        case .halfOpen(var round):
            round.probes.removeAll { $0.leaseEnds <= now }
            return CircuitBreakerStatus(
                state: .halfOpen, counts(of: round), timeRemaining: nil, isAllowed: hasRoom(for: round))
        }
    }

    private func counts(of round: Round) -> TripCounts {
        TripCounts(failureCount: round.failures, failureLimit: closing.failures, callCount: round.decided)
    }

    public func isAtRest(at now: MonotonicInstant) -> Bool {
        var then = self
        then.timePassed(at: now)
        guard case .closed = then.phase else { return false }
        return then.trips == 0 && rule.counts(at: now).failureCount == 0
    }

    public func wantsProbe(at now: MonotonicInstant) -> Bool {
        switch phase {
        case .closed, .ramp: false
        case .open(let until): until <= now
        case .halfOpen: true
        }
    }

    public var needs: CircuitNeeds {
        let rule = rule.needs
        guard case .closed = phase else { return rule.contains(.calls) ? .all : [.admissions, .successes] }
        var needs: CircuitNeeds = []
        if rule.contains(.calls) { needs.formUnion([.admissions, .calls]) }
        if rule.contains(.successes) || trips > 0 { needs.insert(.successes) }
        return needs
    }

    public func tallyEnds(after now: MonotonicInstant) -> MonotonicInstant {
        trips == 0 ? rule.tallyEnds(after: now) : now
    }

    public mutating func succeeded(_ count: Int, at now: MonotonicInstant) {
        change { $0.rule.succeeded(count, at: now) }
    }

    public func tallyStretch(at now: MonotonicInstant) -> Range<MonotonicInstant>? {
        guard case .closed = phase, trips == 0, rule.needs.contains(.calls) else { return nil }
        return rule.tallyStretch(at: now)
    }

    public mutating func tallied(began: Int, succeeded: Int, at now: MonotonicInstant) {
        change { $0.rule.tallied(began: began, succeeded: succeeded, at: now) }
    }

    public var longestBreak: Duration? { terms.openFor.longest }

    /// The state that must survive a restart.
    ///
    /// A ramp is stored as half-open: the recovery then begins anew, with a probe.
    ///
    /// - Parameter now: The current time.
    /// - Returns: Its memory; never nil.
    public func memory(at now: MonotonicInstant) -> CircuitMemory? {
        var then = self
        then.timePassed(at: now)
        var memory = CircuitMemory(state: then.state, trips: then.trips, counted: rule.memory(at: now))
        if case .open(let until) = then.phase { memory.remaining = now.duration(to: until) }
        return memory
    }

    public mutating func restore(_ memory: CircuitMemory, takenAt instant: MonotonicInstant) -> Bool {
        guard memory.remaining >= .zero, memory.trips >= 0, change({ $0.rule.restore(memory.counted, at: instant) })
        else {
            return false
        }
        change { $0.trips = memory.trips }
        go(to: memory.state == .closed ? .closed : .open(until: instant + memory.remaining))
        return true
    }

    public var description: String {
        let recovery = ramp == 0 ? "" : ", then a growing share for \(Duration.nanoseconds(ramp).text)"
        let probes = "\(maxProbes) probe\(maxProbes == 1 ? "" : "s") at a time, \(closing)"
        return "\(rule), \(terms.openFor), then \(probes)\(recovery)"
    }
}
