extension Timeout {
    public enum Event: PolicyEventDetail, Equatable {
        /// A call is over for its limit.
        case timedOut(Duration)
        /// An operation that an ``AbandoningTimeout`` no longer waited for has ended, so long after its call.
        case endedLate(by: Duration)

        public var kind: String {
            switch self {
            case .timedOut: "timedOut"
            case .endedLate: "endedLate"
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
