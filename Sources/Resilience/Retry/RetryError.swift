/// A call failed in its last attempt too: thrown instead of the last error if a ``Retry`` is made with
/// `wrapsLastError: true`.
public struct RetriesExhausted: PolicyError, VerdictConvertible {
    public let reason: Retry.GivingUp
    /// What the last attempt threw that was not refused by a policy of ours.
    public let lastError: any Error
    /// What that means.
    public let verdict: Verdict
    public let history: RetryHistory

    public init(reason: Retry.GivingUp, lastError: any Error, verdict: Verdict, history: RetryHistory) {
        self.reason = reason
        self.lastError = lastError
        self.verdict = verdict
        self.history = history
    }

    /// What a policy of ours refused the last attempt with; nil if none did.
    public var rejection: (any Rejection)? { history.failures.last?.error as? any Rejection }

    public var underlying: (any Error)? { lastError }

    /// true if the other side answered any attempt, false if policies refused them all.
    public var reachedService: Bool? {
        history.count > 0 ? history.reachedService : CallFailure(lastError).reachedService
    }

    /// What a policy that refused the last attempt asks for, or the other side.
    public var retryAfter: Duration? {
        if let rejection { return rejection.retryAfter }
        return verdict.retryAfter ?? CallFailure(lastError).retryAfter
    }

    public var description: String {
        "Gave up after \(history.attempts) failed attempt\(history.attempts == 1 ? "" : "s") (\(reason)): \(lastError)"
    }
}

extension RetryHistory {
    fileprivate var reachedService: Bool? {
        // A result that means failure is an answer.
        let answers = failures.map { failure in failure.error.map { CallFailure($0).reachedService } ?? true }
        if answers.contains(true) { return true }
        return count == answers.count && answers.allSatisfy { $0 == false } ? false : nil
    }
}
