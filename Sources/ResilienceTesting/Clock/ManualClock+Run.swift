import Resilience

extension ManualClock {
    /// Runs `body`, and every task it starts, one step at a time on this thread. When all of them wait, time moves to the
    /// next sleeper: an hour of retries takes no time, and two runs are alike.
    ///
    /// ```swift
    /// let result = try clock.run {
    ///     try await pipeline.run { try await fetch() }
    /// }
    /// #expect(clock.now == start + .seconds(7))
    /// ```
    ///
    /// With a `seed`, of the steps that are ready a random one is next: a test that loops over seeds tries that many
    /// interleavings, and can repeat each.
    ///
    /// It is for tasks whose waits this clock ends, or other tasks of the run. What waits for anything else, such as the
    /// network, another clock, the main actor or a detached task, waits for ever.
    ///
    /// - Parameters:
    ///   - maxSteps: more than this, and the run has no end.
    ///   - body: when it has returned, the run is over as soon as no task is ready. Others that still wait go on as ordinary
    ///     tasks when they are woken.
    /// - Returns: what `body` returned.
    /// - Throws: what `body` threw; ``RunFailure``.
    public func run<R: Sendable>(
        seed: UInt64? = nil, maxSteps: Int = 10_000_000, _ body: @escaping @Sendable () async throws -> R
    ) throws -> R {
        let executor = SteppedExecutor(seed: seed)
        begin(executor)
        defer { end(executor) }
        let result = Locked<Result<R, any Error>?>(nil)
        let task = Task(executorPreference: executor) {
            do {
                let value = try await body()
                result.withLock { $0 = .success(value) }
            } catch {
                result.withLock { $0 = .failure(error) }
            }
        }
        for _ in 0..<maxSteps {
            if executor.step() || resumeIdlers() { continue }
            if let result = result.withLock({ $0 }) { return try result.get() }
            if !advanceToNextSleeper() { throw giveUp(.everybodyWaits, task, executor) }
        }
        throw giveUp(.noEnd(steps: maxSteps), task, executor)
    }

    private func giveUp(_ failure: RunFailure, _ task: Task<Void, Never>, _ executor: SteppedExecutor) -> RunFailure {
        task.cancel()
        // Enough for tasks that heed it.
        for _ in 0..<10_000 where !executor.step() { break }
        executor.abandon()
        return failure
    }

    /// Returns once every other task of the ``run(seed:maxSteps:_:)`` waits. Moves no time.
    ///
    /// ```swift
    /// try clock.run {
    ///     async let result = pipeline.run { try await fetch() }
    ///     await clock.runUntilIdle()                          // the call waits for its second attempt
    ///     #expect(clock.sleepers == [clock.now + .seconds(1)])
    ///     breaker.reset()
    ///     _ = try await result
    /// }
    /// ```
    public nonisolated(nonsending) func runUntilIdle() async {
        precondition(taskExecutor != nil, "ManualClock: runUntilIdle() is for the body of run(_:)")
        await withCheckedContinuation { addIdler($0) }
    }

    /// Why a ``run(seed:maxSteps:_:)`` was given up. Its body was cancelled; what did not end then never goes on.
    public enum RunFailure: Error, Hashable, CustomStringConvertible {
        /// No task is ready, and none sleeps: nothing will ever wake one.
        case everybodyWaits
        /// It went on and on.
        case noEnd(steps: Int)

        public var description: String {
            switch self {
            case .everybodyWaits: "Every task waits, and none for this clock: nothing will wake them."
            case .noEnd(let steps): "There was no end after \(steps) steps."
            }
        }
    }
}
