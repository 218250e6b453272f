import Resilience

/// Reads a stored status, such as a queue's: reading may fail or hang.
///
/// At most one reading is in progress. Further reports join that reading, so that a store that never answers costs one
/// task, not one for each report.
final class StatusProbe: Sendable {
    enum Outcome: Sendable {
        case status(any PolicyStatusDetail)
        case failed(String)
    }

    struct Answer: Sendable {
        let outcome: Outcome
        let time: MonotonicInstant
    }

    private struct State {
        var reading: Reading?
        var last: Answer?
        /// Whether a reading was late, and no reading has ended since.
        var isLate = false
    }

    let source: any StoredStatusReporting
    private let state = Locked(State())

    init(_ source: any StoredStatusReporting) { self.source = source }

    var timeBase: any TimeBase { source.clock }

    /// One reading, and its waiting tasks.
    final class Reading: Sendable {
        private struct State {
            var answer: Answer?
            var waiters: [PolicyWaiter] = []
        }

        private let state = Locked(State())

        func end(_ answer: Answer) {
            let waiters = state.withLock { state in
                state.answer = answer
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter.resume() }
        }

        /// - Returns: The answer; nil if none has come by the deadline, or if the task is cancelled before.
        nonisolated(nonsending) func answer(until deadline: MonotonicInstant, on timeBase: any TimeBase) async
            -> Answer?
        {
            let waiter = PolicyWaiter()
            let answer = state.withLock { state in
                if state.answer == nil { state.waiters.append(waiter) }
                return state.answer
            }
            if let answer { return answer }
            _ = await waiter.wait(until: deadline, on: timeBase)
            return state.withLock { state in
                state.waiters.removeAll { $0 === waiter }
                return state.answer
            }
        }
    }

    /// Begins a reading, or joins the one in progress.
    func begin() -> Reading {
        let (reading, isNew) = state.withLock { state in
            if let reading = state.reading { return (reading, false) }
            let reading = Reading()
            state.reading = reading
            return (reading, true)
        }
        guard isNew else { return reading }
        // Detached: other tasks join this reading, so it must neither end at the deadline of the task that began it,
        // nor be part of that task's trace.
        Task.detached(executorPreference: timeBase.taskExecutor) { [self] in
            var outcome: Outcome
            do {
                outcome = .status(try await source.readStatus())
            } catch {
                outcome = .failed("the store failed: \(error)")
            }
            let answer = Answer(outcome: outcome, time: timeBase.now)
            state.withLock { state in
                state.reading = nil
                state.last = answer
                state.isLate = false
            }
            reading.end(answer)
        }
        return reading
    }

    /// Waits for a reading.
    /// - Parameters:
    ///   - reading: The reading.
    ///   - start: When the wait began.
    ///   - limit: How long the store has to answer.
    ///   - patience: How long to wait if the last answer is no older than the limit, or if the store is known to be
    ///     late.
    nonisolated(nonsending) func outcome(
        _ reading: Reading, since start: MonotonicInstant, limit: Duration, patience: Duration
    ) async -> Outcome {
        let (last, isLate) = state.withLock { ($0.last, $0.isLate) }
        let recent = last.flatMap { $0.time.duration(to: start) <= limit ? $0 : nil }
        let wait = recent != nil || isLate ? min(patience, limit) : limit
        if let answer = await reading.answer(until: start + wait, on: timeBase) ?? recent { return answer.outcome }
        if Task.isCancelled { return .failed("the report was cancelled before the store answered") }
        state.withLock { $0.isLate = $0.reading != nil }
        return .failed("the store did not answer within \(limit.text)")
    }
}
