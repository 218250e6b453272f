import Resilience

/// A flight: the passes of one flush, in a task of the queue's own, and when the next one starts by itself.
extension SyncQueue {
    enum Beginning {
        case flight(Task<FlushReport, any Error>)
        case paused(until: Instant)
        case clearing
        case stopped
    }

    func begin() -> Beginning {
        let now = now
        return state.withLock { state in
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
                return .flight(flight)
            }
        }
    }

    /// Passes over the queue until one ends without a trigger having come meanwhile.
    private func fly() async throws -> FlushReport {
        var total = FlushReport()
        while true {
            let report: FlushReport
            do {
                report = try await pass()
            } catch {
                tell(.storeFailed(error: "\(error)"))
                settle(failure: error)
                throw error
            }
            total.add(report)
            if settle(report) == .rest { return total }
        }
    }

    private func settle(_ report: FlushReport) -> FlushStateMachine.After {
        if report.end == .cancelled {
            abandon(report)
            return .rest
        }
        var pausedUntil: Instant?
        if case .paused(let until) = report.end { pausedUntil = until }
        let (after, flights) = state.withLock { state in
            state.tellDrains(report)
            let after = state.machine.passEnded(pausedUntil: pausedUntil)
            if after == .rest {
                state.flight = nil
                state.lastEnd = .success(report.end)
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
    private func abandon(_ report: FlushReport) {
        let (triggersAgain, lastEnd, flights) = state.withLock { state in
            state.tellDrains(report)
            state.flight = nil
            return (state.machine.flushCancelled(), state.lastEnd, state.flights)
        }
        if triggersAgain {
            trigger()
        } else if case .success(let end) = lastEnd, let instant = end.goesOnAt {
            arm(at: instant, afterFlight: flights)
        }
        tellWatchers()
    }

    private func settle(failure error: any Error) {
        let retryAt = now + stallDelay()
        let (triggersAgain, flights) = state.withLock { state in
            state.flight = nil
            state.lastEnd = .failure(error)
            return (state.machine.flushCancelled(), state.flights)
        }
        if triggersAgain { trigger() } else { arm(at: retryAt, afterFlight: flights) }
        tellWatchers()
    }

    /// The end of a pause starts a flush; nobody has to poke.
    private func arm(at instant: Instant, afterFlight flights: Int) {
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
