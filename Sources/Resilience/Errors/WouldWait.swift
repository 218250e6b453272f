/// ``Policy/tryAcquire(options:)`` asked a policy that would have made the call wait.
public struct WouldWait: Rejection, Hashable, FailureDescribing {
    /// The policy's name.
    public let policy: String
    /// The time that the call would have waited; nil if the policy can't tell.
    public let retryAfter: Duration?

    /// Creates the error.
    ///
    /// - Parameters:
    ///   - policy: The policy's name.
    ///   - retryAfter: The time that the call would have waited; nil if the policy can't tell.
    public init(policy: String, retryAfter: Duration?) {
        self.policy = policy
        self.retryAfter = retryAfter
    }

    public var description: String { "\(policy) has no room just now. \(retryAdvice)" }

    public var failureDetail: FailureDetail { FailureDetail("WouldWait", policy: policy) }
}
