extension Timeout {
    /// An event of a timeout.
    public enum Event: PolicyEventDetail, Equatable {
        /// A call took longer than this limit.
        case timedOut(Duration)
        /// An operation that an ``AbandoningTimeout`` had abandoned has ended, this long after its call.
        case endedLate(by: Duration)

        public var kind: String {
            switch self {
            case .timedOut: "timedOut"
            case .endedLate: "endedLate"
            }
        }

        public var severity: PolicyEventSeverity {
            switch self {
            case .timedOut: .info
            case .endedLate: .notice
            }
        }

        public var fields: EventFields {
            switch self {
            case .timedOut(let limit): ["limit": limit]
            case .endedLate(let delay): ["late": delay]
            }
        }

        public var description: String {
            switch self {
            case .timedOut(let limit): "timed out after \(limit.text)"
            case .endedLate(let delay): "abandoned operation ended, \(delay.text) after its call"
            }
        }
    }
}
