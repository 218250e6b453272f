import Resilience
import ResilienceTesting

/// A manual clock that advances to the end of every wait, and records each wait's length.
final class RecordingClock: TimeBase {
    private let clock: ManualClock
    private let recorded = Locked<[Duration]>([])

    init(_ clock: ManualClock = ManualClock()) { self.clock = clock }

    var waits: [Duration] { recorded.withLock { $0 } }
    var now: MonotonicInstant { clock.now }

    func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> TimeBaseAlarm {
        recorded.withLock { $0.append(clock.now.duration(to: deadline)) }
        let alarm = clock.schedule(at: deadline, action)
        clock.advance(to: deadline)
        return alarm
    }

    func cancel(_ alarm: TimeBaseAlarm) { clock.cancel(alarm) }
}
