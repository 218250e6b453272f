import Resilience
import ResilienceTesting

/// A clock whose alarms are late: they never ring.
final class AlarmlessClock: TimeBase {
    private let clock = ManualClock()

    var now: MonotonicInstant { clock.now }

    func advance(by duration: Duration) { clock.advance(by: duration) }

    func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> TimeBaseAlarm {
        clock.schedule(at: .distantFuture, action)
    }

    func cancel(_ alarm: TimeBaseAlarm) { clock.cancel(alarm) }
}
