extension Retry {
    /// What a retry tells the observers of its pipeline.
    public enum Event: PolicyEventDetail, Equatable {
        /// This attempt failed, of at most this many; the next one begins after this wait.
        case retrying(attempt: Int, of: Int, after: Duration, Verdict)
        /// This attempt failed, and no further one is made. Attempts that a policy rejected are not counted: 0 if no
        /// attempt ran.
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
            case .gaveUp: .warning
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
