package import Resilience
package import ResilienceTesting

/// A clock that runs something else between setting an alarm and returning.
package final class InterruptedClock: TimeBase {
    private let clock: ManualClock
    private let interruption = Locked<(@Sendable () -> Void)?>(nil)

    package init(_ clock: ManualClock) { self.clock = clock }

    package var now: MonotonicInstant { clock.now }

    package func meanwhile(_ body: @escaping @Sendable () -> Void) { interruption.withLock { $0 = body } }

    package func schedule(
        at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void
    ) -> TimeBaseAlarm {
        let alarm = clock.schedule(at: deadline, action)
        interruption.withLock { $0.take() }?()
        return alarm
    }

    package func cancel(_ alarm: TimeBaseAlarm) { clock.cancel(alarm) }
}
