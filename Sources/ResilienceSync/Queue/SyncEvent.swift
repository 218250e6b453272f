public import Resilience

/// An event of a ``SyncQueue``.
public enum SyncEvent: PolicyEventDetail, Equatable {
    /// This many mutations got a place in the queue.
    case enqueued(Int)
    /// A mutation was merged into the one before it in its lane; with `cancelsOut`, neither is sent.
    case coalesced(id: String, into: String, cancelsOut: Bool)
    /// A mutation was removed to make room for newer ones, or because it was dead for too long.
    case dropped(id: String)
    /// A mutation was not stored, because its id is already in the queue.
    case duplicate(id: String)
    /// A mutation is being sent.
    case attempted(id: String)
    /// A mutation is being sent alone, because this many claims of it were left without an answer when the process
    /// ended.
    case suspected(id: String, claims: Int)
    /// The other side acknowledged a mutation.
    case delivered(id: String)
    /// An attempt failed; `failures` is the number of failures that count against the mutation so far.
    ///
    /// `error` is a `FailureDetail`, safe to log, as in the next cases; the error's text is in
    /// ``StoredMutation/lastError``.
    case failed(id: String, failures: Int, error: String)
    /// A mutation became dead.
    case died(id: String, error: String)
    /// Nothing is sent for this long.
    case paused(for: Duration)
    /// Nothing is sent for this long, or until ``resumed``, because of ``SyncQueue/pause(for:)``.
    case pausedByHand(for: Duration?)
    /// ``SyncQueue/resume(keepingGrowth:)`` has ended all pauses.
    case resumed
    /// The other side could not be reached, or the health check failed.
    case offline(error: String)
    /// Another queue has this store's sending lock, so this one waits.
    case lockedOut
    /// A flush ended with nothing pending.
    case drained
    /// A pending mutation was removed by ``SyncQueue/cancel(_:)``.
    case cancelled(id: String)
    /// This many pending mutations were removed by ``SyncQueue/clear(discardsDead:markFailed:)``.
    case cleared(Int)
    /// This many dead mutations are pending again.
    case revived(Int)
    /// This many dead mutations were removed.
    case discarded(Int)
    /// The store failed; nothing is lost.
    case storeFailed(error: String)

    public var kind: String {
        switch self {
        case .enqueued: "enqueued"
        case .coalesced: "coalesced"
        case .dropped: "dropped"
        case .duplicate: "duplicate"
        case .attempted: "attempted"
        case .suspected: "suspected"
        case .delivered: "delivered"
        case .failed: "failed"
        case .died: "died"
        case .paused: "paused"
        case .pausedByHand: "pausedByHand"
        case .resumed: "resumed"
        case .offline: "offline"
        case .lockedOut: "lockedOut"
        case .drained: "drained"
        case .cancelled: "cancelled"
        case .cleared: "cleared"
        case .revived: "revived"
        case .discarded: "discarded"
        case .storeFailed: "storeFailed"
        }
    }

    public var severity: PolicyEventSeverity {
        switch self {
        case .attempted: .trace
        case .enqueued, .coalesced, .delivered, .drained: .debug
        case .failed, .lockedOut, .duplicate: .info
        case .paused, .pausedByHand, .resumed, .offline, .cancelled, .cleared, .revived, .discarded: .notice
        case .dropped, .suspected: .warning
        case .died, .storeFailed: .error
        }
    }

    /// The number of mutations that the event is about.
    public var measure: EventMeasure {
        switch self {
        case .enqueued(let count), .cleared(let count), .revived(let count), .discarded(let count): .count(count)
        case .coalesced, .dropped, .duplicate, .attempted, .suspected, .delivered, .failed, .died, .paused,
            .pausedByHand, .resumed, .offline, .lockedOut, .drained, .cancelled, .storeFailed:
            .count(1)
        }
    }

    public var fields: EventFields {
        switch self {
        case .enqueued(let count), .cleared(let count), .revived(let count), .discarded(let count): ["count": count]
        case .coalesced(let id, _, _), .dropped(let id), .duplicate(let id), .attempted(let id), .delivered(let id),
            .cancelled(let id):
            ["mutation": id]
        case .failed(let id, let failures, let error): ["mutation": id, "failures": failures, "error": error]
        case .suspected(let id, let claims): ["mutation": id, "claims": claims]
        case .died(let id, let error): ["mutation": id, "error": error]
        case .paused(let length): ["wait": length]
        case .pausedByHand(let length): ["wait": length]
        case .offline(let error), .storeFailed(let error): ["error": error]
        case .resumed, .lockedOut, .drained: [:]
        }
    }

    public var description: String {
        switch self {
        case .enqueued(let count): "\(count) enqueued"
        case .coalesced(let id, let into, let cancelsOut):
            cancelsOut ? "\(id) and \(into) cancel out" : "\(id) coalesced into \(into)"
        case .dropped(let id): "\(id) dropped by a limit"
        case .duplicate(let id): "\(id) is in the queue already, and was not stored again"
        case .attempted(let id): "\(id) attempted"
        case .suspected(let id, let claims): "\(id) attempted alone: \(claims) attempts ended with the process"
        case .delivered(let id): "\(id) delivered"
        case .failed(let id, let failures, let error): "\(id) failed (\(failures)): \(error)"
        case .died(let id, let error): "\(id) is dead: \(error)"
        case .paused(let length): "paused for \(length.text)"
        case .pausedByHand(let length): "paused by hand\(length.map { " for \($0.text)" } ?? ", until it is resumed")"
        case .resumed: "resumed by hand"
        case .offline(let error): "offline: \(error)"
        case .lockedOut: "another queue is sending from this store"
        case .drained: "drained"
        case .cancelled(let id): "\(id) cancelled"
        case .cleared(let count): "\(count) cleared"
        case .revived(let count): "\(count) pending again"
        case .discarded(let count): "\(count) discarded"
        case .storeFailed(let error): "store failed: \(error)"
        }
    }
}
