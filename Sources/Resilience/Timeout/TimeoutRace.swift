import Synchronization

extension TimeoutRace {
    /// The limit passed before the inside ended, which then threw this.
    struct Expired: Error {
        let underlying: any Error
    }

    /// Runs `inside` in a child task, and cancels it at `expiry`, or when the caller is cancelled.
    /// - Throws: ``Expired``; what the inside threw, if it was not for the limit.
    static func run(
        until expiry: MonotonicInstant, on timeBase: any TimeBase, isolation: isolated (any Actor)?,
        _ inside: nonisolated(nonsending) () async throws -> Verdict
    ) async throws -> Verdict {
        let race = TimeoutRace()
        // Both before the inside begins: its first step may be all of it, and take for ever.
        let alarm = timeBase.schedule(at: expiry) { race.limitPassed() }
        defer { timeBase.cancel(alarm) }
        do {
            return try await withoutActuallyEscaping(inside) { inside in
                // Safe: the child runs in the caller's isolation, and the caller does nothing until the child has ended;
                // the two never touch at the same time what the closure captured.
                nonisolated(unsafe) let inside = inside
                return try await withTaskCancellationHandler {
                    let child = Task<Verdict, any Error>.startingHere(on: timeBase.executorForTasks) {
                        _ = isolation
                        race.insideBegan()
                        defer { race.insideEnded() }
                        return try await inside()
                    }
                    race.keep(child)
                    return try await child.value
                } onCancel: {
                    race.callerCancelled()
                }
            }
        } catch let error where race.machine == .expired {
            throw Expired(underlying: error)
        }
    }
}

extension Task where Failure == any Error {
    /// A task that runs right here up to its first suspension, where the system can do that: what never suspends has ended
    /// when this returns. Elsewhere an ordinary task.
    ///
    /// The attribute lets the closure keep its caller's isolation, as it would if it were handed to `Task` itself.
    @inline(__always) fileprivate static func startingHere(
        on executor: (any TaskExecutor)?,
        @_inheritActorContext _ operation: sending @escaping @isolated(any) () async throws -> Success
    ) -> Task {
        if #available(macOS 26, macCatalyst 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            Task.immediate(executorPreference: executor, operation: operation)
        } else {
            Task(executorPreference: executor, operation: operation)
        }
    }
}

/// Who ended one call under a timeout: the state machine, for several threads, and the task to cancel.
final class TimeoutRace: Sendable {
    private let state = Atomic(TimeoutStateMachine.running)
    /// The inside's task as it knows itself; 0 before it runs. Its handle exists only when its first step, which may take
    /// long, is over.
    private let task = Atomic<UInt>(0)
    /// Keeps the task for who may still cancel it. Safe: set once, by the caller's thread, and only let go of after that.
    nonisolated(unsafe) private var handle: Task<Verdict, any Error>?

    var machine: TimeoutStateMachine { state.load(ordering: .acquiring) }

    /// Called in the inside's task, before anything else.
    func insideBegan() {
        withUnsafeCurrentTask { current in
            // As a word, for the atomic; `cancelTask()` says why it may be taken back.
            task.store(unsafeBitCast(current, to: UInt.self), ordering: .sequentiallyConsistent)
        }
        // Who ended it before could not see the task, and who does from now on can.
        if state.load(ordering: .sequentiallyConsistent) != .running { cancelTask() }
    }

    func insideEnded() { apply { $0.insideEnded() } }

    func keep(_ handle: Task<Verdict, any Error>) { self.handle = handle }

    /// - Returns: whether this is what ended it: the inside is cancelled.
    @discardableResult
    func limitPassed() -> Bool { cancelInside { $0.limitPassed() } }

    /// - Returns: whether this is what ended it: the inside is cancelled.
    @discardableResult
    func callerCancelled() -> Bool { cancelInside { $0.callerCancelled() } }

    private func cancelInside(if input: (inout TimeoutStateMachine) -> TimeoutStateMachine.Answer) -> Bool {
        guard apply(input) == .cancelInside else { return false }
        cancelTask()
        return true
    }

    private func cancelTask() {
        let task = task.load(ordering: .sequentiallyConsistent)
        // Safe: of a task other than the current one only `cancel()` is used, which may come from anywhere. And it exists
        // as long as the race: while it runs its first step by itself, from then on by its handle.
        unsafeBitCast(task, to: UnsafeCurrentTask?.self)?.cancel()
    }

    /// One input of the machine, as one step for all threads.
    private func apply<Answer>(_ input: (inout TimeoutStateMachine) -> Answer) -> Answer {
        var old = state.load(ordering: .sequentiallyConsistent)
        while true {
            var machine = old
            let answer = input(&machine)
            let (done, current) = state.compareExchange(
                expected: old, desired: machine, ordering: .sequentiallyConsistent)
            if done { return answer }
            old = current
        }
    }
}

extension TimeoutStateMachine: AtomicRepresentable {}
