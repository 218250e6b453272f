public import Resilience

/// A time base and `Clock` that stands still until a test moves it: by hand, or by ``run(seed:maxSteps:_:)``.
///
/// ```swift
/// let clock = ManualClock()
/// let pipeline = Pipeline(timeBase: clock) {
///     Retry(maxRetries: 1, backoff: .constant(.seconds(5)))
/// }
/// async let result = pipeline.run { try await operation() }
/// await clock.waitForSleepers(1)          // the retry waits now, so
/// clock.advance(by: .seconds(5))          // it is safe to move time
/// try await result
/// ```
///
/// Pass it to policies as their `timeBase`, and to other code that waits as its `any Clock<Duration>`. Then both share
/// one time.
public final class ManualClock: TimeBase, Clock {
    struct State: Counted {
        var now: MonotonicInstant
        var alarms = AlarmQueue()
        /// Tasks that wait for a number of sleepers.
        var watchers = CountWaiters()
        /// The number of alarms set and of moves of time.
        var changes = 0
        /// Tasks that wait for a certain sleeper, and look again after every change.
        var changeWatchers = CountWaiters()
        var executor: SteppedExecutor?
        var idlers: [CheckedContinuation<Void, Never>] = []

        var count: Int { alarms.count }

        /// - Returns: The waiters to resume, outside the lock.
        mutating func change() -> [PolicyWaiter] {
            changes += 1
            return takeReached() + changeWatchers.remove(reached: changes)
        }
    }

    let state: Locked<State>

    /// Creates a clock that stands still.
    ///
    /// - Parameter start: The time on the clock at first. By default an hour after zero, so that a test can look back.
    public init(startingAt start: MonotonicInstant = MonotonicInstant(nanoseconds: 3_600_000_000_000)) {
        state = Locked(State(now: start))
    }

    /// The time on the clock.
    public var now: MonotonicInstant { state.withLock { $0.now } }

    public func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> TimeBaseAlarm {
        let (alarm, watchers, firesNow) = state.withLock { state in
            // An alarm that is already due also fires in a move of time, so waiters are woken in one place only. In a
            // run the move comes when all tasks wait, so that a task with a zero-length wait does not count as the end
            // of the run.
            let alarm = state.alarms.insert(at: deadline, AlarmAction(action))
            return (alarm, state.change(), deadline <= state.now && state.executor == nil)
        }
        for watcher in watchers { watcher.resume() }
        if firesNow { advance(by: .zero) }
        return alarm
    }

    public func cancel(_ alarm: TimeBaseAlarm) { _ = state.withLock { $0.alarms.remove(alarm) } }

    /// Moves time forward, and fires each alarm that falls due on the way, in order and at its own instant.
    ///
    /// - Parameter duration: How far to move; a negative duration does not move time.
    public func advance(by duration: Duration) { advance { $0 + duration } }

    /// Moves time forward to an instant, and fires each alarm that falls due on the way, in order and at its own
    /// instant.
    ///
    /// - Parameter target: The instant to move to. If it has already passed, the time does not change.
    public func advance(to target: MonotonicInstant) { advance { _ in target } }

    /// Moves time forward in one step, then fires the alarms that are due.
    ///
    /// Each alarm fires late, as it does after a process was stopped, a machine slept, or every thread was blocked.
    ///
    /// - Parameter duration: How far to move; a negative one moves no time.
    public func jump(by duration: Duration) {
        state.withLock { $0.now = max($0.now, $0.now + duration) }
        advance(by: .zero)
    }

    /// - Parameter target: Called once, in the first step and with the time before it, so that concurrent moves add up.
    private func advance(to target: (MonotonicInstant) -> MonotonicInstant) {
        var end: MonotonicInstant?
        while true {
            let (action, watchers) = state.withLock { state -> (AlarmAction?, [PolicyWaiter]) in
                let target = end ?? target(state.now)
                end = target
                guard let next = state.alarms.earliest, next <= max(target, state.now) else {
                    state.now = max(state.now, target)
                    return (nil, state.change())
                }
                state.now = max(state.now, next)
                return (state.alarms.popDue(at: state.now), [])
            }
            for watcher in watchers { watcher.resume() }
            guard let action else { return }
            action.run()
        }
    }

    /// Moves time to the next pending instant, if there is one, and fires the alarms that are due there.
    ///
    /// - Returns: Whether there was such an instant.
    @discardableResult
    public func advanceToNextSleeper() -> Bool {
        guard let next = state.withLock({ $0.alarms.earliest }) else { return false }
        advance(to: next)
        return true
    }

    // MARK: For ``run(seed:maxSteps:_:)``

    /// The executor of the tasks that policies make; nil outside of a run.
    public var taskExecutor: (any TaskExecutor)? { state.withLock { $0.executor } }

    func begin(_ executor: SteppedExecutor) {
        let isFree = state.withLock { state in
            defer { state.executor = executor }
            return state.executor == nil
        }
        precondition(isFree, "ManualClock: one run at a time")
    }

    func end(_ executor: SteppedExecutor) {
        // After a run that was given up, these tasks never continue, like all other tasks of the run.
        _ = resumeIdlers()
        state.withLock { $0.executor = nil }
        executor.end()
    }

    func addIdler(_ continuation: CheckedContinuation<Void, Never>) {
        state.withLock { $0.idlers.append(continuation) }
    }

    /// Resumes the tasks that wait in `runUntilIdle()`; false if there are none.
    func resumeIdlers() -> Bool {
        let idlers = state.withLock { state in
            defer { state.idlers = [] }
            return state.idlers
        }
        for idler in idlers { idler.resume() }
        return !idlers.isEmpty
    }
}
