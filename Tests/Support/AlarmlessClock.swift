package import Resilience
import ResilienceTesting

/// A clock whose alarms never ring.
package final class AlarmlessClock: TimeBase {
    private let clock = ManualClock()

    package init() {}

    package var now: MonotonicInstant { clock.now }

    package func advance(by duration: Duration) { clock.advance(by: duration) }

    package func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> TimeBaseAlarm {
        clock.schedule(at: .distantFuture, action)
    }

    package func cancel(_ alarm: TimeBaseAlarm) { clock.cancel(alarm) }
}
