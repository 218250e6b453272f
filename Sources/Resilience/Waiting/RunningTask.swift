import Synchronization

/// A task as seen from within, so that any thread can cancel it. If a task begins on the thread that creates it, its
/// handle exists only after its first step, which may take long.
package struct RunningTask: ~Copyable, Sendable {
    /// An `UnsafeCurrentTask`; 0 before the task runs.
    private let task = Atomic<UInt>(0)

    package init() {}

    /// Called in the task, before anything else.
    package func begins() {
        withUnsafeCurrentTask { current in
            // Stored as a word, because the atomic needs one; `cancel()` explains why the word may be converted back.
            task.store(unsafeBitCast(current, to: UInt.self), ordering: .sequentiallyConsistent)
        }
    }

    /// Cancels the task, if it runs. The caller ensures that the task still exists if it has begun: it exists during
    /// its first step, and later while its handle is held.
    package func cancel() {
        // Safe: only `cancel()` is called on a task other than the current one, and any thread may call it.
        unsafeBitCast(task.load(ordering: .sequentiallyConsistent), to: UnsafeCurrentTask?.self)?.cancel()
    }
}
