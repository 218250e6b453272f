extension Throttle {
    public enum Event: PolicyEvent, Equatable {
        case refused(retryAfter: Duration?)
        /// The other side asked for fewer calls: everybody waits.
        case held(for: Duration)

        public var kind: String {
            switch self {
            case .refused: "refused"
            case .held: "held"
            }
        }

        public var description: String {
            switch self {
            case .refused(let retryAfter?): "refusing call (retry in \(retryAfter.wholeSecondsRoundedUp) s)"
            case .refused(nil): "refusing call"
            case .held(let length): "rate limited → holding all calls for \(length.text)"
            }
        }
    }
}

/// A throttle refused the call; it did not run.
public struct Throttled: Rejection, Hashable {
    /// The throttle's name.
    public let throttle: String
    /// When its turn would come; nil if never, since it costs more than the throttle ever has.
    public let retryAfter: Duration?

    public init(throttle: String, retryAfter: Duration?) {
        self.throttle = throttle
        self.retryAfter = retryAfter
    }

    public var description: String { "Too many calls (\(throttle)). \(retryAdvice)" }
}
