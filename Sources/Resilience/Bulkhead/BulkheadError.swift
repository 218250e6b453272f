/// A bulkhead rejected the call; it did not run.
public struct BulkheadFull: Rejection, Hashable, FailureDescribing {
    /// Why the call was rejected.
    public enum Reason: String, Sendable, Hashable {
        /// All permits are in use, and the queue is full.
        case full
        /// The call was not queued: its turn would probably have come after its longest wait or its deadline.
        ///
        /// See ``Bulkhead/init(_:limit:queue:order:maxWait:predictsWait:shedding:timeBase:observers:)``.
        case turnTooLate
        /// No permit came within the longest wait, or before the call's deadline.
        case waitedTooLong
        /// The call lost its place in the full queue to a newer or a more important call.
        ///
        /// See ``Bulkhead/Order``.
        case displaced
        /// The bulkhead is overloaded, and the call has waited for more than the target of its ``LoadShedding``.
        case shed
    }

    /// The bulkhead's name.
    public let policy: String
    /// Why the call was rejected.
    public let reason: Reason
    /// The estimated wait of one more call at the end of the queue: from recent service times, or else from how soon
    /// permits came back after earlier rejections; nil if nothing was measured yet.
    public let retryAfter: Duration?

    /// Creates an error for a rejected call.
    ///
    /// - Parameters:
    ///   - policy: The bulkhead's name.
    ///   - reason: Why the call was rejected.
    ///   - retryAfter: How long until another call may get a permit; nil if unknown.
    public init(policy: String, reason: Reason, retryAfter: Duration? = nil) {
        self.policy = policy
        self.reason = reason
        self.retryAfter = retryAfter
    }

    public var description: String { "Too many calls at the same time (\(policy)). \(retryAdvice)" }

    public var failureDetail: FailureDetail { FailureDetail("BulkheadFull", code: reason.rawValue, policy: policy) }
}
