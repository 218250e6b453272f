/// A bulkhead refused the call; it did not run.
public struct BulkheadFull: Rejection, Hashable {
    public enum Reason: Sendable, Hashable {
        /// All permits in use and the queue full.
        case full
        /// Its turn would have come after its longest wait or its deadline, so it did not wait. See
        /// ``Bulkhead/init(_:limit:queue:order:maxWait:predictsWait:timeBase:observers:)``.
        case turnTooLate
        /// No permit came within the wait or before the call's deadline.
        case waitedTooLong
        /// It lost its place in the full queue to a newer or a more important call. See ``Bulkhead/Order``.
        case displaced
    }

    /// The bulkhead's name.
    public let bulkhead: String
    public let reason: Reason
    /// How long a call that joined the queue would have waited, as far as recent calls can tell; nil if they can't.
    public let retryAfter: Duration?

    public init(bulkhead: String, reason: Reason, retryAfter: Duration? = nil) {
        self.bulkhead = bulkhead
        self.reason = reason
        self.retryAfter = retryAfter
    }

    public var description: String { "Too many calls at the same time (\(bulkhead)). \(retryAdvice)" }
}
