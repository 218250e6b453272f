import Foundation
package import Resilience
package import ResilienceTesting

/// A clock that runs the tasks of policies on threads of their own.
package final class OwnThreads: TimeBase {
    private final class Executor: TaskExecutor {
        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    private let clock: ManualClock
    package let taskExecutor: (any TaskExecutor)? = Executor()

    package init(_ clock: ManualClock) { self.clock = clock }

    package var now: MonotonicInstant { clock.now }
    package func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> TimeBaseAlarm {
        clock.schedule(at: deadline, action)
    }
    package func cancel(_ alarm: TimeBaseAlarm) { clock.cancel(alarm) }
}
