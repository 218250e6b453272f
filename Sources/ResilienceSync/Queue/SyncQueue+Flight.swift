import Resilience

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A flight is a task that follows the machine until one flush is over. This file also starts the next flight at its
/// time.
extension SyncQueue {
    enum Beginning {
        case flight(Task<FlushReport, any Error>, isJoined: Bool)
        case paused(until: MonotonicInstant)
        case clearing
        case stopped
    }

    func begin() -> Beginning {
        let (beginning, waker) = change { state, now in (begin(&state, at: now), state.waker.take()) }
        waker?.resume()
        return beginning
    }

    private func begin(_ state: inout State, at now: MonotonicInstant) -> Beginning {
        switch state.machine.triggered(at: now) {
        case .start:
            disarm(&state)
            // Detached: the trigger may come from a request with its own deadline, or from the handler of another
            // queue.
            let flight = Task.detached(
                executorPreference: pipeline.timeBase.taskExecutor, priority: Task.currentPriority
            ) { try await self.fly() }
            state.flight = flight
            return .flight(flight, isJoined: false)
        case .join:
            // While the machine is flushing, there is a flight.
            return .flight(state.flight!, isJoined: true)
        case .paused(let until):
            return .paused(until: until)
        case .clearing:
            return .clearing
        case .stopped:
            return .stopped
        }
    }

    private func fly() async throws -> FlushReport {
        try await withDiscardingTaskGroup(returning: Result<FlushReport, any Error>.self) { group in
            await self.fly(in: &group)
        }.get()
    }

    private func fly(in group: inout DiscardingTaskGroup) async -> Result<FlushReport, any Error> {
        var total = FlushReport()
        var failure: (any Error)?
        while true {
            let (action, waker) = nextAction()
            do {
                switch action {
                case .lock:
                    let lock = try await uncancelled { try await self.store.lock(for: self.id) }
                    change { $0.machine.locked(lock, at: $1) }
                case .unlock:
                    await store.unlock(for: id)
                    change { state, _ in state.machine.unlocked() }
                case .readPause:
                    try await readPause()
                case .keepPause(let length):
                    try await keepPause(length)
                case .draw(let backoff, let retry):
                    let delay = configuration.delay(of: backoff, beforeRetry: retry)
                    change { $0.machine.drawn(delay, at: $1) }
                case .look(let position):
                    let (found, dueIn) = try await heads(after: position, limit: configuration.pageSize)
                    change { $0.machine.found(found.heads, urgent: found.urgent, dueIn: dueIn, at: $1) }
                case .apply(let changes, let positions):
                    let limits = deadLimits
                    let applied = try await uncancelled {
                        try await self.store.apply(changes, claiming: positions, keeping: limits, at: self.date)
                    }
                    let claimed = applied.claimed
                    let requests = change { state, now in
                        // A mutation that was dropped may have blocked its lane.
                        if !applied.dropped.isEmpty { state.machine.revived() }
                        if applied.hasOtherPause { state.machine.otherPause() }
                        return state.machine.applied(claimed.map { LaneHead($0) }, at: now)
                    }
                    for id in applied.dropped { tell(.dropped(id: id)) }
                    let mutations = Dictionary(claimed.map { ($0.position, $0.mutation) }) { first, _ in first }
                    for request in requests { send(request, of: mutations, in: &group) }
                case .check:
                    await checkHealth()
                case .countPending:
                    let rest = try await rest()
                    change { $0.machine.counted(rest, at: $1) }
                case .wait(let instant):
                    await wait(waker, until: instant)
                case .end(let end):
                    let round = change { $0.roundEnded(end, at: $1) }
                    total.add(round.report)
                    if round.after == .again { continue }
                    if case .lockedOut = round.report.end, store.isShared, round.hearsOfOthers, total.requests == 0 {
                        tellWatchers()
                    } else {
                        goOn(round.after)
                    }
                    return .success(total)
                case .fail:
                    goOn(change { state, _ in state.flightFailed(failure) })
                    return failure.map { .failure($0) } ?? .success(total)
                }
            } catch {
                // The first error ends the flight.
                failure = failure ?? error
                change { $0.machine.storeFailed("\(error)", at: $1) }
            }
        }
    }

    /// - Returns: The heads, and the remaining wait of the next mutation that waits for its date; nil if there is none.
    private func heads(after position: Int64, limit: Int) async throws -> (LaneHeads, dueIn: Duration?) {
        let date = dueDate
        let found = try await uncancelled { try await self.store.heads(after: position, limit: limit, at: date) }
        return (found, found.nextDue.map { $0.time(since: date) })
    }

    private func rest() async throws -> SyncStateMachine.Rest {
        try await uncancelled {
            var rest = SyncStateMachine.Rest(pending: try await self.store.totals().pending)
            guard rest.pending > 0 else { return rest }
            // Dead mutations may block lanes, regardless of this queue's rule.
            let (found, dueIn) = try await self.heads(after: .min, limit: 1)
            (rest.heads, rest.dueIn) = (max(found.heads.count, found.urgent.count), dueIn)
            // This look found all heads that this queue may send. Any others belong to another queue, or are locked.
            if rest.heads == 0 { rest.othersHaveHeads = try await self.store.othersHaveHeads() }
            return rest
        }
    }

    /// - Returns: The action, and the waiter for a wait.
    private func nextAction() -> (SyncStateMachine.Action, PolicyWaiter) {
        let (date, jump) = dateAndJump
        let oldest = configuration.maxAge.map { date.earlier(by: jump).earlier(by: $0) }
        let waker = PolicyWaiter()
        let action = change { state, now in
            state.waker = waker
            if Task.isCancelled { state.machine.cancelled() }
            return state.machine.next(at: now, oldest: oldest)
        }
        return (action, waker)
    }

    private var deadLimits: DeadLimits {
        var limits = configuration.dead
        limits.maxAge = limits.maxAge.map { min($0, .seconds(Int64.max)) + dateAndJump.jump }
        return limits
    }

    private func wait(_ waker: PolicyWaiter, until instant: MonotonicInstant) async {
        guard Task.isCancelled else {
            _ = await waker.wait(until: instant, on: pipeline.timeBase)
            return
        }
        // Requests in flight may still end.
        let timeBase = pipeline.timeBase
        _ = await Task(executorPreference: timeBase.taskExecutor) { await waker.wait(until: instant, on: timeBase) }
            .value
    }

    private func goOn(_ after: SyncStateMachine.After) {
        switch after {
        case .again, .rest(until: nil): break
        case .triggerAgain: trigger()
        case .rest(let instant?): arm(at: instant)
        }
        tellWatchers()
    }

    // MARK: The alarm

    /// Starts a flush at this instant, such as the end of a pause.
    private func arm(at instant: MonotonicInstant) {
        // Not under the lock, because a time base may at once fire a due alarm.
        let alarm = pipeline.timeBase.schedule(at: instant) { [weak self] in self?.trigger() }
        let stale = state.withLock { state -> TimeBaseAlarm? in
            // If a flight has begun since, it sets its own alarm.
            if state.flight != nil || state.machine.goesOnAt != instant { return alarm }
            defer { state.alarm = alarm }
            return state.alarm
        }
        if let stale { pipeline.timeBase.cancel(stale) }
    }

    func disarm(_ state: inout State) {
        if let alarm = state.alarm.take() { pipeline.timeBase.cancel(alarm) }
    }
}
