extension Retry {
    public enum Event: PolicyEventDetail, Equatable {
        /// Attempt `attempt` failed; the next comes after this wait.
        case retrying(attempt: Int, of: Int, after: Duration, Verdict)
        /// Attempt `attempt` failed and was the last. Those that a policy refused are not counted: 0 if no attempt ran.
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
        case attemptsExhausted
        /// The next attempt would begin after the call's deadline.
        case deadlineTooNear
        /// The other side, or a policy of ours, named a wait above the ceiling.
        case retryAfterTooLong
        /// The next attempt would begin too long after the first.
        case elapsedTooLong
        /// The budget has no retry left for this call.
        case budgetExhausted
        /// The caller said that it must not be done twice, and it may have been done.
        case notIdempotent
        /// A policy of ours refused a further attempt: an open circuit, say.
        case refused

        public var description: String {
            switch self {
            case .attemptsExhausted: "no attempt is left"
            case .deadlineTooNear: "the deadline is too near"
            case .retryAfterTooLong: "the wait that was asked for is too long"
            case .elapsedTooLong: "too much time has passed"
            case .budgetExhausted: "the retry budget is exhausted"
            case .notIdempotent: "it must not be done twice, and may have been done"
            case .refused: "a further attempt was refused"
            }
        }
    }
}
