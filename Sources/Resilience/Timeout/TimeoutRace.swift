import Synchronization

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
