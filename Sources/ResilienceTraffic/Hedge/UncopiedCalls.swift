import Resilience
import Synchronization

/// Counts the calls without copies for one reason, and remembers whether a call was reported.
///
/// It uses atomics, since it must cost calls without copies almost nothing.
struct UncopiedCalls: ~Copyable, Sendable {
    private let calls = Atomic(0)
    private let isTold = Atomic(false)

    var count: Int { calls.load(ordering: .relaxed) }

    /// A call without copies begins.
    /// - Parameter hears: Whether there is an observer.
    /// - Returns: Whether to report the call: only the first call with an observer.
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
