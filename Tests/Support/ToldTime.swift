import Foundation
package import Resilience
import Synchronization

/// A time base that reads what the present operation is told.
///
/// A policy reads the time before it takes its lock, so what its machine is given is the operation's time, and not the
/// one at which the operation takes effect. Here it is an input of the history like any other. And that moment before the
/// lock is where a thread is taken off its core now and then, for others to come in between.
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
    /// So many seconds after the time base's start.
    package static func second(_ number: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: number * 1_000_000_000)
    }
}
