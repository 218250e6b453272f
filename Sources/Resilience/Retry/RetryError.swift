/// A call failed in its last attempt too: thrown instead of the last error if a ``Retry`` is made with
/// `wrapsLastError: true`.
public struct RetriesExhausted: Error, VerdictConvertible, CustomStringConvertible {
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

    public var description: String {
        "Gave up after \(history.attempts) failed attempt\(history.attempts == 1 ? "" : "s") (\(reason)): \(lastError)"
    }
}
