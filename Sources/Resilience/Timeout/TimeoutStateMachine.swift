/// What came first: the limit, the caller's cancellation, or the end.
enum TimeoutStateMachine: UInt8, Equatable {
    /// → expired, → cancelled, → ended
    case running
    /// The limit passed while the inside ran. What it throws now is because of that.
    case expired
    /// The caller was cancelled while the inside ran. What it throws now is thrown to the caller.
    case cancelled
    case ended

    enum Answer: Equatable {
        case cancelInside
        case nothing
    }

    mutating func limitPassed() -> Answer { leaveRunning(for: .expired) }

    mutating func callerCancelled() -> Answer { leaveRunning(for: .cancelled) }

    mutating func insideEnded() {
        if self == .running { self = .ended }
    }

    private mutating func leaveRunning(for state: TimeoutStateMachine) -> Answer {
        guard self == .running else { return .nothing }
        self = state
        return .cancelInside
    }
}
