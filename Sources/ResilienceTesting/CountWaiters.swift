import Resilience

/// Tasks that wait until a count is reached. Protected by the lock of the counted state.
struct CountWaiters {
    private var waiting: [(count: Int, waiter: PolicyWaiter)] = []

    /// The number of tasks that wait.
    var count: Int { waiting.count }

    /// - Parameter present: The count so far.
    /// - Returns: The waiter; nil if the count is already reached.
    mutating func add(until count: Int, present: Int) -> PolicyWaiter? {
        guard present < count else { return nil }
        let waiter = PolicyWaiter()
        waiting.append((count, waiter))
        return waiter
    }

    /// Removes the waiters whose count is reached, to be resumed outside the lock.
    mutating func remove(reached count: Int) -> [PolicyWaiter] {
        let reached = waiting.filter { $0.count <= count }
        waiting.removeAll { $0.count <= count }
        return reached.map(\.waiter)
    }

    /// Removes a waiter that was cancelled.
    mutating func remove(_ waiter: PolicyWaiter) { waiting.removeAll { $0.waiter === waiter } }
}

/// State with a count that tasks wait for.
protocol Counted {
    var count: Int { get }
    var watchers: CountWaiters { get set }
}

extension Counted {
    /// Removes the waiters whose count is reached now, to be resumed outside the lock.
    mutating func takeReached() -> [PolicyWaiter] { watchers.remove(reached: count) }
}

extension Locked where Value: Counted {
    /// Waits until the count is at least `count`, or the task is cancelled.
    nonisolated(nonsending) func wait(until count: Int) async {
        guard let waiter = withLock({ $0.watchers.add(until: count, present: $0.count) }) else { return }
        _ = await waiter.wait(until: .distantFuture, on: .system)
        withLock { $0.watchers.remove(waiter) }
    }
}
