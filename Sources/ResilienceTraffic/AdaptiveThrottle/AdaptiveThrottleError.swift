public import Resilience

/// An adaptive throttle rejected the call, because the service accepts too few calls.
///
/// The call did not run.
public struct AdaptiveThrottleExceeded: Rejection, Hashable {
    /// The throttle's name.
    public let policy: String
    /// The share of calls that was rejected at that time, 0…1.
    public let rejection: Double
    /// Always nil: another call may get through at once.
    public var retryAfter: Duration? { nil }

    /// Creates an error for a rejected call.
    ///
    /// - Parameters:
    ///   - policy: The throttle's name.
    ///   - rejection: The share of calls that was rejected at that time, 0…1.
    public init(policy: String, rejection: Double) {
        self.policy = policy
        self.rejection = rejection
    }

    public var description: String { "The service accepts too few calls (\(policy)). \(retryAdvice)" }
}

extension AdaptiveThrottleExceeded: FailureDescribing {
    public var failureDetail: FailureDetail { FailureDetail("AdaptiveThrottleExceeded", policy: policy) }
}
