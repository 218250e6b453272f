/// The call took longer than its ``Timeout`` allows.
///
/// It may or may not have had its effect.
public struct TimedOut: PolicyError, TimeLimitError, VerdictConvertible, FailureDescribing {
    /// The timeout's name.
    public let policy: String
    /// The limit that was exceeded.
    public let limit: Duration
    /// The error that the operation or an inner policy threw after its cancellation, or ``DeadlinePassed`` if there was
    /// no time to begin; nil if the operation was abandoned, and may still run.
    public let underlying: (any Error)?

    /// Creates an error for a call that took too long.
    ///
    /// - Parameters:
    ///   - policy: The timeout's name.
    ///   - limit: The limit that was exceeded.
    ///   - underlying: The error that the operation or an inner policy threw after its cancellation; nil if the
    ///     operation was abandoned.
    public init(policy: String, limit: Duration, underlying: (any Error)?) {
        self.policy = policy
        self.limit = limit
        self.underlying = underlying
    }

    /// Uncertain, since the call may have had its effect; transient if ``underlying`` says that it had none.
    ///
    /// If the other side named a wait, or asked for no repetition, the verdict takes over that wait or request from
    /// ``underlying``.
    public var verdict: Verdict {
        let inside = (underlying as? any VerdictConvertible)?.verdict
        let hadNoEffect = reachedService == false || inside?.kind == .transient
        return Verdict(
            hadNoEffect ? .transient : .uncertain, retryAfter: inside?.retryAfter,
            shouldRetry: inside?.shouldRetry == false ? false : nil)
    }

    /// false if the operation had no time to begin, or an inner policy rejected the call; else nil, since the cancelled
    /// operation may have had its effect.
    public var reachedService: Bool? {
        underlying.flatMap { CallFailure($0).reachedService } == false ? false : nil
    }

    /// The wait that ``underlying`` names; nil if it names none.
    public var retryAfter: Duration? { underlying.flatMap { CallFailure($0).retryAfter } }

    public var description: String { "Timed out after \(limit.text) (\(policy))" }

    public var failureDetail: FailureDetail { FailureDetail("TimedOut", code: limit.text, policy: policy) }
}
