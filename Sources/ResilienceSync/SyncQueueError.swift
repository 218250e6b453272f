/// An error of a ``SyncQueue`` or its store.
public enum SyncQueueError: Error, Hashable, CustomStringConvertible {
    /// A mutation with this id is already in the queue.
    ///
    /// Only ``SyncQueue/enqueue(_:)-(Mutation)`` throws it; the call for several mutations skips duplicates and lists
    /// them in ``AppendResult/duplicates``.
    case duplicate(id: String)
    /// The mutation can't be enqueued, for this reason.
    case invalid(id: String, reason: String)
    /// The queue is full: it would hold this many mutations and bytes.
    ///
    /// Nothing was enqueued.
    case full(count: Int, bytes: Int)
    /// The file or database is not the queue's, or can't be read.
    ///
    /// It was not changed.
    case unreadable(path: String, reason: String)
    /// The file was written by a newer version of this package.
    ///
    /// It was not changed.
    case newerSchema(path: String, version: Int)
    /// The file can't be read or written now, for example because the disk is full or another process holds a lock.
    ///
    /// Nothing was changed.
    case storeFailed(path: String, reason: String)
    /// The connection was lost, or the server did not answer in time, while it stored a change.
    ///
    /// The change may or may not be stored. Enqueuing the same mutation again is safe: it is stored once.
    case unknownOutcome(path: String, reason: String)
    /// The queue was stopped.
    case stopped

    public var description: String {
        switch self {
        case .duplicate(let id): "A mutation with id \"\(id)\" is in the queue already."
        case .invalid(let id, let reason): "Mutation \"\(id)\" can't be enqueued: \(reason)"
        case .full(let count, let bytes):
            "The queue is full: it would hold \(count) mutations with \(bytes) bytes. Nothing was enqueued."
        case .unreadable(let path, let reason): "\(path) can't be used as a queue: \(reason) It was left as it is."
        case .newerSchema(let path, let version):
            "\(path) was written by a newer version of swift-resilience (schema \(version)). It was left as it is."
        case .storeFailed(let path, let reason): "\(path) can't be read or written now: \(reason) Nothing was changed."
        case .unknownOutcome(let path, let reason):
            "\(path) did not confirm a change: \(reason) The change may or may not be stored."
        case .stopped: "The queue was stopped."
        }
    }
}
