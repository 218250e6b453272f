import Resilience

/// Those who wait until there are so many of something. They lie behind the lock of what is counted.
struct CountWaiters {
    private var waiting: [(count: Int, waiter: PolicyWaiter)] = []

    /// How many wait.
    var count: Int { waiting.count }

    /// - Parameter present: how many there are already.
    /// - Returns: nil if that is enough.
    mutating func add(until count: Int, present: Int) -> PolicyWaiter? {
        guard present < count else { return nil }
        let waiter = PolicyWaiter()
        waiting.append((count, waiter))
        return waiter
    }

    /// Takes out those to whom `count` is enough; they are resumed outside the lock.
    mutating func remove(reached count: Int) -> [PolicyWaiter] {
        let reached = waiting.filter { $0.count <= count }
        waiting.removeAll { $0.count <= count }
        return reached.map(\.waiter)
    }

    /// One who was cancelled leaves nothing behind.
    mutating func remove(_ waiter: PolicyWaiter) { waiting.removeAll { $0.waiter === waiter } }
}

/// State that is counted, and that tasks wait for.
protocol Counted {
    var count: Int { get }
    var watchers: CountWaiters { get set }
}

extension Counted {
    /// Takes out those to whom there are enough now; they are resumed outside the lock.
    mutating func takeReached() -> [PolicyWaiter] { watchers.remove(reached: count) }
}

extension Locked where Value: Counted {
    /// Returns once there are at least `count`, or the task is cancelled.
    nonisolated(nonsending) func wait(until count: Int) async {
        guard let waiter = withLock({ $0.watchers.add(until: count, present: $0.count) }) else { return }
        _ = await waiter.wait(until: .distantFuture, on: .system)
        withLock { $0.watchers.remove(waiter) }
    }
}
