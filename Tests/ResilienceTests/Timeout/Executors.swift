@testable import Resilience

#if compiler(>=6.3)
    /// An executor that a task may prefer: the system's threads, with their own identity.
    final class PreferredExecutor: TaskExecutor {
        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            Task.detached { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }

        /// Whether the current task prefers this executor.
        @available(macOS 26.4, macCatalyst 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *)
        var isPreferred: Bool {
            withUnsafeCurrentTask { $0?.unownedTaskExecutor == asUnownedTaskExecutor() }
        }
    }
#endif

/// An executor that can run something before a task continues.
final class InterruptedExecutor: TaskExecutor {
    private let interruption = Locked<(@Sendable () -> Void)?>(nil)

    func beforeTheNext(_ body: @escaping @Sendable () -> Void) { interruption.withLock { $0 = body } }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        interruption.withLock { $0.take() }?()
        Task.detached { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
