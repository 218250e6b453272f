public import Resilience
import Synchronization

/// One run of an operation, its task, and the calls that wait for its result. It does not know its key or the type of
/// its result.
@usableFromInline final class Flight: Sendable {
    /// The operation's result, as a ``FlightValue``, or its error.
    @usableFromInline typealias Landing = Result<any AnyObject & Sendable, any Error>

    /// How a call's wait has ended.
    @usableFromInline enum End: Sendable {
        case landed(Landing)
        /// The call's deadline came first.
        case expired
        /// The call was cancelled first.
        case cancelled
    }

    private struct State {
        var landing: Landing?
        /// The waiter of the call that begins the flight. Only further waiters need a dictionary.
        var first: PolicyWaiter?
        var others: [ObjectIdentifier: PolicyWaiter] = [:]
        var task: Task<Void, Never>?
        /// The highest priority of its calls so far.
        var priority: TaskPriority
    }

    /// The origin of the flight's operation, so that all its calls learn of the operation's retries.
    private let origin = CallOrigin.shared
    private let firstPriority: TaskPriority
    private let state: Locked<State>
    private let hasEnded = Atomic(false)

    /// - Parameters:
    ///   - priority: The priority of the call that begins the flight.
    ///   - waiter: That call's waiter.
    @usableFromInline init(priority: TaskPriority, first waiter: PolicyWaiter) {
        firstPriority = priority
        state = Locked(State(first: waiter, priority: priority))
    }

    /// Whether the current task is part of the flight.
    @usableFromInline var isCurrent: Bool { FlightPath.current.contains { $0 === self } }

    /// Keeps the operation's task. The call that begins the flight waits only after this.
    @usableFromInline func keep(_ task: Task<Void, Never>) {
        let raised = state.withLock { state in
            state.task = task
            return state.priority
        }
        if raised > firstPriority { task.raise(to: raised) }
    }

    /// Runs the operation with the flight's path and origin, and without a deadline.
    @usableFromInline nonisolated(nonsending) func run(_ body: nonisolated(nonsending) () async -> Void) async {
        defer { hasEnded.store(true, ordering: .relaxed) }
        // A task that outlives its flight keeps the path. If each such task began the next flight, the path would grow
        // for ever.
        let outer = FlightPath.current
        let path = outer.isEmpty ? [self] : outer.filter { !$0.hasEnded.load(ordering: .relaxed) } + [self]
        // Each wrapper below adds an async function, and few calls have a deadline or an origin.
        if origin == nil, CallDeadline.current == nil {
            return await FlightPath.$current.withValue(path) { await body() }
        }
        await CallDeadline.lifting {
            await CallOrigin.within(origin) { await FlightPath.$current.withValue(path) { await body() } }
        }
    }

    /// Adds the waiter of a further call, or resumes it if the operation has ended.
    @usableFromInline func add(_ waiter: PolicyWaiter) {
        let hasLanded = state.withLock { state in
            if state.landing == nil { state.others[ObjectIdentifier(waiter)] = waiter }
            return state.landing != nil
        }
        if hasLanded { waiter.resume() }
    }

    /// Waits for the flight's end, with the waiter of one of its calls.
    @usableFromInline nonisolated(nonsending) func wait(
        by waiter: PolicyWaiter, until deadline: MonotonicInstant, on timeBase: any TimeBase
    ) async -> End {
        let wake = await waiter.wait(until: deadline, on: timeBase, raising: { self.raise(to: $0) })
        let landing = state.withLock { state in
            if state.first === waiter { state.first = nil } else { state.others[ObjectIdentifier(waiter)] = nil }
            return state.landing
        }
        if origin?.hasRetried == true { CallOrigin.current?.noteRetried() }
        guard let landing else { return wake == .expired ? .expired : .cancelled }
        return .landed(landing)
    }

    /// The operation has ended, with waiting calls.
    @usableFromInline func land(_ landing: Landing) {
        let (first, others) = state.withLock { state in
            state.landing = landing
            defer { state.others = [:] }
            return (state.first.take(), state.others)
        }
        first?.resume()
        for waiter in others.values { waiter.resume() }
    }

    /// Raises the operation to a waiting call's priority.
    private func raise(to priority: TaskPriority) {
        let task: Task<Void, Never>? = state.withLock { state in
            guard priority > state.priority else { return nil }
            state.priority = priority
            return state.task
        }
        task?.raise(to: priority)
    }

    /// No call waits any more.
    @usableFromInline func cancel(on executor: (any TaskExecutor)?) {
        state.withLock { $0.task }?.cancel(on: executor)
    }
}

/// The result of a flight's operation.
@usableFromInline final class FlightValue<Value: Sendable>: Sendable {
    @usableFromInline let value: Value

    @inlinable init(_ value: Value) { self.value = value }
}
