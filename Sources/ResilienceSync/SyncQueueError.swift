/// What a ``SyncQueue`` or its store can complain of.
public enum SyncQueueError: Error, Hashable, CustomStringConvertible {
    /// A mutation with this id is in the queue already.
    case duplicate(id: String)
    /// The mutation can't be enqueued as it is.
    case invalid(id: String, reason: String)
    /// The queue holds as much as it may, and would hold this much. Nothing was enqueued.
    case full(count: Int, bytes: Int)
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
        case .full(let count, let bytes):
            "The queue is full: it would hold \(count) mutations with \(bytes) bytes. Nothing was enqueued."
        case .unreadable(let path, let reason): "\(path) can't be used as a queue: \(reason) It was left as it is."
        case .newerSchema(let path, let version):
            "\(path) was written by a newer version of swift-resilience (schema \(version)). It was left as it is."
        case .storeFailed(let path, let reason): "\(path) can't be read or written now: \(reason) Nothing was changed."
        case .stopped: "The queue was stopped."
        }
    }
}
