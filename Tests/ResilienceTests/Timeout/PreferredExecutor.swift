#if compiler(>=6.3)
    /// An executor that a task may prefer: the system's threads, under another name.
    final class PreferredExecutor: TaskExecutor {
        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            Task.detached { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }

        /// Whether the current task prefers this one.
        @available(macOS 26.4, macCatalyst 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *)
        var isPreferred: Bool {
            withUnsafeCurrentTask { $0?.unownedTaskExecutor == asUnownedTaskExecutor() }
        }
    }
#endif
