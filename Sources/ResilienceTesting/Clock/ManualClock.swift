public import Resilience

/// A time base and `Clock` that stands still until a test moves it: by hand, or by ``run(seed:maxSteps:_:)``.
///
/// ```swift
/// let clock = ManualClock()
/// let pipeline = Pipeline(timeBase: clock) { Retry(maxRetries: 1, backoff: .constant(.seconds(5))) }
/// async let result = pipeline.run { try await operation() }
/// await clock.waitForSleepers(1)          // the retry waits now, so
/// clock.advance(by: .seconds(5))          // it is safe to move time
/// try await result
/// ```
///
/// Give it to policies as their `timeBase`, and to other code that waits as its `any Clock<Duration>`: then both share one
/// time.
public final class ManualClock: TimeBase, Clock {
    struct State: Counted {
        var now: MonotonicInstant
        var alarms = AlarmQueue()
        /// Who waits for a number of sleepers.
        var watchers = CountWaiters()
        /// How often an alarm was set or time has moved.
        var changes = 0
        /// Who waits for a certain sleeper, and looks again after every change.
        var changeWatchers = CountWaiters()
        var executor: SteppedExecutor?
        var idlers: [CheckedContinuation<Void, Never>] = []

        var count: Int { alarms.count }

        /// - Returns: whom to resume, outside the lock.
        mutating func change() -> [PolicyWaiter] {
            changes += 1
            return takeReached() + changeWatchers.remove(reached: changes)
        }
    }

    let state: Locked<State>

    /// - Parameter start: where it stands at first; an hour after zero, so that a test may look back.
    public init(startingAt start: MonotonicInstant = MonotonicInstant(nanoseconds: 3_600_000_000_000)) {
        state = Locked(State(now: start))
    }

    public var now: MonotonicInstant { state.withLock { $0.now } }

    public func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> TimeBaseAlarm {
        let (alarm, watchers, firesNow) = state.withLock { state in
            // What is due already fires by a move too: whoever waits is woken in one place only. In a run the move comes
            // when all tasks wait, so that one which waits for no time at all is no end in itself.
            let alarm = state.alarms.insert(at: deadline, action)
            return (alarm, state.change(), deadline <= state.now && state.executor == nil)
        }
        for watcher in watchers { watcher.resume() }
        if firesNow { advance(by: .zero) }
        return alarm
    }

    public func cancel(_ alarm: TimeBaseAlarm) { _ = state.withLock { $0.alarms.remove(alarm) } }

    /// Moves time on, firing what falls due on the way, in order and each at its own instant.
    public func advance(by duration: Duration) { advance { $0 + duration } }

    /// Moves time on to `target`; an earlier one moves nothing.
    public func advance(to target: MonotonicInstant) { advance { _ in target } }

    /// Moves time on in one step, then fires what has fallen due: each late, as after a process was stopped, a machine slept,
    /// or every thread was blocked.
    public func jump(by duration: Duration) {
        state.withLock { $0.now = max($0.now, $0.now + duration) }
        advance(by: .zero)
    }

    /// - Parameter target: told the time before the first step, in that step, so that moves made at once add up.
    private func advance(to target: (MonotonicInstant) -> MonotonicInstant) {
        var end: MonotonicInstant?
        while true {
            let (action, watchers) = state.withLock { state -> (AlarmQueue.Action?, [PolicyWaiter]) in
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
            action()
        }
    }

    /// Moves time to the next pending instant, if there is one, and fires what is due there.
    @discardableResult
    public func advanceToNextSleeper() -> Bool {
        guard let next = state.withLock({ $0.alarms.earliest }) else { return false }
        advance(to: next)
        return true
    }

    // MARK: For ``run(seed:maxSteps:_:)``

    /// Where tasks that policies make run; nil outside of a run.
    public var taskExecutor: (any TaskExecutor)? { state.withLock { $0.executor } }

    func begin(_ executor: SteppedExecutor) {
        let isFree = state.withLock { state in
            defer { state.executor = executor }
            return state.executor == nil
        }
        precondition(isFree, "ManualClock: one run at a time")
    }

    func end(_ executor: SteppedExecutor) {
        // Of a run that was given up: they go on no more than any other task of it.
        _ = resumeIdlers()
        state.withLock { $0.executor = nil }
        executor.end()
    }

    func addIdler(_ continuation: CheckedContinuation<Void, Never>) {
        state.withLock { $0.idlers.append(continuation) }
    }

    /// Lets those go on who wait until all others wait; false if there are none.
    func resumeIdlers() -> Bool {
        let idlers = state.withLock { state in
            defer { state.idlers = [] }
            return state.idlers
        }
        for idler in idlers { idler.resume() }
        return !idlers.isEmpty
    }
}
