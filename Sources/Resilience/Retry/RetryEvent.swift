extension Retry {
    /// What a retry tells the observers of its pipeline.
    public enum Event: PolicyEventDetail, Equatable {
        /// This attempt failed, of at most this many; the next one begins after this wait.
        case retrying(attempt: Int, of: Int, after: Duration, Verdict)
        /// This attempt failed, and no further one is made. Attempts that a policy rejected are not counted: 0 if no
        /// attempt ran.
        case gaveUp(attempt: Int, GivingUp)

        public var kind: String {
            switch self {
            case .retrying: "retrying"
            case .gaveUp: "gaveUp"
            }
        }

        public var description: String {
            switch self {
            case .retrying(let attempt, let limit, let wait, let verdict):
                "attempt \(attempt) of \(limit) failed (\(verdict)), trying again in \(wait.text)"
            case .gaveUp(0, let reason): "gave up without an attempt: \(reason)"
            case .gaveUp(let attempt, let reason): "gave up after attempt \(attempt): \(reason)"
            }
        }
    }

    /// Why no further attempt is made.
    public enum GivingUp: Sendable, Hashable, CaseIterable, CustomStringConvertible {
        /// All `maxRetries` have been made, or the backoff is a sequence that stops and has ended.
        case attemptsExhausted
        /// The next attempt would begin at the call's deadline or later.
        case deadlineTooNear
        /// The other side, or a policy that rejected the attempt, named a wait above `retryAfterCeiling`.
        case retryAfterTooLong
        /// The next attempt would begin more than `maxElapsed` after the first.
        case elapsedTooLong
        /// The budget allows no retry for this call.
        case budgetExhausted
        /// The call is not idempotent (``RunOptions/isIdempotent`` is false), and the failed attempt may have had its
        /// effect.
        case notIdempotent
        /// A policy rejected a further attempt, for example an open circuit.
        case rejected

        public var description: String {
            switch self {
            case .attemptsExhausted: "no attempt is left"
            case .deadlineTooNear: "the deadline is too near"
            case .retryAfterTooLong: "the wait that was asked for is too long"
            case .elapsedTooLong: "too much time has passed"
            case .budgetExhausted: "the retry budget is exhausted"
            case .notIdempotent: "it must not be done twice, and may have been done"
            case .rejected: "a further attempt was rejected"
            }
        }
    }
}
