extension Throttle {
    /// An event of a throttle.
    public enum Event: PolicyEventDetail, Equatable {
        /// A call was rejected; its turn would come after this time, nil if never.
        case rejected(retryAfter: Duration?)
        /// The other side asked for fewer calls: all calls are held for this time.
        case held(for: Duration)
        /// The hold was ended by hand: the next call is a probe.
        case holdEnded

        public var kind: String {
            switch self {
            case .rejected: "rejected"
            case .held: "held"
            case .holdEnded: "holdEnded"
            }
        }

        public var severity: PolicyEventSeverity {
            switch self {
            case .rejected: .debug
            case .held, .holdEnded: .notice
            }
        }

        public var fields: EventFields {
            switch self {
            case .rejected(let wait): ["retry_after": wait]
            case .held(let length): ["wait": length]
            case .holdEnded: [:]
            }
        }

        public var description: String {
            switch self {
            case .rejected(let retryAfter?): "rejecting call (retry in \(retryAfter.wholeSecondsRoundedUp) s)"
            case .rejected(nil): "rejecting call"
            case .held(let length): "rate limited → holding all calls for \(length.text)"
            case .holdEnded: "hold ended by hand → the next call probes"
            }
        }
    }
}
