#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Where a ``SyncQueue`` keeps what it has not sent. What a method changed is durable when it returns.
///
/// One queue works on a store at a time. Every method may be called on any task.
public protocol MutationStore: Sendable {
    /// Adds mutations at the end, in order: all of them, or none.
    /// - Throws: ``SyncQueueError/duplicate(id:)`` if one with the same id is there, pending or dead.
    func append(_ mutations: [Mutation]) async throws

    /// The next pending mutations after a position, in order.
    func pending(after position: Int64, limit: Int) async throws -> [StoredMutation]

    /// Removes a mutation that the other side has acknowledged. One that is gone already stays so.
    func remove(at position: Int64) async throws

    /// Notes a failure that counts.
    func countFailure(at position: Int64, error: String) async throws

    /// Sets a mutation aside: it is no longer pending, and is kept for somebody to look at.
    func park(at position: Int64, error: String) async throws

    /// What was set aside, in order.
    func dead(after position: Int64, limit: Int) async throws -> [StoredMutation]

    /// How many are pending.
    func pendingCount() async throws -> Int

    /// How many were set aside.
    func deadCount() async throws -> Int

    /// Removes everything that is pending.
    /// - Returns: how many there were.
    func removePending() async throws -> Int

    /// Until when nothing is to be sent, by the wall clock; nil if there is no such time.
    func pause() async throws -> Date?

    /// Keeps that time over restarts.
    func setPause(until date: Date?) async throws
}

/// What a ``SyncQueue`` or its store can complain of.
public enum SyncQueueError: Error, Hashable, CustomStringConvertible {
    /// A mutation with this id is in the queue already.
    case duplicate(id: String)
    /// The mutation can't be enqueued as it is.
    case invalid(id: String, reason: String)
    /// The file is not a queue of ours, or can't be read. It was left as it is.
    case unreadable(path: String, reason: String)
    /// The file was written by a newer version of this package. It was left as it is.
    case newerSchema(path: String, version: Int)
    /// The file can't be read or written now: a full disk, a lock that is not let go of. Nothing was changed.
    case storeFailed(path: String, reason: String)
    /// The queue was stopped.
    case stopped

    public var description: String {
        switch self {
        case .duplicate(let id): "A mutation with id \"\(id)\" is in the queue already."
        case .invalid(let id, let reason): "Mutation \"\(id)\" can't be enqueued: \(reason)"
        case .unreadable(let path, let reason): "\(path) can't be used as a queue: \(reason) It was left as it is."
        case .newerSchema(let path, let version):
            "\(path) was written by a newer version of swift-resilience (schema \(version)). It was left as it is."
        case .storeFailed(let path, let reason): "\(path) can't be read or written now: \(reason) Nothing was changed."
        case .stopped: "The queue was stopped."
        }
    }
}
