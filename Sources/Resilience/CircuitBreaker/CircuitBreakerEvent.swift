extension CircuitBreaker {
    public enum Event: PolicyEventDetail, Equatable {
        case allowed(CircuitState)
        case failure(Int, of: Int?)
        /// Opened by its rule, and what that had counted.
        case opened(Int, of: Int?, for: Duration?)
        case refused(retryAfter: Duration?)
        /// All probes are out, and the call waits for their end.
        case waiting
        case halfOpened
        case recovered
        case reopened(for: Duration?)
        /// The break is over, and no probe is asked for.
        case breakEnded
        case reset
        /// Somebody opened it by hand.
        case tripped(for: Duration?)
        /// A result came from a call admitted in an earlier state, and was not counted.
        case late(Verdict)
        case modeChanged(Mode)
        /// Only observing, it stays closed; its rule says open.
        case wouldOpen

        init(_ transition: Circuit.Transition, _ status: CircuitBreakerStatus) {
            let remaining = status.timeRemaining
            self =
                switch (transition.from, transition.to) {
                case (.closed, .open):
                    .opened(status.failureCount, of: status.failureLimit, for: remaining)
                case (.halfOpen, .open): .reopened(for: remaining)
                case (_, .halfOpen): .halfOpened
                case (.halfOpen, .closed): .recovered
                case (.open, .closed), (.closed, .closed): .breakEnded
                case (.open, .open): .reopened(for: remaining)
                }
        }

        public var kind: String {
            switch self {
            case .allowed: "allowed"
            case .failure: "failure"
            case .opened: "opened"
            case .refused: "refused"
            case .waiting: "waiting"
            case .halfOpened: "halfOpened"
            case .recovered: "recovered"
            case .reopened: "reopened"
            case .breakEnded: "breakEnded"
            case .reset: "reset"
            case .tripped: "tripped"
            case .late: "late"
            case .modeChanged: "modeChanged"
            case .wouldOpen: "wouldOpen"
            }
        }

        public var description: String {
            switch self {
            case .allowed(.halfOpen): "half-open, allowing a probe"
            case .allowed(let state): "\(state), allowing call"
            case .failure(let count, let limit): "failure \(Self.count(count, limit))"
            case .opened(let failures, let limit, let length):
                "threshold reached (\(Self.count(failures, limit))) → open\(Self.lasting(length))"
            case .tripped(let length): "opened by hand\(Self.lasting(length))"
            case .refused(let retryAfter?): "open, refusing call (retry in \(retryAfter.wholeSecondsRoundedUp) s)"
            case .refused(nil): "open, refusing call"
            case .waiting: "half-open, call waits for the probe"
            case .halfOpened: "break over → half-open"
            case .recovered: "probe succeeded → closed (recovered)"
            case .reopened(let length): "probe failed → open\(Self.lasting(length))"
            case .breakEnded: "break over → closed"
            case .reset: "reset → closed"
            case .late(let verdict): "late \(verdict) from an earlier state, not counted"
            case .modeChanged(let mode): "set by hand → \(mode)"
            case .wouldOpen: "threshold reached, only observing: would open"
            }
        }

        private static func count(_ count: Int, _ limit: Int?) -> String { "\(count)\(limit.map { "/\($0)" } ?? "")" }

        private static func lasting(_ length: Duration?) -> String {
            length.map { " for \($0.wholeSecondsRoundedUp) s" } ?? ""
        }
    }
}
