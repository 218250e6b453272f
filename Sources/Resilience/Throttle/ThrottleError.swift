/// A throttle rejected the call; it did not run.
public struct ThrottleExceeded: Rejection, Hashable, FailureDescribing {
    /// The throttle's name.
    public let policy: String
    /// How long until the call's turn would come; nil if its cost exceeds the burst or the limit of the window.
    public let retryAfter: Duration?

    /// Creates an error for a rejected call.
    /// - Parameters:
    ///   - policy: The throttle's name.
    ///   - retryAfter: How long until the call's turn would come; nil if never.
    public init(policy: String, retryAfter: Duration?) {
        self.policy = policy
        self.retryAfter = retryAfter
    }

    public var description: String { "Too many calls (\(policy)). \(retryAdvice)" }

    public var failureDetail: FailureDetail { FailureDetail("ThrottleExceeded", policy: policy) }
}
