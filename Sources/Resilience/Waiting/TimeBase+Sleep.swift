extension TimeBase {
    /// Suspends the task until an instant of this time base.
    ///
    /// ```swift
    /// try await timeBase.sleep(until: start + .seconds(30))
    /// ```
    ///
    /// - Parameter deadline: The instant to wake at or after. The sleep ends at once if this instant has passed, and
    ///   never if it is ``/Resilience/MonotonicInstant/distantFuture``.
    /// - Throws: `CancellationError` if the task is cancelled before or during the sleep.
    public nonisolated(nonsending) func sleep(until deadline: MonotonicInstant) async throws {
        try Task.checkCancellation()
        // Suspends even if the deadline has passed: a loop that sleeps for zero time must let other tasks run.
        let wake = await PolicyWaiter().wait(until: deadline, on: self)
        if wake == .cancelled { throw CancellationError() }
    }

    /// Suspends the task for a time on this time base.
    ///
    /// - Parameter duration: The length of the sleep. It ends at once if this is zero or less.
    /// - Throws: `CancellationError` if the task is cancelled before or during the sleep.
    public nonisolated(nonsending) func sleep(for duration: Duration) async throws {
        try await sleep(until: now + duration)
    }
}

extension Clock where Self: TimeBase, Self.Instant == MonotonicInstant {
    /// One nanosecond, the unit of an instant.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Suspends the task until an instant of this clock.
    ///
    /// - Parameters:
    ///   - deadline: The instant to wake at or after. The sleep ends at once if this instant has passed.
    ///   - tolerance: Ignored: the clock wakes the task as soon as it can.
    /// - Throws: `CancellationError` if the task is cancelled before or during the sleep.
    public nonisolated(nonsending) func sleep(until deadline: MonotonicInstant, tolerance: Duration?) async throws {
        try await sleep(until: deadline)
    }
}
