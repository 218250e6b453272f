public import Resilience

/// An ``EndpointPool`` has no endpoint for the call, which did not run: its list is empty, or all are ejected.
public struct NoEndpoint: Rejection, Hashable {
    /// The pool's name.
    public let policy: String
    /// The number of endpoints in the list, all of which are ejected.
    public let count: Int
    /// The time until the first endpoint returns; nil if no ejection has an end.
    public let retryAfter: Duration?

    /// Creates an error for a call without an endpoint.
    ///
    /// - Parameters:
    ///   - policy: The pool's name.
    ///   - count: The number of endpoints in the list.
    ///   - retryAfter: The time until the first endpoint returns; nil if no ejection has an end.
    public init(policy: String, count: Int, retryAfter: Duration?) {
        self.policy = policy
        self.count = count
        self.retryAfter = retryAfter
    }

    public var description: String {
        let reason = count == 0 ? "the list is empty" : "all \(count) are ejected"
        return "No endpoint is available (\(policy)): \(reason). \(retryAdvice)"
    }
}

extension NoEndpoint: FailureDescribing {
    public var failureDetail: FailureDetail { FailureDetail("NoEndpoint", policy: policy) }
}
