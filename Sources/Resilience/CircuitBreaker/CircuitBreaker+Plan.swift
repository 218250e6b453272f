extension CircuitBreaker {
    /// The alarm for the next change that time brings by itself: for those who watch the breaker, and for the health
    /// check.
    struct Plan {
        var alarm: TimeBaseAlarm?
        /// Counts the plans. If two are made concurrently, only the later one is kept.
        var number: UInt64 = 0
    }

    func plan() { plan(at: ownCore.timeBase.now) }

    /// Plans the next step that needs no call, if there is one. Called after every change.
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

    /// When the circuit next changes by itself; nil if it does not, or if there is neither a watcher nor a health
    /// check.
    func planned(_ state: State) -> MonotonicInstant? {
        healthCheck == nil && state.watchers.isEmpty ? nil : state.circuit.changesAt
    }

    private func due(_ state: State, at now: MonotonicInstant) -> MonotonicInstant? {
        let circuit = state.circuit
        let now = max(circuit.latest, now)
        if healthCheck != nil {
            // What could have changed until now has changed, by the alarm that asks.
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
