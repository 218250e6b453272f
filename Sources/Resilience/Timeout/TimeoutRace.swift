/// Who ended one call under a timeout: the state machine, for several threads, and the task to cancel.
final class TimeoutRace: Sendable {
    private struct State {
        var machine = TimeoutStateMachine.running
        /// The inside's task; nil before it runs.
        var task: TaskReference?
        /// Keeps it.
        var handle: Task<Verdict, any Error>?
    }

    /// A task as it knows itself. Its own handle exists only when its first step, which may take long, is over.
    ///
    /// Safe: of a task other than the current one only `cancel()` is used, which may come from anywhere. And it exists as
    /// long as the race: while it runs its first step by itself, from then on by its handle.
    private struct TaskReference: @unchecked Sendable {
        let task: UnsafeCurrentTask
    }

    private let state = Locked(State())

    var machine: TimeoutStateMachine { state.withLock { $0.machine } }

    /// Called in the inside's task, before anything else.
    func insideBegan() {
        withUnsafeCurrentTask { task in
            guard let reference = task.map(TaskReference.init) else { return }
            let isOver = state.withLock { state in
                state.task = reference
                return state.machine != .running
            }
            if isOver { reference.task.cancel() }
        }
    }

    func insideEnded() { state.withLock { $0.machine.insideEnded() } }

    func keep(_ handle: Task<Verdict, any Error>) { state.withLock { $0.handle = handle } }

    /// - Returns: whether this is what ended it: the inside is cancelled.
    @discardableResult
    func limitPassed() -> Bool { cancelInside { $0.limitPassed() } }

    /// - Returns: whether this is what ended it: the inside is cancelled.
    @discardableResult
    func callerCancelled() -> Bool { cancelInside { $0.callerCancelled() } }

    private func cancelInside(if input: (inout TimeoutStateMachine) -> TimeoutStateMachine.Answer) -> Bool {
        let (answer, task) = state.withLock { (input(&$0.machine), $0.task) }
        guard answer == .cancelInside else { return false }
        task?.task.cancel()
        return true
    }
}
