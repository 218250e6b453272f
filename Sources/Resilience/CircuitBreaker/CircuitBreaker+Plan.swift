extension CircuitBreaker {
    /// The alarm for the next automatic change: for watchers of the breaker, and for the health check.
    struct Plan {
        var alarm: TimeBaseAlarm?
        /// Counts the plans. If two are made concurrently, only the later one is kept.
        var number: UInt64 = 0
    }

    func plan() { plan(at: ownCore.timeBase.now) }

    /// Plans the next step that needs no call, if there is one. Called after every change.
    func plan(at now: MonotonicInstant) {
        let planned = inner.withLock { state -> (MonotonicInstant?, UInt64)? in
            // Without extras nobody watches, and no alarm is set.
            guard let extras = healthCheck == nil ? state.extras : state.needExtras() else { return nil }
            extras.plan.number += 1
            return (due(state, at: now), extras.plan.number)
        }
        guard let (instant, number) = planned else { return }
        let alarm = instant.map { ownCore.timeBase.schedule(at: $0) { [weak self] in self?.timeHasCome() } }
        let stale = inner.withLock { state -> TimeBaseAlarm? in
            let extras = state.needExtras()
            guard extras.plan.number == number else { return alarm }
            defer { extras.plan.alarm = alarm }
            return extras.plan.alarm
        }
        if let stale { ownCore.timeBase.cancel(stale) }
    }

    /// When the circuit next changes by itself; nil if it does not, or if there is neither a watcher nor a health
    /// check.
    func planned(_ state: State) -> MonotonicInstant? {
        healthCheck == nil && state.extras?.watchers.isEmpty != false ? nil : state.circuit.changesAt
    }

    private func due(_ state: State, at now: MonotonicInstant) -> MonotonicInstant? {
        let circuit = state.circuit
        let now = max(circuit.latest, now)
        if healthCheck != nil {
            // A change that is due by now needs no alarm: the alarm that led here has already made it.
            guard circuit.mode == .automatic, state.extras?.check.number ?? 0 == 0, circuit.machine.wantsProbe(at: now)
            else {
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
