import Resilience
import Synchronization

/// Counts the calls that a hedge made no copies of for one reason, and remembers whether that was told.
///
/// In atomics, since calls that make no copies are to pay as good as nothing for it.
struct UncopiedCalls: ~Copyable, Sendable {
    private let calls = Atomic(0)
    private let isTold = Atomic(false)

    var count: Int { calls.load(ordering: .relaxed) }

    /// A call begins.
    /// - Parameter hears: Whether anybody would hear of it.
    /// - Returns: Whether to tell of it: only of the first one that somebody hears of.
    func note(_ hears: () -> Bool) -> Bool {
        calls.wrappingAdd(1, ordering: .relaxed)
        guard !isTold.load(ordering: .relaxed), hears() else { return false }
        return !isTold.exchange(true, ordering: .relaxed)
    }

    func reset() {
        calls.store(0, ordering: .relaxed)
        isTold.store(false, ordering: .relaxed)
    }
}
