import Resilience

/// One run of an operation, its task, and the calls that wait for its result.
final class Flight<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var waiters: [ObjectIdentifier: PolicyWaiter] = [:]
        var task: Task<Void, Never>?
        /// The highest of those who have waited.
        var priority: TaskPriority
    }

    let path = FlightPath()
    /// What its operation has for an origin, so that all who wait learn what was tried.
    let origin = CallOrigin.shared
    private let first: TaskPriority
    private let state: Locked<State>

    /// - Parameter priority: That of the call that begins the flight.
    init(priority: TaskPriority) {
        first = priority
        state = Locked(State(priority: priority))
    }

    /// Runs the operation in a task. The call that begins the flight waits only after this.
    func launch(on executor: (any TaskExecutor)?, _ operation: @escaping @Sendable () async -> Void) {
        // Never on the caller's thread, not even for its first step, since that may block.
        let task = Task(executorPreference: executor, priority: first) { @concurrent in await operation() }
        let raised = state.withLock { state in
            state.task = task
            return state.priority
        }
        if raised > first { task.raise(to: raised) }
    }

    /// One more call waits, or has the result at once.
    func add(_ waiter: PolicyWaiter) {
        let hasLanded = state.withLock { state in
            if state.result == nil { state.waiters[ObjectIdentifier(waiter)] = waiter }
            return state.result != nil
        }
        if hasLanded { waiter.resume() }
    }

    /// A call waits no longer.
    /// - Returns: The result; nil if there is none yet.
    func remove(_ waiter: PolicyWaiter) -> Result<Value, any Error>? {
        state.withLock { state in
            state.waiters[ObjectIdentifier(waiter)] = nil
            return state.result
        }
    }

    /// The operation has ended.
    func land(_ result: Result<Value, any Error>) {
        let waiters = state.withLock { state in
            state.result = result
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume() }
    }

    /// A call that waits has this priority.
    func raise(to priority: TaskPriority) {
        let task: Task<Void, Never>? = state.withLock { state in
            guard priority > state.priority else { return nil }
            state.priority = priority
            return state.task
        }
        task?.raise(to: priority)
    }

    /// Nobody waits any more.
    func cancel(on executor: (any TaskExecutor)?) { state.withLock { $0.task }?.cancel(on: executor) }
}
