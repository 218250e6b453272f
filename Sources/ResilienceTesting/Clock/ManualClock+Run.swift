import Resilience

extension ManualClock {
    /// Runs `body`, and every task it starts, one step at a time on this thread.
    ///
    /// When all of them wait, time moves to the next sleeper. So an hour of retries takes no time, and two runs are
    /// identical.
    ///
    /// ```swift
    /// let result = try clock.run {
    ///     try await pipeline.run { try await fetch() }
    /// }
    /// #expect(clock.now == start + .seconds(7))
    /// ```
    ///
    /// With a `seed`, the next step is chosen at random from the ready steps. A test that loops over seeds tries a
    /// different interleaving for each, and can repeat it.
    ///
    /// The run consists of the body's task, its children, every `Task` and `Task.detached` that one of them starts,
    /// actors without an executor of their own, and the tasks that policies make. The run ends only their waits for
    /// this clock and for each other: a task that waits for the network, another clock, the main actor or another
    /// thread can't be part of it. The repository's guide "Testing code that uses policies" shows substitutes.
    ///
    /// - Parameters:
    ///   - seed: Chooses the next of several ready steps; nil, the default, takes them in order.
    ///   - maxSteps: How many steps the run may take before it throws ``RunFailure/noEnd(steps:)``. 10 million by
    ///     default.
    ///   - body: The code to run. When it has returned, the run is over as soon as no task is ready. Tasks that still
    ///     wait continue as ordinary tasks when they are resumed.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`; ``RunFailure`` if the run was given up.
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
        return try GlobalExecutorHook.during(executor) {
            for _ in 0..<maxSteps {
                if executor.step() || resumeIdlers() { continue }
                if let result = result.withLock({ $0 }) { return try result.get() }
                if !advanceToNextSleeper() { throw giveUp(.everybodyWaits, task, executor) }
            }
            throw giveUp(.noEnd(steps: maxSteps), task, executor)
        }
    }

    private func giveUp(_ failure: RunFailure, _ task: Task<Void, Never>, _ executor: SteppedExecutor) -> RunFailure {
        task.cancel()
        // Enough steps for tasks that react to cancellation.
        for _ in 0..<10_000 where !executor.step() { break }
        executor.abandon()
        return failure
    }

    /// Waits until every other task of the ``run(seed:maxSteps:_:)`` waits.
    ///
    /// Moves no time.
    ///
    /// ```swift
    /// try clock.run {
    ///     async let result = pipeline.run { try await fetch() }
    ///     // The call waits for its second attempt.
    ///     await clock.runUntilIdle()
    ///     #expect(clock.sleepers == [clock.now + .seconds(1)])
    ///     breaker.reset()
    ///     _ = try await result
    /// }
    /// ```
    public nonisolated(nonsending) func runUntilIdle() async {
        precondition(taskExecutor != nil, "ManualClock: runUntilIdle() is for the body of run(_:)")
        await withCheckedContinuation { addIdler($0) }
    }

    /// Why a ``run(seed:maxSteps:_:)`` was given up.
    ///
    /// Its body was cancelled. Tasks of the run that the cancellation did not end never continue.
    public enum RunFailure: Error, Hashable, CustomStringConvertible {
        /// Every task waits, and none of them for this clock.
        case everybodyWaits
        /// A task was still ready after this many steps.
        case noEnd(steps: Int)

        public var description: String {
            switch self {
            case .everybodyWaits:
                """
                Every task of the run waits, and none of them for this clock, so nothing in the run can wake one. Look for \
                a wait that nobody ends: a continuation that is never resumed, a ScriptedOperation that holds its calls, a \
                stream without an element. Or for a wait that ends outside of the run: on the network; on another clock \
                (Task.sleep, ContinuousClock, a policy or pipeline made without `timeBase: clock`); on the main actor, or an \
                actor or task with an executor of its own; on a database, whose calls run on its own threads (GRDB); on a \
                DispatchQueue. Docs/TestingCodeThatUsesPolicies.md says what to put in its place.
                """
            case .noEnd(let steps):
                """
                A task was still ready after \(steps) steps. Look for a loop without an end: a retry without a limit, or a \
                task that asks again and again whether something has happened. If the test needs more steps, raise `maxSteps`.
                """
            }
        }
    }
}
