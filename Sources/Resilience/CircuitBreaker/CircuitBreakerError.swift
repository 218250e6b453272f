/// A circuit breaker rejected the call; the endpoint was not reached.
public struct CircuitOpen: Rejection, Hashable, FailureDescribing {
    /// Why the call was rejected.
    public enum Reason: String, Sendable, Hashable {
        /// The endpoint failed too often, and the break is not over.
        case open
        /// The break is over, and probes or a health check are finding out whether the endpoint has recovered.
        case probing
        /// The breaker was isolated by hand.
        case isolated
    }

    /// The breaker's name.
    public let policy: String
    /// Why the call was rejected.
    public let reason: Reason
    private let wait: RejectionWait

    /// Creates an error for a rejected call.
    ///
    /// - Parameters:
    ///   - policy: The breaker's name.
    ///   - reason: Why the call was rejected.
    ///   - retryAfter: The time until a call may be let through; nil if unknown.
    public init(policy: String, reason: Reason = .open, retryAfter: Duration?) {
        self.policy = policy
        self.reason = reason
        wait = RejectionWait(retryAfter)
    }

    init(policy: String, reason: Reason, until: MonotonicInstant?, on timeBase: any TimeBase) {
        self.policy = policy
        self.reason = reason
        wait = RejectionWait(until: until, on: timeBase)
    }

    /// The time from now until a call may be let through; zero if that time has come; nil if unknown.
    public var retryAfter: Duration? { wait.remaining }

    /// A message for people.
    public var description: String {
        switch reason {
        case .open, .probing: "Service temporarily unavailable due to repeated failures. \(retryAdvice)"
        case .isolated: "Service temporarily unavailable: it was taken out of use. \(retryAdvice)"
        }
    }

    public static func == (lhs: CircuitOpen, rhs: CircuitOpen) -> Bool {
        lhs.policy == rhs.policy && lhs.reason == rhs.reason && lhs.retryAfter == rhs.retryAfter
    }

    /// Hashes the name and the reason, but not the wait, because it shrinks.
    /// - Parameter hasher: The hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(policy)
        hasher.combine(reason)
    }

    public var failureDetail: FailureDetail { FailureDetail("CircuitOpen", code: reason.rawValue, policy: policy) }
}
