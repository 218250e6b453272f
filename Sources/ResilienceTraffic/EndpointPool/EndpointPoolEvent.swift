public import Resilience

/// An event of an ``EndpointPool``.
///
/// Endpoints are named by their description.
public enum EndpointPoolEvent: PolicyEventDetail, Equatable {
    /// An endpoint gets no calls for this long.
    case ejected(String, EjectionReason, for: Duration)
    /// An endpoint would have been ejected, but the limit of ejections is reached.
    case notEjected(String, EjectionReason)
    /// An endpoint gets calls again.
    case returned(String)
    /// Only `left` of `of` endpoints are left, so all endpoints are used, even ejected ones.
    case panicBegan(left: Int, of: Int)
    /// Enough endpoints are left again: ejected ones get no calls.
    case panicEnded

    public var kind: String {
        switch self {
        case .ejected: "ejected"
        case .notEjected: "notEjected"
        case .returned: "returned"
        case .panicBegan: "panicBegan"
        case .panicEnded: "panicEnded"
        }
    }

    public var severity: PolicyEventSeverity {
        switch self {
        case .ejected, .notEjected, .panicBegan: .warning
        case .returned, .panicEnded: .notice
        }
    }

    public var fields: EventFields {
        switch self {
        case .ejected(let endpoint, let reason, let time):
            ["endpoint": endpoint, "reason": reason.name, "duration": time]
        case .notEjected(let endpoint, let reason): ["endpoint": endpoint, "reason": reason.name]
        case .returned(let endpoint): ["endpoint": endpoint]
        case .panicBegan(let left, _): ["count": left]
        case .panicEnded: [:]
        }
    }

    public var description: String {
        switch self {
        case .ejected(let endpoint, let reason, let time):
            "ejected \(endpoint) \(time == .infinite ? "until it is restored" : "for \(time.text)"): \(reason)"
        case .notEjected(let endpoint, let reason): "too many are ejected, keeping \(endpoint): \(reason)"
        case .returned(let endpoint): "\(endpoint) gets calls again"
        case .panicBegan(let left, let count): "only \(left) of \(count) endpoints left, using all"
        case .panicEnded: "enough endpoints left, using those"
        }
    }
}

extension EjectionReason {
    /// The event's name without details, for searching logs.
    fileprivate var name: String {
        switch self {
        case .consecutiveFailures: "consecutiveFailures"
        case .deviation: "deviation"
        case .failureShare: "failureShare"
        case .byHand: "byHand"
        }
    }
}
