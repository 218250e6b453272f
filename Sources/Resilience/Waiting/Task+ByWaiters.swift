/// The operations of waiters on their own task.
extension Task where Success == Void, Failure == Never {
    /// Raises the task's priority, where the system supports it.
    package func raise(to priority: TaskPriority) {
        if #available(macOS 26, macCatalyst 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            escalatePriority(to: priority)
        }
    }

    /// Cancels the task, but not on the caller's thread: its operation's cancellation handlers may block.
    package func cancel(on executor: (any TaskExecutor)?) {
        Task(executorPreference: executor) { @concurrent in cancel() }
    }
}
