import Foundation
import Resilience
import ResilienceTesting

/// A clock that has the tasks of policies run on threads of their own.
final class OwnThreads: TimeBase {
    private final class Executor: TaskExecutor {
        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    private let clock: ManualClock
    let taskExecutor: (any TaskExecutor)? = Executor()

    init(_ clock: ManualClock) { self.clock = clock }

    var now: MonotonicInstant { clock.now }
    func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> TimeBaseAlarm {
        clock.schedule(at: deadline, action)
    }
    func cancel(_ alarm: TimeBaseAlarm) { clock.cancel(alarm) }
}
