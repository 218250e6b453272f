public import Resilience

/// What a ``SyncQueue`` tells its observers.
public enum SyncEvent: PolicyEventDetail, Equatable {
    case enqueued(Int)
    /// A mutation was taken up by the one before it in its lane; with `cancelsOut` nothing is left of both.
    case coalesced(id: String, into: String, cancelsOut: Bool)
    /// It made room for newer ones, or was dead for too long, and is gone.
    case dropped(id: String)
    /// It is being sent.
    case attempted(id: String)
    case delivered(id: String)
    /// An attempt failed; so many count against it by now.
    case failed(id: String, failures: Int, error: String)
    /// It was set aside.
    case died(id: String, error: String)
    /// Nothing is sent for this long.
    case paused(for: Duration)
    case offline(error: String)
    /// Another queue sends what is in this store, so this one waits.
    case lockedOut
    case drained
    case cleared(Int)
    /// So many that had been set aside are pending again.
    case revived(Int)
    /// So many that had been set aside are gone.
    case discarded(Int)
    /// The store failed; nothing is lost.
    case storeFailed(error: String)

    public var kind: String {
        switch self {
        case .enqueued: "enqueued"
        case .coalesced: "coalesced"
        case .dropped: "dropped"
        case .attempted: "attempted"
        case .delivered: "delivered"
        case .failed: "failed"
        case .died: "died"
        case .paused: "paused"
        case .offline: "offline"
        case .lockedOut: "lockedOut"
        case .drained: "drained"
        case .cleared: "cleared"
        case .revived: "revived"
        case .discarded: "discarded"
        case .storeFailed: "storeFailed"
        }
    }

    public var description: String {
        switch self {
        case .enqueued(let count): "\(count) enqueued"
        case .coalesced(let id, let into, let cancelsOut):
            cancelsOut ? "\(id) and \(into) cancel out" : "\(id) coalesced into \(into)"
        case .dropped(let id): "\(id) dropped to make room"
        case .attempted(let id): "\(id) attempted"
        case .delivered(let id): "\(id) delivered"
        case .failed(let id, let failures, let error): "\(id) failed (\(failures)): \(error)"
        case .died(let id, let error): "\(id) set aside: \(error)"
        case .paused(let length): "paused for \(length)"
        case .offline(let error): "offline: \(error)"
        case .lockedOut: "another queue sends what is in this store"
        case .drained: "drained"
        case .cleared(let count): "\(count) cleared"
        case .revived(let count): "\(count) pending again"
        case .discarded(let count): "\(count) discarded"
        case .storeFailed(let error): "store failed: \(error)"
        }
    }
}
