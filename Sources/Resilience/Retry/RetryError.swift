/// A call was given up after its last attempt failed: thrown instead of the last error if the ``Retry`` was made with
/// `wrapsLastError: true`.
public struct RetriesExhausted: PolicyError, VerdictConvertible, FailureDescribing {
    /// Why no further attempt is made.
    public enum Reason: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
        /// All `maxRetries` have been made, a backoff sequence that stops has ended, or the wait is infinite.
        case attemptsExhausted
        /// The next attempt would begin at the call's deadline or later.
        case deadlineTooNear
        /// The other side, or a policy that rejected the attempt, named a wait above `retryAfterCeiling`.
        case retryAfterTooLong
        /// The next attempt would begin more than `maxElapsed` after the first.
        case elapsedTooLong
        /// The budget allows no retry for this call.
        case budgetExhausted
        /// The call must not be repeated (``RunOptions/isIdempotent`` is false); or its request has effects, such as a
        /// POST, and the failed attempt may have had these effects.
        case notIdempotent
        /// The failed attempt may have had its effect, and nothing says that the call may be repeated.
        ///
        /// `isIdempotent: true` says so, on the ``Pipeline`` or in the call's ``RunOptions``.
        case effectUnknown
        /// A policy rejected a further attempt, for example an open circuit.
        case rejected
        /// The request that the task answers is itself a retry: its caller tries again.
        ///
        /// See ``CallOrigin``.
        case callerRetries

        public var description: String {
            switch self {
            case .attemptsExhausted: "no attempt is left"
            case .deadlineTooNear: "the deadline is too near"
            case .retryAfterTooLong: "the wait that was asked for is too long"
            case .elapsedTooLong: "too much time has passed"
            case .budgetExhausted: "the retry budget is exhausted"
            case .notIdempotent: "it must not be done twice, and may have been done"
            case .effectUnknown: "it may have been done; if it may be done twice, say isIdempotent: true"
            case .rejected: "a further attempt was rejected"
            case .callerRetries: "the caller retries by itself"
            }
        }
    }

    /// Why no further attempt was made.
    public let reason: Reason
    /// The error of the last attempt that no policy rejected; the rejection itself if all attempts were rejected.
    public let lastError: any Error
    /// The verdict of ``lastError``.
    public let verdict: Verdict
    /// The failed attempts of the call.
    public let history: RetryHistory

    /// Creates an error for a call that was given up.
    ///
    /// - Parameters:
    ///   - reason: Why no further attempt was made.
    ///   - lastError: The error of the last attempt that no policy rejected.
    ///   - verdict: The verdict of `lastError`.
    ///   - history: The failed attempts of the call.
    public init(reason: Reason, lastError: any Error, verdict: Verdict, history: RetryHistory) {
        self.reason = reason
        self.lastError = lastError
        self.verdict = verdict
        self.history = history
    }

    /// The error with which a policy rejected the last attempt; nil if none did.
    public var rejection: (any Rejection)? { history.failures.last?.error as? any Rejection }

    public var underlying: (any Error)? { lastError }

    /// true if the other side answered any attempt, false if policies rejected all of them, nil if unknown.
    public var reachedService: Bool? {
        history.count > 0 ? history.reachedService : CallFailure(lastError).reachedService
    }

    /// The time until another call may succeed: the wait named by the policy that rejected the last attempt, or else by
    /// the other side.
    ///
    /// nil if none was named.
    public var retryAfter: Duration? {
        if let rejection { return rejection.retryAfter }
        return verdict.retryAfter ?? CallFailure(lastError).retryAfter
    }

    public var description: String {
        "Gave up after \(history.attempts) failed attempt\(history.attempts == 1 ? "" : "s") (\(reason)): \(lastError)"
    }

    /// The detail of ``lastError``.
    public var failureDetail: FailureDetail { FailureDetail(of: lastError) }
}

extension RetryHistory {
    fileprivate var reachedService: Bool? {
        // A result is an answer, even if it means failure.
        let answers = failures.map { failure in failure.error.map { CallFailure($0).reachedService } ?? true }
        if answers.contains(true) { return true }
        return count == answers.count && answers.allSatisfy { $0 == false } ? false : nil
    }
}
