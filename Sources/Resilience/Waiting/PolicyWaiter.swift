/// One wait of one task.
///
/// The wait ends once: by the policy, at its deadline or by cancellation, whichever comes first.
///
/// A policy that parks a call returns a waiter and keeps it; ``resume()`` lets the call continue. The policy may resume
/// it before the task has begun to wait, and more than once.
public final class PolicyWaiter: Sendable {
    /// How a wait ended.
    package enum Wake: Sendable, Equatable {
        /// The policy resumed it.
        case resumed
        /// The deadline of the wait came.
        case expired
        /// The waiting task was cancelled.
        case cancelled
    }

    private enum State {
        case idle
        case waiting(CheckedContinuation<Wake, Never>)
        case watched(WaitWatcher)
        case ended(Wake)
    }

    private let state = Locked(State.idle)
    /// When the policy will probably let the call continue, for callers that can't wait; nil if unknown.
    package let turn: MonotonicInstant?

    /// Creates a waiter for one wait.
    public init() { turn = nil }

    package init(turn: MonotonicInstant?) { self.turn = turn }

    /// Ends the wait: the pipeline asks the policy again.
    ///
    /// Does nothing if the wait has ended.
    public func resume() { end(.resumed) }

    package func end(_ wake: Wake) {
        let before = state.withLock { state in
            let before = state
            if case .ended = state {} else { state = .ended(wake) }
            return before
        }
        switch before {
        case .waiting(let continuation): continuation.resume(returning: wake)
        case .watched(let watcher): watcher.waitEnded(wake)
        case .idle, .ended: break
        }
    }

    /// Tells `watcher` once how the wait ended, at once if it has ended: for a wait without a task.
    package func tell(_ watcher: WaitWatcher) {
        let ended: Wake? = state.withLock { state in
            if case .ended(let wake) = state { return wake }
            state = .watched(watcher)
            return nil
        }
        if let ended { watcher.waitEnded(ended) }
    }

    /// Suspends until the wait ends: by ``resume()``, at `deadline` on `timeBase`, or by the task's cancellation.
    package nonisolated(nonsending) func wait(until deadline: MonotonicInstant, on timeBase: any TimeBase) async -> Wake
    {
        await suspend(until: deadline, on: timeBase)
    }

    @inline(__always) private nonisolated(nonsending) func suspend(
        until deadline: MonotonicInstant, on timeBase: any TimeBase
    ) async -> Wake {
        let alarm: TimeBaseAlarm? =
            deadline == .distantFuture ? nil : timeBase.schedule(at: deadline) { self.end(.expired) }
        let wake = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ended: Wake? = state.withLock { state in
                    if case .ended(let wake) = state { return wake }
                    state = .waiting(continuation)
                    return nil
                }
                if let ended { continuation.resume(returning: ended) }
            }
        } onCancel: {
            end(.cancelled)
        }
        if let alarm, wake != .expired { timeBase.cancel(alarm) }
        return wake
    }

    /// Suspends as ``wait(until:on:)`` does, and reports the waiting task's priority, now and whenever it is raised,
    /// where the system supports that.
    package nonisolated(nonsending) func wait(
        until deadline: MonotonicInstant, on timeBase: any TimeBase,
        raising: @escaping @Sendable (TaskPriority) -> Void
    ) async -> Wake {
        guard #available(macOS 26, macCatalyst 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
            return await wait(until: deadline, on: timeBase)
        }
        return await withTaskPriorityEscalationHandler {
            // The priority may have been raised before the handler was set.
            raising(Task.currentPriority)
            return await suspend(until: deadline, on: timeBase)
        } onPriorityEscalated: { _, priority in
            raising(priority)
        }
    }
}

/// What is told the end of a wait without a task. A reference to it is one word, so that other waiters do not grow.
package final class WaitWatcher: Sendable {
    let waitEnded: @Sendable (PolicyWaiter.Wake) -> Void

    /// - Parameter waitEnded: Must not block, and not call the policy.
    package init(_ waitEnded: @escaping @Sendable (PolicyWaiter.Wake) -> Void) { self.waitEnded = waitEnded }
}
