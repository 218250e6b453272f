import Synchronization

/// The free permits. As long as no call waits, a call takes a permit and gives it back without a lock.
///
/// For anything else, a caller takes the lock and collects all free permits. Until permits are laid out again, every
/// other call must also take the lock.
struct FreePermits: ~Copyable {
    private static let collected = -1
    private let count: Atomic<Int>

    init(_ count: Int) { self.count = Atomic(count) }

    /// The number of permits that were free a moment ago; nil if they were collected.
    var free: Int? {
        let seen = count.load(ordering: .relaxed)
        return seen == Self.collected ? nil : seen
    }

    /// Takes a free permit.
    /// - Returns: false if no permit is free, or if the permits are collected.
    func take() -> Bool {
        while case let seen = count.load(ordering: .relaxed), seen > 0 {
            let (isDone, _) = count.weakCompareExchange(
                expected: seen, desired: seen - 1, successOrdering: .acquiring, failureOrdering: .relaxed)
            if isDone { return true }
        }
        return false
    }

    /// Gives a permit back.
    /// - Returns: false if the permits are collected: a call may be waiting for this permit.
    func giveBack() -> Bool {
        while case let seen = count.load(ordering: .relaxed), seen != Self.collected {
            let (isDone, _) = count.weakCompareExchange(
                expected: seen, desired: seen + 1, successOrdering: .releasing, failureOrdering: .relaxed)
            if isDone { return true }
        }
        return false
    }

    /// Takes all free permits. Call it under the lock only.
    /// - Returns: The number of permits; nil if they are already collected and have not been laid out again.
    func collect() -> Int? {
        let seen = count.exchange(Self.collected, ordering: .acquiring)
        return seen == Self.collected ? nil : seen
    }

    /// Makes permits free. Call it under the lock only, with the permits collected and no call waiting.
    func layOut(_ permits: Int) { count.store(permits, ordering: .releasing) }
}
