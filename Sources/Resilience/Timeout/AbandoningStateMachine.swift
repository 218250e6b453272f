/// Which of two was done first: the operation, or whoever waits for it.
enum AbandoningStateMachine: UInt8, Equatable {
    /// → ended, → abandoned
    case running
    /// The operation ended while its caller waited.
    case ended
    /// The caller has gone, and the operation still runs. → endedLate
    case abandoned
    case endedLate

    enum Departure: Equatable {
        /// There is a result to take.
        case takeResult
        case abandon
    }

    /// - Returns: whether nobody waits for it any more.
    mutating func operationEnded() -> Bool {
        if self == .running { self = .ended }
        if self == .abandoned { self = .endedLate }
        return self == .endedLate
    }

    /// The caller waits no longer, for whatever reason.
    mutating func callerLeaves() -> Departure {
        if self == .running { self = .abandoned }
        return self == .ended ? .takeResult : .abandon
    }
}
