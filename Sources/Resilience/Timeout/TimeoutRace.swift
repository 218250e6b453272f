/// One call under a timeout: its child task, and who ended it.
final class TimeoutRace: Sendable {
    private struct State {
        var machine = TimeoutStateMachine.running
        var task: Task<Verdict, any Error>?
    }

    private let expiry: Instant
    /// The inside's.
    private let deadline: Instant
    private let timeBase: any TimeBase
    private let state = Locked(State())

    init(expiry: Instant, deadline: Instant, timeBase: any TimeBase) {
        self.expiry = expiry
        self.deadline = deadline
        self.timeBase = timeBase
    }

    /// Whether the limit passed before anything else happened.
    var timedOut: Bool { state.withLock { $0.machine == .expired } }

    func run(
        _ inside: nonisolated(nonsending) (_ deadline: Instant) async throws -> Verdict,
        isolation: isolated (any Actor)?
    ) async throws -> Verdict {
        let callerWasCancelled = Task.isCancelled
        return try await withoutActuallyEscaping(inside) { inside in
            // Safe: the child runs in the caller's isolation, and the caller does nothing until the child has ended; the
            // two never touch at the same time what the closure captured.
            nonisolated(unsafe) let inside = inside
            let task: Task<Verdict, any Error>
            if #available(macOS 26, macCatalyst 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
                // Runs right here up to its first suspension; what never suspends has ended when this returns.
                task = Task.immediate {
                    _ = isolation
                    return try await self.child(callerWasCancelled, inside)
                }
            } else {
                task = Task {
                    _ = isolation
                    return try await self.child(callerWasCancelled, inside)
                }
            }
            guard began(task) else { return try await task.value }
            let alarm = timeBase.schedule(at: expiry) { self.end { $0.limitPassed() } }
            defer { timeBase.cancel(alarm) }
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                self.end { $0.callerCancelled() }
            }
        }
    }

    private nonisolated(nonsending) func child(
        _ callerWasCancelled: Bool, _ inside: nonisolated(nonsending) (_ deadline: Instant) async throws -> Verdict
    ) async throws -> Verdict {
        // The caller's cancellation reaches a task of its own only by hand.
        if callerWasCancelled { withUnsafeCurrentTask { $0?.cancel() } }
        defer { state.withLock { $0.machine.insideEnded() } }
        return try await inside(deadline)
    }

    /// Keeps the task for whoever ends it; false if it has ended already.
    private func began(_ task: Task<Verdict, any Error>) -> Bool {
        state.withLock { state in
            guard state.machine != .ended else { return false }
            state.task = task
            return true
        }
    }

    private func end(_ input: @Sendable (inout TimeoutStateMachine) -> TimeoutStateMachine.Answer) {
        let task = state.withLock { input(&$0.machine) == .cancelInside ? $0.task : nil }
        task?.cancel()
    }
}
