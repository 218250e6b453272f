extension Bulkhead {
    public enum Event: PolicyEventDetail, Equatable {
        case queued
        case refused(BulkheadFull.Reason)
        case limitChanged(from: Int, to: Int)
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
