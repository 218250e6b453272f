import Synchronization

/// A task as seen from within, so that any thread can cancel it. The handle of a task that begins on its maker's thread
/// exists only after its first step, which may take long.
package struct RunningTask: ~Copyable, Sendable {
    /// An `UnsafeCurrentTask`; 0 before the task runs.
    private let task = Atomic<UInt>(0)

    package init() {}

    /// Called in the task, before anything else.
    package func begins() {
        withUnsafeCurrentTask { current in
            // Stored as a word, for the atomic; `cancel()` explains why it may be converted back.
            task.store(unsafeBitCast(current, to: UInt.self), ordering: .sequentiallyConsistent)
        }
    }

    /// Cancels the task, if it runs. The caller ensures that the task still exists if it has begun: it exists during
    /// its first step, and later while its handle is held.
    package func cancel() {
        // Safe: on a task other than the current one only `cancel()` is used, which any thread may call.
        unsafeBitCast(task.load(ordering: .sequentiallyConsistent), to: UnsafeCurrentTask?.self)?.cancel()
    }
}
