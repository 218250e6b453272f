import Resilience

/// A flight: the rounds of one flush, in a task of the queue's own, and when the next one starts by itself.
extension SyncQueue {
    enum Beginning {
        case flight(Task<FlushReport, any Error>)
        case paused(until: Instant)
        case clearing
        case stopped
    }

    func begin() -> Beginning {
        let now = now
        let (beginning, waker): (Beginning, Waiter?) = state.withLock { state in
            (begin(&state, at: now), state.waker.take())
        }
        waker?.resume()
        return beginning
    }

    func begin(_ state: inout State, at now: Instant) -> Beginning {
        if state.stopped { return .stopped }
        switch state.machine.triggered(at: now) {
        case .paused(let until):
            return .paused(until: until)
        case .clearing:
            return .clearing
        case .join:
            // A flight is there as long as the machine is flushing.
            return .flight(state.flight!)
        case .start:
            disarm(&state)
            let flight = Task(executorPreference: pipeline.timeBase.taskExecutor) { try await self.fly() }
            state.flight = flight
            state.flights += 1
            state.progress = Progress(since: now)
            return .flight(flight)
        }
    }

    /// Rounds until one ends without a trigger having come meanwhile.
    func fly() async throws -> FlushReport {
        var total = FlushReport()
        while true {
            let report: FlushReport
            do {
                report = try await round()
            } catch {
                tell(.storeFailed(error: "\(error)"))
                settle(failure: error)
                throw error
            }
            total.add(report)
            if settle(report) == .rest { return total }
        }
    }

    func settle(_ report: FlushReport) -> FlushStateMachine.After {
        if report.end == .cancelled {
            abandon(report)
            return .rest
        }
        var pausedUntil: Instant?
        if case .paused(let until) = report.end { pausedUntil = until }
        let (after, flights) = state.withLock { state in
            state.tellDrains(report)
            let after = state.machine.roundEnded(pausedUntil: pausedUntil)
            if after == .rest {
                state.flight = nil
                state.lastEnd = .success(report.end)
                state.goesOnAt = report.end.goesOnAt
            }
            return (after, state.flights)
        }
        if after == .rest {
            if let instant = report.end.goesOnAt { arm(at: instant, afterFlight: flights) }
            if report.end == .drained { tell(.drained) }
            tellWatchers()
        }
        return after
    }

    /// The flight was cancelled: what others expect of it, and what the queue would have done by itself, is still to be done.
    func abandon(_ report: FlushReport) {
        let (triggersAgain, goesOnAt, flights) = state.withLock { state in
            state.tellDrains(report)
            state.flight = nil
            return (state.machine.flushCancelled(), state.goesOnAt, state.flights)
        }
        if triggersAgain {
            trigger()
        } else if let goesOnAt {
            arm(at: goesOnAt, afterFlight: flights)
        }
        tellWatchers()
    }

    func settle(failure error: any Error) {
        let retryAt = now + outageDelay()
        let (triggersAgain, flights) = state.withLock { state in
            state.flight = nil
            state.lastEnd = .failure(error)
            state.goesOnAt = retryAt
            return (state.machine.flushCancelled(), state.flights)
        }
        if triggersAgain { trigger() } else { arm(at: retryAt, afterFlight: flights) }
        tellWatchers()
    }

    /// The end of a pause starts a flush; nobody has to poke.
    func arm(at instant: Instant, afterFlight flights: Int) {
        // Not under the lock: a time base may fire at once what is due already.
        let alarm = pipeline.timeBase.schedule(at: instant) { [weak self] in self?.trigger() }
        let stale = state.withLock { state -> Alarm? in
            // A flight that has begun since sets its own.
            if state.stopped || state.flights != flights { return alarm }
            defer { state.alarm = alarm }
            return state.alarm
        }
        if let stale { pipeline.timeBase.cancel(stale) }
    }

    func disarm(_ state: inout State) {
        if let alarm = state.alarm.take() { pipeline.timeBase.cancel(alarm) }
    }
}
