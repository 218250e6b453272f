/// It took longer than its ``Timeout`` allows. It may or may not have had its effect.
public struct TimedOut: PolicyError, VerdictConvertible {
    /// The timeout's name.
    public let timeout: String
    public let limit: Duration
    /// What the cancelled inside threw, or ``DeadlinePassed`` if it had no time to begin; nil if it was abandoned, and may
    /// still run.
    public let underlying: (any Error)?

    public init(timeout: String, limit: Duration, underlying: (any Error)?) {
        self.timeout = timeout
        self.limit = limit
        self.underlying = underlying
    }

    public var verdict: Verdict { .transient }

    /// false if there was no time to begin, or a policy inside rejected the call; else nil: what was cancelled may have been
    /// done.
    public var reachedService: Bool? {
        underlying.flatMap { CallFailure($0).reachedService } == false ? false : nil
    }

    /// What ``underlying`` asks for.
    public var retryAfter: Duration? { underlying.flatMap { CallFailure($0).retryAfter } }

    public var description: String { "Timed out after \(limit.text) (\(timeout))" }
}
