extension Bulkhead {
    /// What a bulkhead tells its observers.
    public enum Event: PolicyEventDetail, Equatable {
        /// All permits are in use; the call waits in the queue.
        case queued
        /// The call was rejected, for this reason.
        case refused(BulkheadFull.Reason)
        /// ``Bulkhead/setLimit(_:)`` has changed how many calls may run at the same time.
        case limitChanged(from: Int, to: Int)
        /// ``Bulkhead/setQueue(_:)`` has changed how many calls may wait.
        case queueChanged(from: Int, to: Int)

        public var kind: String {
            switch self {
            case .queued: "queued"
            case .refused: "refused"
            case .limitChanged: "limitChanged"
            case .queueChanged: "queueChanged"
            }
        }

        public var description: String {
            switch self {
            case .queued: "full, call queued"
            case .refused(.full): "full, queue full, refusing call"
            case .refused(.turnTooLate): "turn would come too late, refusing call"
            case .refused(.waitedTooLong): "waited too long, refusing call"
            case .refused(.displaced): "lost its place in the queue, refusing call"
            case .limitChanged(let old, let new): "limit \(old) → \(new)"
            case .queueChanged(let old, let new): "queue \(old) → \(new)"
            }
        }
    }
}
