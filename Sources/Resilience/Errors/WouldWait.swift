/// A policy asked without waiting would have had the call wait.
public struct WouldWait: Rejection, Hashable {
    /// The policy's name.
    public let policy: String
    public let retryAfter: Duration?

    public init(policy: String, retryAfter: Duration?) {
        self.policy = policy
        self.retryAfter = retryAfter
    }

    public var description: String { "\(policy) has no room just now. \(retryAdvice)" }
}
