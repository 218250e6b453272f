extension CircuitBreaker {
    /// An event of a breaker.
    public enum Event: PolicyEventDetail, Equatable {
        /// A call was let through, in this state.
        case allowed(CircuitState)
        /// A failure was counted: the count, and the limit that opens the circuit, if there is one.
        case failure(Int, of: Int?)
        /// The rule was met, and the circuit opened: the rule's count, its limit if there is one, and the length of the
        /// break.
        case opened(Int, of: Int?, for: Duration?)
        /// A call was rejected.
        case rejected(retryAfter: Duration?)
        /// All probes are in flight; the call waits for them to end.
        case waiting
        /// The break is over; probes may be let through.
        case halfOpened
        /// Enough probes succeeded, and the ramp, if there is one, is over: the circuit closed.
        case recovered
        /// Too many probes failed, or the rule was met during the ramp: the circuit opened again, for this long.
        case reopened(for: Duration?)
        /// The break is over, and the circuit closed without a probe.
        case breakEnded
        /// The circuit was reset by hand, and was not closed before.
        case reset
        /// The circuit was opened by hand, for this long.
        case tripped(for: Duration?)
        /// The break was ended by hand: the circuit is half-open and the next call is a probe, or the circuit has no
        /// probes and is closed.
        case breakEndedByHand(CircuitState)
        /// A call that was admitted in an earlier state ended.
        ///
        /// It was not counted.
        case late(Verdict)
        /// The mode was set: by hand, or by settings.
        case modeChanged(Mode)
        /// The rule was met, but the breaker is only observing and stays closed.
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
            case .rejected: "rejected"
            case .waiting: "waiting"
            case .halfOpened: "halfOpened"
            case .recovered: "recovered"
            case .reopened: "reopened"
            case .breakEnded: "breakEnded"
            case .reset: "reset"
            case .tripped: "tripped"
            case .breakEndedByHand: "breakEndedByHand"
            case .late: "late"
            case .modeChanged: "modeChanged"
            case .wouldOpen: "wouldOpen"
            }
        }

        public var severity: PolicyEventSeverity {
            switch self {
            case .allowed(.halfOpen): .debug
            case .allowed: .trace
            case .failure, .rejected, .waiting, .late: .debug
            case .halfOpened: .info
            case .recovered, .breakEnded, .breakEndedByHand, .reset, .modeChanged: .notice
            case .opened, .reopened, .tripped, .wouldOpen: .warning
            }
        }

        public var fields: EventFields {
            switch self {
            case .allowed(let state), .breakEndedByHand(let state): ["state": state.rawValue]
            case .failure(let count, let limit): ["failures": count, "failure_limit": limit]
            case .opened(let count, let limit, let length):
                ["failures": count, "failure_limit": limit, "break": length]
            case .rejected(let wait): ["retry_after": wait]
            case .reopened(let length), .tripped(let length): ["break": length]
            case .late(let verdict): verdict.fields
            case .modeChanged(let mode): ["mode": "\(mode)"]
            case .waiting, .halfOpened, .recovered, .breakEnded, .reset, .wouldOpen: [:]
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
            case .breakEndedByHand(let state): "break ended by hand → \(state == .halfOpen ? "half-open" : "\(state)")"
            case .rejected(let retryAfter?): "open, rejecting call (retry in \(retryAfter.wholeSecondsRoundedUp) s)"
            case .rejected(nil): "open, rejecting call"
            case .waiting: "half-open, call waits for the probe"
            case .halfOpened: "break over → half-open"
            case .recovered: "probe succeeded → closed (recovered)"
            case .reopened(let length): "probe failed → open\(Self.lasting(length))"
            case .breakEnded: "break over → closed"
            case .reset: "reset → closed"
            case .late(let verdict): "late \(verdict) from an earlier state, not counted"
            case .modeChanged(let mode): "mode set → \(mode)"
            case .wouldOpen: "threshold reached, only observing: would open"
            }
        }

        private static func count(_ count: Int, _ limit: Int?) -> String { "\(count)\(limit.map { "/\($0)" } ?? "")" }

        private static func lasting(_ length: Duration?) -> String {
            length.map { " for \($0.wholeSecondsRoundedUp) s" } ?? ""
        }
    }
}
