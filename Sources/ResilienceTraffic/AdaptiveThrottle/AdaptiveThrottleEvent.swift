public import Resilience

extension AdaptiveThrottle {
    /// An event of an adaptive throttle.
    public enum Event: PolicyEventDetail, Equatable {
        /// The service accepts too few calls: this share of them, 0…1, is rejected from now on, until the share
        /// changes.
        case began(Double)
        /// The call was rejected.
        ///
        /// Its value is the share of calls that is rejected, 0…1.
        case rejected(Double)
        /// The service accepts enough calls again: no call is rejected from now on.
        case ended

        public var kind: String {
            switch self {
            case .began: "began"
            case .rejected: "rejected"
            case .ended: "ended"
            }
        }

        public var severity: PolicyEventSeverity {
            switch self {
            case .began: .warning
            case .rejected: .debug
            case .ended: .notice
            }
        }

        public var fields: EventFields {
            switch self {
            case .began(let share), .rejected(let share): ["rejection_percent": Int((share * 100).rounded())]
            case .ended: [:]
            }
        }

        public var description: String {
            switch self {
            case .began(let share): "too few calls are accepted, rejecting \(share.percent) % of calls"
            case .rejected(let share): "rejecting call, as \(share.percent) % of calls"
            case .ended: "enough calls are accepted, rejecting none"
            }
        }
    }
}

extension Double {
    /// The share in whole percent; at least 1 unless the share is 0.
    fileprivate var percent: Int { self > 0 ? Swift.max(1, Int((self * 100).rounded())) : 0 }
}
