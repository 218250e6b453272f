import Foundation
package import Resilience
import Synchronization

/// A time base that returns the current operation's given time.
///
/// A policy reads the time before it takes its lock, so its machine gets the operation's time, not the time at which
/// the operation takes effect. Here the time is an input of the history like any other. In the moment before the lock,
/// a thread now and then loses its core, so that other threads come in between.
package final class ToldTime: TimeBase {
    @TaskLocal package static var seconds = 0

    private let readings = Atomic(0)

    package init() {}

    package var now: MonotonicInstant {
        if readings.add(1, ordering: .relaxed).newValue.isMultiple(of: 7) { sched_yield() }
        return .second(Int64(Self.seconds))
    }

    package func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> TimeBaseAlarm {
        TimeBaseAlarm(id: 0)
    }

    package func cancel(_ alarm: TimeBaseAlarm) {}
}

extension MonotonicInstant {
    /// This many seconds after the time base's start.
    package static func second(_ number: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: number * 1_000_000_000)
    }
}
