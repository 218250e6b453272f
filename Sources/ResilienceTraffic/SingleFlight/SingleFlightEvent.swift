public import Resilience

/// An event of a ``SingleFlight``.
public enum SingleFlightEvent: PolicyEventDetail, Equatable {
    /// A call found no flight to join, and began one.
    case began
    /// A call joined a flight.
    ///
    /// `waiting` calls wait for it now, this one included.
    case joined(waiting: Int)
    /// The last call that waited has left, this long after the flight began.
    ///
    /// The operation is cancelled.
    case abandoned(after: Duration)
    /// The operation of an abandoned flight has ended, this long after its last call left.
    case endedLate(by: Duration)

    public var kind: String {
        switch self {
        case .began: "began"
        case .joined: "joined"
        case .abandoned: "abandoned"
        case .endedLate: "endedLate"
        }
    }

    public var severity: PolicyEventSeverity {
        switch self {
        case .began, .joined: .trace
        case .abandoned, .endedLate: .debug
        }
    }

    public var fields: EventFields {
        switch self {
        case .began: [:]
        case .joined(let waiting): ["count": waiting]
        case .abandoned(let time): ["duration": time]
        case .endedLate(let delay): ["late": delay]
        }
    }

    public var description: String {
        switch self {
        case .began: "no flight to join, beginning one"
        case .joined(let waiting): "joined a flight, \(waiting) waiting"
        case .abandoned(let time): "no call waits any more after \(time.text), cancelling"
        case .endedLate(let delay): "abandoned operation ended, \(delay.text) after its last call"
        }
    }
}
