#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Decides which queue of this process sends from a store.
struct SenderStateMachine: Sendable, Hashable {
    private(set) var holder: UUID?
    private var last: UUID?

    mutating func lock(for queue: UUID) -> SendingLock {
        guard holder == nil || holder == queue else { return .denied }
        defer { (holder, last) = (queue, queue) }
        return last == queue ? .takenAgain : .taken
    }

    /// - Returns: Whether the queue had the lock.
    mutating func unlock(for queue: UUID) -> Bool {
        guard holder == queue else { return false }
        holder = nil
        return true
    }
}
