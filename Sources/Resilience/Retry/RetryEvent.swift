extension Retry {
    /// An event of a retry.
    public enum Event: PolicyEventDetail, Equatable {
        /// This attempt, of at most this many, failed; the next one begins after this wait.
        case retrying(attempt: Int, of: Int, after: Duration, Verdict)
        /// This attempt failed, and no further one is made.
        ///
        /// Attempts that a policy rejected are not counted: 0 if no attempt ran.
        case gaveUp(attempt: Int, RetriesExhausted.Reason)

        public var kind: String {
            switch self {
            case .retrying: "retrying"
            case .gaveUp: "gaveUp"
            }
        }

        public var severity: PolicyEventSeverity {
            switch self {
            case .retrying: .debug
            // The end of the call reports its failure.
            case .gaveUp(_, let reason): reason.severity
            }
        }

        public var fields: EventFields {
            switch self {
            case .retrying(let attempt, let limit, let wait, let verdict):
                ["attempt": attempt, "max_attempts": limit, "wait": wait] + verdict.fields
            case .gaveUp(let attempt, let reason): ["attempt": attempt, "reason": reason.rawValue]
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
}

extension RetriesExhausted.Reason {
    /// Higher if an operator can do something about the reason.
    fileprivate var severity: PolicyEventSeverity {
        switch self {
        case .budgetExhausted, .retryAfterTooLong: .warning
        case .effectUnknown: .info
        case .attemptsExhausted, .deadlineTooNear, .elapsedTooLong, .notIdempotent, .rejected, .callerRetries: .debug
        }
    }
}
