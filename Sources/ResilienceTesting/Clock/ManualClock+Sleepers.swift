public import Resilience

extension ManualClock: CustomStringConvertible {
    /// The instants at which the pending sleeps, waits and timeouts are due, earliest first.
    public var sleepers: [MonotonicInstant] { state.withLock { $0.alarms.deadlines } }

    /// The time on the clock, and how long until each sleeper is due:
    /// `3600.0 seconds, with sleepers due in 1.0 seconds, 5.0 seconds`.
    public var description: String {
        let (now, sleepers) = state.withLock { ($0.now, $0.alarms.deadlines) }
        let time = MonotonicInstant(nanoseconds: 0).duration(to: now)
        return "\(time), with \(Self.list(sleepers.map { now.duration(to: $0) }))"
    }

    private static func list(_ distances: [Duration]) -> String {
        if distances.isEmpty { return "no sleeper" }
        let shown = distances.prefix(20).map { "\($0)" }.joined(separator: ", ")
        let rest = distances.count > 20 ? " and \(distances.count - 20) later ones" : ""
        return "sleepers due in \(shown)\(rest)"
    }

    /// Waits until at least a number of sleeps, waits or timeouts are pending, or the task is cancelled.
    ///
    /// Does not move time.
    ///
    /// It counts everything that waits for this clock, including timeouts. To wait for one sleeper, use
    /// ``waitForSleeper(dueIn:)``.
    ///
    /// - Parameter count: The number of sleepers to wait for.
    public nonisolated(nonsending) func waitForSleepers(_ count: Int) async { await state.wait(until: count) }

    /// Waits for a sleep, wait or timeout that is due a certain time from now.
    ///
    /// Does not move time.
    ///
    /// ```swift
    /// let page = Task { try await pipeline.run { try await fetch() } }
    /// // The pause before the retry, and not the timeout.
    /// try await clock.waitForSleeper(dueIn: .seconds(1))
    /// clock.advance(by: .seconds(1))
    /// ```
    ///
    /// - Parameter distance: The exact time from now to when the sleeper is due. For jittered times, use
    ///   ``waitForSleeper(where:)``.
    /// - Returns: The instant at which it is due.
    /// - Throws: ``NoSuchSleeper`` if the task is cancelled first, as it is by a test's time limit.
    @discardableResult
    public nonisolated(nonsending) func waitForSleeper(dueIn distance: Duration) async throws(NoSuchSleeper)
        -> MonotonicInstant
    {
        try await waitForSleeper("due in \(distance)") { sleeper, now in sleeper == now + distance }
    }

    /// Waits for a sleep, wait or timeout whose end meets a condition.
    ///
    /// Does not move time.
    ///
    /// ```swift
    /// let pauseEnds = try await clock.waitForSleeper { $0 < start + .seconds(5) }
    /// clock.advance(to: pauseEnds)
    /// ```
    ///
    /// - Parameter fits: Whether a sleeper that is due at the given instant matches. Called again for each sleeper
    ///   after every change.
    /// - Returns: The earliest instant that fits.
    /// - Throws: ``NoSuchSleeper`` if the task is cancelled first, as it is by a test's time limit.
    @discardableResult
    public nonisolated(nonsending) func waitForSleeper(
        where fits: (MonotonicInstant) -> Bool
    ) async throws(NoSuchSleeper) -> MonotonicInstant {
        try await waitForSleeper("that fits") { sleeper, _ in fits(sleeper) }
    }

    private nonisolated(nonsending) func waitForSleeper(
        _ what: String, _ fits: (_ sleeper: MonotonicInstant, _ now: MonotonicInstant) -> Bool
    ) async throws(NoSuchSleeper) -> MonotonicInstant {
        while true {
            let (now, sleepers, seen) = state.withLock { ($0.now, $0.alarms.deadlines, $0.changes) }
            if let found = sleepers.first(where: { fits($0, now) }) { return found }
            let waiter = state.withLock { $0.changeWatchers.add(until: seen + 1, present: $0.changes) }
            guard let waiter else { continue }
            let wake = await waiter.wait(until: .distantFuture, on: self)
            state.withLock { $0.changeWatchers.remove(waiter) }
            if wake == .cancelled { throw NoSuchSleeper(wanted: what, clock: description) }
        }
    }

    /// The sleeper that a test waited for did not come before the test was cancelled.
    public struct NoSuchSleeper: Error, Hashable, CustomStringConvertible {
        let wanted: String
        let clock: String

        /// The sleeper that was waited for, and the present state of the clock.
        public var description: String { "No sleeper \(wanted) came. The clock is at \(clock)." }
    }
}
