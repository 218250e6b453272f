extension Bulkhead {
    /// An event of a bulkhead.
    public enum Event: PolicyEventDetail, Equatable {
        /// All permits are in use; the call waits in the queue.
        case queued
        /// The call was rejected, for this reason.
        case rejected(BulkheadFull.Reason)
        /// ``Bulkhead/setLimit(_:)`` has changed how many calls may run at the same time.
        case limitChanged(from: Int, to: Int)
        /// ``Bulkhead/setQueue(_:)`` has changed how many calls may wait.
        case queueChanged(from: Int, to: Int)
        /// Calls have been waiting without a break for the interval of the ``LoadShedding``: the bulkhead begins to
        /// reject waiting calls.
        case sheddingBegan
        /// The overload is over: the queue is empty, or was empty at some moment since the last call came or went.
        case sheddingEnded

        public var kind: String {
            switch self {
            case .queued: "queued"
            case .rejected: "rejected"
            case .limitChanged: "limitChanged"
            case .queueChanged: "queueChanged"
            case .sheddingBegan: "sheddingBegan"
            case .sheddingEnded: "sheddingEnded"
            }
        }

        public var severity: PolicyEventSeverity {
            switch self {
            case .queued, .rejected: .debug
            case .limitChanged, .queueChanged, .sheddingBegan, .sheddingEnded: .notice
            }
        }

        public var fields: EventFields {
            switch self {
            case .queued, .sheddingBegan, .sheddingEnded: [:]
            case .rejected(let reason): ["reason": "\(reason)"]
            case .limitChanged(_, let limit), .queueChanged(_, let limit): ["limit": limit]
            }
        }

        public var description: String {
            switch self {
            case .queued: "full, call queued"
            case .rejected(.full): "full, queue full, rejecting call"
            case .rejected(.turnTooLate): "turn would come too late, rejecting call"
            case .rejected(.waitedTooLong): "waited too long, rejecting call"
            case .rejected(.displaced): "lost its place in the queue, rejecting call"
            case .rejected(.shed): "overloaded, rejecting call"
            case .limitChanged(let old, let new): "limit \(old) → \(new)"
            case .queueChanged(let old, let new): "queue \(old) → \(new)"
            case .sheddingBegan: "overloaded, newest call first"
            case .sheddingEnded: "overload ended"
            }
        }
    }
}
