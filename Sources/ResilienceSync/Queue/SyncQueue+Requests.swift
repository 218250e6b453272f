import Resilience

/// Requests: each sends mutations of one kind through the pipeline, in its own task.
extension SyncQueue {
    func send(
        _ request: SyncStateMachine.Request, of claimed: [Int64: Mutation], in group: inout DiscardingTaskGroup
    ) {
        let mutations = request.mutations.compactMap { claimed[$0.position] }
        group.addTask(executorPreference: pipeline.timeBase.taskExecutor) {
            let origin = Origin(queue: self, request: request.id)
            let result = await Origin.$current.withValue(origin) { await self.result(of: mutations) }
            let (outcome, error) = self.judge(result)
            // The previous error is released outside of the lock.
            let (waker, _) = self.change { state, now in
                // Before the store changes: afterwards it no longer shows that the mutations were pending.
                state.touch(request.lanes)
                state.machine.requestEnded(request.id, outcome, at: now)
                return (state.waker.take(), state.noteLast(error))
            }
            waker?.resume()
        }
    }

    /// Repeatable: every mutation has an idempotency key, and all other requests only read.
    private var options: RunOptions { pipeline.options(RunOptions(), isRepeatable: true) }

    // MARK: Requests without a mutation

    /// The queue is paused, so nothing may be requested from the other side.
    struct Paused: Error { let until: MonotonicInstant }

    /// Makes a request through the pipeline. A 429 or a rejection pauses the queue, as if the request had carried a
    /// mutation.
    /// - Throws: ``Paused``, or the error of the body.
    func ask<R: Sendable>(_ body: @Sendable () async throws -> R) async throws -> R {
        if state.withLock({ $0.machine.flush.isStopped }) { throw SyncQueueError.stopped }
        if let pausedUntil { throw Paused(until: pausedUntil) }
        let sentAt = now
        do {
            let answer = try await pipeline.run(options: options) { try await body() }
            change { state, _ in state.machine.answered() }
            return answer
        } catch {
            let failure = failure(error)
            guard failure.isRefusal else { throw error }
            change { $0.machine.rejected(failure, sentAt: sentAt, at: $1) }
            // A flight turns the rejection or 429 into a pause, which may be over when the flight ends.
            _ = try await flush()
            try Task.checkCancellation()
            throw Paused(until: pausedUntil ?? now)
        }
    }

    /// Checks the other side's health, before a flight sends anything.
    func checkHealth() async {
        let sentAt = now
        var (failure, error) = (nil as SyncStateMachine.Failure?, nil as (any Error)?)
        do {
            try await pipeline.run(options: options) { try await self.configuration.healthCheck?() }
        } catch let thrown {
            (failure, error) = told(thrown)
        }
        _ = change { [failure, error] state, now in
            state.machine.checked(failure, sentAt: sentAt, at: now)
            return state.noteLast(error)
        }
    }

    /// Another queue may have the lanes of the claimed mutations, so this queue does not send them.
    struct LanesLost: Error, VerdictConvertible, CustomStringConvertible {
        var verdict: Verdict { .cancelled }
        var description: String { "Another queue may now have the mutation." }
    }

    private func result(of mutations: [Mutation]) async -> Result<[SyncHandler.ItemResult], any Error> {
        let kind = mutations[0].kind
        do {
            guard let handler = handlers[kind] ?? handlers[nil] else { throw NoHandler(kind: kind) }
            let judge = { (results: [SyncHandler.ItemResult]) in self.verdict(for: results) }
            return .success(
                try await pipeline.run(options: options, judging: judge) { _ in
                    guard self.store.maySend(for: self.id) else { throw LanesLost() }
                    let results = try await handler.send(mutations)
                    guard results.count == mutations.count else {
                        throw BatchResultsMismatch(kind: kind, mutations: mutations.count, results: results.count)
                    }
                    return results
                })
        } catch {
            return .failure(error)
        }
    }

    /// A batch is throttled if a mutation was throttled and no later mutation got through. It has failed if every
    /// mutation has a transient or uncertain verdict; if any got another answer, the other side works.
    private func verdict(for results: [SyncHandler.ItemResult]) -> Verdict {
        let verdicts = results.map { result in
            if case .failure(let error) = result { pipeline.verdict(for: error) } else { Verdict.success }
        }
        // The mutations count as if they were sent in order: a success after a 429 ends the series of 429s.
        let afterSuccesses = verdicts[(verdicts.lastIndex { $0.kind == .success }.map { $0 + 1 } ?? 0)...]
        if let throttled = afterSuccesses.first(where: { $0.kind == .throttled }) { return throttled }
        let isLost = verdicts.allSatisfy { $0.kind == .transient || $0.kind == .uncertain }
        return isLost ? verdicts.first ?? .success : .success
    }

    /// - Returns: The outcome, and the last error if there is any.
    private func judge(
        _ result: Result<[SyncHandler.ItemResult], any Error>
    ) -> (SyncStateMachine.Outcome, (any Error)?) {
        switch result {
        case .failure(let error):
            let (failure, error) = told(error)
            return (.failed(failure), error)
        case .success(let results):
            let errors = results.map { result in
                if case .failure(let error) = result { error } else { nil as (any Error)? }
            }
            return (.answered(errors.map { $0.map(failure) }), errors.compactMap(\.self).last)
        }
    }

    /// - Returns: The failure, and its error; nil if the request of a cancelled flight was cancelled.
    private func told(_ error: any Error) -> (SyncStateMachine.Failure, (any Error)?) {
        let failure = failure(error)
        return (failure, Task.isCancelled && failure.verdict.kind == .cancelled ? nil : error)
    }

    private func failure(_ error: any Error) -> SyncStateMachine.Failure {
        SyncStateMachine.Failure(
            verdict: pipeline.verdict(for: error), error: StoredMutation.bounded("\(error)"),
            isOffline: configuration.isOffline(error),
            rejectedFor: (error as? any Rejection)?.retryAfter, description: "\(FailureDetail(of: error))")
    }
}
