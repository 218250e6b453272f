/// A throttle rejected the call; it did not run.
public struct ThrottleExceeded: Rejection, Hashable, FailureDescribing {
    /// The throttle's name.
    public let policy: String
    private let wait: RejectionWait

    /// Creates an error for a rejected call.
    ///
    /// - Parameters:
    ///   - policy: The throttle's name.
    ///   - retryAfter: How long until the call's turn would come; nil if never.
    public init(policy: String, retryAfter: Duration?) {
        self.policy = policy
        wait = RejectionWait(retryAfter)
    }

    init(policy: String, until: MonotonicInstant, on timeBase: any TimeBase) {
        self.policy = policy
        wait = RejectionWait(until: until == .distantFuture ? nil : until, on: timeBase)
    }

    /// The time until the call's turn would come; for a hold with a known end, the time left now, or zero if it is
    /// over.
    ///
    /// nil if the call's cost exceeds the burst or the limit of the window.
    public var retryAfter: Duration? { wait.remaining }

    public var description: String { "Too many calls (\(policy)). \(retryAdvice)" }

    public static func == (lhs: ThrottleExceeded, rhs: ThrottleExceeded) -> Bool {
        lhs.policy == rhs.policy && lhs.retryAfter == rhs.retryAfter
    }

    /// Hashes the name, but not the wait, because it shrinks.
    /// - Parameter hasher: The hasher.
    public func hash(into hasher: inout Hasher) { hasher.combine(policy) }

    public var failureDetail: FailureDetail { FailureDetail("ThrottleExceeded", policy: policy) }
}
