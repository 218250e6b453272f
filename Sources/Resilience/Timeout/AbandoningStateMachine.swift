/// Which came first: the end of the operation, or the departure of its caller.
enum AbandoningStateMachine: UInt8, Equatable {
    /// → ended, → abandoned
    case running
    /// The operation ended while its caller waited.
    case ended
    /// The caller has left, and the operation still runs. → endedLate
    case abandoned
    case endedLate

    enum Departure: Equatable {
        /// There is a result to take.
        case takeResult
        case abandon
    }

    /// Whether the operation may begin. It may be too late, because all threads were busy.
    func mayBegin(at now: MonotonicInstant, before deadline: MonotonicInstant) -> Bool {
        self == .running && now < deadline
    }

    /// - Returns: Whether the caller has left.
    mutating func operationEnded() -> Bool {
        if self == .running { self = .ended }
        if self == .abandoned { self = .endedLate }
        return self == .endedLate
    }

    /// The caller waits no longer, for any reason.
    mutating func callerLeaves() -> Departure {
        if self == .running { self = .abandoned }
        return self == .ended ? .takeResult : .abandon
    }
}
