public import Resilience

/// The calls that wait for a flight, and its task: what needs to know neither its key nor its result.
@usableFromInline final class FlightCalls: Sendable {
    /// How a call's wait has ended.
    @usableFromInline enum End: Sendable {
        case landed
        /// The call's deadline came before.
        case expired
        /// The call was cancelled before.
        case cancelled
    }

    private struct State {
        var hasLanded = false
        /// That of the call that begins the flight. Few have others, which need a dictionary.
        var first: PolicyWaiter?
        var others: [ObjectIdentifier: PolicyWaiter] = [:]
        var task: Task<Void, Never>?
        /// The highest of those who have waited.
        var priority: TaskPriority
    }

    let path = FlightPath()
    /// What its operation has for an origin, so that all who wait learn what was tried.
    private let origin = CallOrigin.shared
    @usableFromInline let firstPriority: TaskPriority
    private let state: Locked<State>

    @usableFromInline init(priority: TaskPriority, first waiter: PolicyWaiter) {
        firstPriority = priority
        state = Locked(State(first: waiter, priority: priority))
    }

    /// Whether the current task is part of the flight.
    @usableFromInline var areAskedFromInside: Bool { path.isCurrent }

    /// The operation's task begins. The call that begins the flight waits only after this.
    @usableFromInline func keep(_ task: Task<Void, Never>) {
        let raised = state.withLock { state in
            state.task = task
            return state.priority
        }
        if raised > firstPriority { task.raise(to: raised) }
    }

    /// Runs the operation, with what it may know of its calls.
    @usableFromInline nonisolated(nonsending) func inFlight(
        _ body: nonisolated(nonsending) () async -> Void
    ) async {
        // Most have neither, and each of these is an async function more.
        if origin == nil, CallDeadline.current == nil { return await path.run(body) }
        await CallDeadline.lifting { await CallOrigin.within(origin) { await path.run(body) } }
    }

    /// One more call waits, or is resumed at once.
    @usableFromInline func add(_ waiter: PolicyWaiter) {
        let hasLanded = state.withLock { state in
            if !state.hasLanded { state.others[ObjectIdentifier(waiter)] = waiter }
            return state.hasLanded
        }
        if hasLanded { waiter.resume() }
    }

    /// Waits for the flight's end, by the waiter of one of its calls.
    @usableFromInline nonisolated(nonsending) func wait(
        by waiter: PolicyWaiter, until deadline: MonotonicInstant, on timeBase: any TimeBase
    ) async -> End {
        let wake = await waiter.wait(until: deadline, on: timeBase, raising: { self.raise(to: $0) })
        let hasLanded = state.withLock { state in
            if state.first === waiter { state.first = nil } else { state.others[ObjectIdentifier(waiter)] = nil }
            return state.hasLanded
        }
        if origin?.hasRetried == true { CallOrigin.current?.noteRetried() }
        return hasLanded ? .landed : wake == .expired ? .expired : .cancelled
    }

    /// The result is there.
    @usableFromInline func landed() {
        let (first, others) = state.withLock { state in
            state.hasLanded = true
            defer { state.others = [:] }
            return (state.first.take(), state.others)
        }
        first?.resume()
        for waiter in others.values { waiter.resume() }
    }

    /// A call that waits has this priority.
    private func raise(to priority: TaskPriority) {
        let task: Task<Void, Never>? = state.withLock { state in
            guard priority > state.priority else { return nil }
            state.priority = priority
            return state.task
        }
        task?.raise(to: priority)
    }

    /// Nobody waits any more.
    @usableFromInline func cancel(on executor: (any TaskExecutor)?) {
        state.withLock { $0.task }?.cancel(on: executor)
    }
}
