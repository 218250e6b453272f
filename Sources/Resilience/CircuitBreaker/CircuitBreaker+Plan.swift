extension CircuitBreaker {
    /// The alarm for what becomes of the circuit by itself: for who watches it, and for the health check.
    struct Plan {
        var alarm: TimeBaseAlarm?
        /// Counts the plans made: of two that are made at once, only the later is kept.
        var number: UInt64 = 0
    }

    func plan() { plan(at: ownCore.timeBase.now) }

    /// After any change: plans what is to be done next without a call, if anything is.
    func plan(at now: MonotonicInstant) {
        let (instant, number) = inner.withLock { state -> (MonotonicInstant?, UInt64) in
            state.plan.number += 1
            return (due(state, at: now), state.plan.number)
        }
        let alarm = instant.map { ownCore.timeBase.schedule(at: $0) { [weak self] in self?.timeHasCome() } }
        let stale = inner.withLock { state -> TimeBaseAlarm? in
            guard state.plan.number == number else { return alarm }
            defer { state.plan.alarm = alarm }
            return state.plan.alarm
        }
        if let stale { ownCore.timeBase.cancel(stale) }
    }

    /// When something becomes of the circuit by itself, if anybody is to know.
    func planned(_ state: State) -> MonotonicInstant? {
        healthCheck == nil && state.watchers.isEmpty ? nil : state.circuit.changesAt
    }

    private func due(_ state: State, at now: MonotonicInstant) -> MonotonicInstant? {
        let circuit = state.circuit
        let now = max(circuit.latest, now)
        if healthCheck != nil {
            // What could have changed by now has: by the alarm that asks.
            guard circuit.mode == .automatic, state.check.number == 0, circuit.machine.wantsProbe(at: now) else {
                return circuit.changesAt.flatMap { now < $0 ? $0 : nil }
            }
            return now
        }
        return planned(state)
    }

    private func timeHasCome() {
        change(at: ownCore.timeBase.now, afterTime: true) { _ in }
        if healthCheck != nil { checkHealth() }
    }
}
