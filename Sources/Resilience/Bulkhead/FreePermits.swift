import Synchronization

/// The permits that lie free, for whoever comes first, without a lock: as long as nobody waits, taking one and giving
/// it back is all there is to do. Whoever needs to know more locks and collects them, and then has them all; until some
/// are laid out again, everybody else has to lock too.
struct FreePermits: ~Copyable {
    private static let collected = -1
    private let count: Atomic<Int>

    init(_ count: Int) { self.count = Atomic(count) }

    /// - Returns: false if there is none, or they are collected.
    func take() -> Bool {
        while case let seen = count.load(ordering: .relaxed), seen > 0 {
            let (isDone, _) = count.weakCompareExchange(
                expected: seen, desired: seen - 1, successOrdering: .acquiring, failureOrdering: .relaxed)
            if isDone { return true }
        }
        return false
    }

    /// - Returns: false if they are collected: somebody may be waiting for it.
    func giveBack() -> Bool {
        while case let seen = count.load(ordering: .relaxed), seen != Self.collected {
            let (isDone, _) = count.weakCompareExchange(
                expected: seen, desired: seen + 1, successOrdering: .releasing, failureOrdering: .relaxed)
            if isDone { return true }
        }
        return false
    }

    /// Under the lock only.
    /// - Returns: how many there were; nil if they were collected before, and are not laid out yet.
    func collect() -> Int? {
        let seen = count.exchange(Self.collected, ordering: .acquiring)
        return seen == Self.collected ? nil : seen
    }

    /// Under the lock only, with the permits collected and nobody waiting.
    func layOut(_ permits: Int) { count.store(permits, ordering: .releasing) }
}
