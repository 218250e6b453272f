/// A circuit state machine of any kind, and what every kind needs: generations, so that the result of a call admitted in
/// an earlier state never decides the present one, and time that never goes back.
struct Circuit: Sendable {
    private(set) var machine: any CircuitStateMachine
    /// Counts changes of state, from 1.
    private(set) var generation: UInt64 = 1
    /// The latest time it was told. Callers read theirs before they wait for the lock, and may come in another order.
    private var latest = Instant.distantPast

    init(_ machine: any CircuitStateMachine) { self.machine = machine }

    struct Transition: Equatable {
        let from: CircuitState
        let to: CircuitState
    }

    enum Admission: Equatable {
        case allow(generation: UInt64, ticket: UInt64, Transition?)
        case refuse(retryAfter: Duration?, Transition?)
    }

    enum Recording: Equatable {
        /// The call was admitted in an earlier generation: nothing changed.
        case late
        case recorded(Transition?)
    }

    mutating func admit(at now: Instant) -> Admission {
        // As without the lock: a circuit at rest is not told of what changes nothing, not even the time.
        if machine.isAtRest { return .allow(generation: generation, ticket: 0, nil) }
        let before = machine.state
        latest = max(latest, now)
        let admission = machine.admit(at: latest)
        let transition = transition(from: before)
        return switch admission {
        case .allow(let ticket): .allow(generation: generation, ticket: ticket, transition)
        case .refuse(let retryAfter): .refuse(retryAfter: retryAfter, transition)
        }
    }

    mutating func record(
        _ verdict: Verdict, generation admitted: UInt64, ticket: UInt64, at now: Instant
    ) -> Recording {
        guard admitted == generation else { return .late }
        // A rejection or a cancellation says nothing of the endpoint; it matters only to a machine that gave a ticket.
        if verdict.saysNothing, ticket == 0 { return .recorded(nil) }
        if verdict == .success, machine.isAtRest { return .recorded(nil) }
        let before = machine.state
        latest = max(latest, now)
        machine.record(verdict, ticket: ticket, at: latest)
        return .recorded(transition(from: before))
    }

    mutating func reset(keepingGrowth: Bool) -> Transition? {
        let before = machine.state
        machine.reset(keepingGrowth: keepingGrowth)
        // Always a new generation: what was admitted before the reset must not count after it.
        generation &+= 1
        return before == machine.state ? nil : Transition(from: before, to: machine.state)
    }

    func status(at now: Instant) -> CircuitStatus { machine.status(at: max(latest, now)) }

    /// The generation while admission is free and a success changes nothing, else 0.
    var restingGeneration: UInt64 { machine.isAtRest ? generation : 0 }

    private mutating func transition(from before: CircuitState) -> Transition? {
        guard before != machine.state else { return nil }
        generation &+= 1
        return Transition(from: before, to: machine.state)
    }
}
