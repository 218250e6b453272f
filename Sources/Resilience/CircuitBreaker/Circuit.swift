/// A circuit state machine of any kind, and what every kind needs: generations, so that the result of a call admitted in
/// an earlier state never decides the present one; time that never goes back; and modes set by hand.
struct Circuit: Sendable {
    private(set) var machine: any CircuitStateMachine
    private(set) var mode = CircuitBreaker.Mode.automatic
    /// Counts changes of state, of mode, and resets, from 1.
    private(set) var generation: UInt64 = 1
    /// Whether only a health check may be a probe.
    private let checksHealth: Bool
    /// The latest time it was told. Callers read theirs before they wait for the lock, and may come in another order.
    var latest = Instant.distantPast

    init(_ machine: any CircuitStateMachine, checksHealth: Bool = false) {
        self.machine = machine
        self.checksHealth = checksHealth
    }

    struct Transition: Equatable {
        let from: CircuitState
        let to: CircuitState
    }

    enum Admission: Equatable {
        /// `began` is there for a machine that watches calls.
        case allow(generation: UInt64, ticket: UInt64, began: Instant? = nil, Transition?)
        case refuse(retryAfter: Duration?, Transition?)
        case wait(upTo: Duration, leaseEnds: Instant)
    }

    enum Recording: Equatable {
        /// The call was admitted in an earlier generation: nothing changed.
        case late
        case recorded(Transition?)
        /// It would have opened, were it not only observing.
        case wouldOpen
    }

    mutating func admit(at now: Instant, using chance: SplitMix64 = .shared, asCheck: Bool = false) -> Admission {
        switch mode {
        case .isolated: return .refuse(retryAfter: nil, nil)
        case .disabled, .observing: return .allow(generation: generation, ticket: 0, nil)
        case .automatic: break
        }
        // As without the lock: a circuit that need not be asked is not told the time either.
        let needs = machine.needs
        if !needs.contains(.admissions) { return .allow(generation: generation, ticket: 0, nil) }
        let before = machine.state
        latest = max(latest, now)
        if checksHealth, !asCheck, machine.wantsProbe(at: latest) { return .refuse(retryAfter: nil, nil) }
        let admission = machine.admit(at: latest, using: chance)
        let transition = transition(from: before)
        return switch admission {
        case .allow(let ticket):
            .allow(
                generation: generation, ticket: ticket, began: needs.contains(.calls) ? latest : nil, transition)
        case .refuse(let retryAfter): .refuse(retryAfter: retryAfter, transition)
        case .wait(let limit, let leaseEnds): .wait(upTo: limit, leaseEnds: leaseEnds)
        }
    }

    /// - Parameter evidence: what is known of the endpoint, whatever the verdict; for a health check.
    mutating func record(
        _ verdict: Verdict, generation admitted: UInt64, ticket: UInt64, began: Instant? = nil,
        evidence: Evidence? = nil, at now: Instant, using chance: SplitMix64 = .shared
    ) -> Recording {
        guard admitted == generation else { return .late }
        guard mode != .disabled else { return .recorded(nil) }
        let needs = machine.needs
        // A rejection or a cancellation says nothing of the endpoint; it matters only to a machine that gave a ticket.
        if verdict.saysNothing, ticket == 0, !needs.contains(.calls) { return .recorded(nil) }
        if verdict == .success, needs.isDisjoint(with: [.admissions, .successes]) { return .recorded(nil) }
        // One that could have been counted beside the lock: as if it had been, it does not move the time on.
        if verdict == .success, ticket == 0, mode == .automatic, needs == .successes, now < tallyEnds {
            machine.succeeded(1, at: latest)
            return .recorded(nil)
        }
        let before = machine.state
        latest = max(latest, now)
        let end = CallEnd(verdict, at: latest, began: began, evidence: evidence)
        if mode == .observing { return machine.observe(end) ? .wouldOpen : .recorded(nil) }
        machine.record(end, ticket: ticket, using: chance)
        return .recorded(transition(from: before))
    }

    /// So many calls went well since it was told anything: see ``FreePass``.
    mutating func succeeded(_ count: Int) {
        guard count > 0, mode == .automatic else { return }
        machine.succeeded(count, at: latest)
    }

    mutating func reset(keepingGrowth: Bool) -> Transition? {
        let before = machine.state
        machine.reset(keepingGrowth: keepingGrowth)
        return anew(from: before)
    }

    /// Sets by hand who decides. What was admitted before no longer counts.
    mutating func set(_ mode: CircuitBreaker.Mode) -> Transition? {
        guard mode != self.mode else { return nil }
        let before = machine.state
        self.mode = mode
        // One that only observes never is open.
        if mode == .observing, before != .closed { machine.reset(keepingGrowth: true) }
        return anew(from: before)
    }

    /// Puts another machine in this one's place, which goes on from where this one stands.
    /// - Returns: false if nothing could be taken over; then nothing has changed.
    mutating func replace(with machine: any CircuitStateMachine, at now: Instant) -> Bool {
        latest = max(latest, now)
        var machine = machine
        let before = self.machine.state
        guard let memory = self.machine.memory(at: latest), machine.restore(memory, takenAt: latest) else {
            return false
        }
        self.machine = machine
        _ = transition(from: before)
        return true
    }

    /// - Returns: false if the memory makes no sense; then nothing has changed.
    mutating func restore(
        _ memory: CircuitMemory, _ mode: CircuitBreaker.Mode, age: Duration, at now: Instant
    ) -> Bool {
        latest = max(latest, now)
        let before = machine.state
        guard machine.restore(memory, takenAt: latest + (.zero - age)) else { return false }
        self.mode = mode
        _ = anew(from: before)
        return true
    }

    func memory(at now: Instant) -> CircuitMemory? { machine.memory(at: max(latest, now)) }

    func status(at now: Instant) -> CircuitStatus {
        let now = max(latest, now)
        let status = machine.status(at: now)
        switch mode {
        case .automatic:
            guard checksHealth, machine.wantsProbe(at: now) else { return status }
            return status.with(mode, isAllowed: false)
        case .isolated: return CircuitStatus(state: .open, failureCount: status.failureCount, mode: mode)
        case .disabled, .observing: return status.with(mode, isAllowed: true)
        }
    }

    /// Whether forgetting it would lose nothing but successes.
    func isAtRest(at now: Instant) -> Bool { mode == .automatic && machine.isAtRest(at: max(latest, now)) }

    var state: CircuitState { machine.state }

    /// What it must be told of.
    var needs: CircuitNeeds {
        switch mode {
        case .isolated, .observing: .all
        case .disabled: []
        case .automatic: machine.needs
        }
    }

    /// Successes before this instant may be told later, several at once. Those that come late count as of the latest time.
    var tallyEnds: Instant {
        let end = machine.tallyEnds(after: latest)
        return end > latest ? end : .distantPast
    }

    private mutating func transition(from before: CircuitState) -> Transition? {
        guard before != machine.state else { return nil }
        return anew(from: before)
    }

    /// A new generation: what was admitted before must not count from here on.
    private mutating func anew(from before: CircuitState) -> Transition? {
        generation &+= 1
        return before == machine.state ? nil : Transition(from: before, to: machine.state)
    }
}

extension CircuitStatus {
    fileprivate func with(_ mode: CircuitBreaker.Mode, isAllowed: Bool) -> CircuitStatus {
        CircuitStatus(
            state: state, failureCount: failureCount, failureLimit: failureLimit, callCount: callCount,
            timeRemaining: timeRemaining, isAllowed: isAllowed, mode: mode)
    }
}
