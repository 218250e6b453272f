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

    enum Entry: Equatable {
        /// The inside may take until `expiry`, and its deadline is `deadline`.
        case begin(expiry: MonotonicInstant, deadline: MonotonicInstant)
        /// The limit leaves no time to begin.
        case timedOut
        /// The call's deadline has passed.
        case deadlinePassed
    }

    /// - Parameters:
    ///   - limit: In nanoseconds.
    ///   - deadline: The call's.
    static func enter(at now: MonotonicInstant, limit: Int64, deadline: MonotonicInstant) -> Entry {
        let expiry = MonotonicInstant(nanoseconds: now.nanoseconds.saturatingAdding(limit))
        guard expiry > now else { return .timedOut }
        guard deadline > now else { return .deadlinePassed }
        return .begin(expiry: expiry, deadline: min(deadline, expiry))
    }

    /// The inside's task begins, and can be seen. Whatever came before could not cancel it.
    var insideBegins: Answer { self == .running ? .nothing : .cancelInside }

    mutating func limitPassed() -> Answer { leaveRunning(for: .expired) }

    mutating func callerCancelled() -> Answer { leaveRunning(for: .cancelled) }

    mutating func insideEnded() {
        if self == .running { self = .ended }
    }

    /// A client that is given the deadline may end by itself just before the alarm rings. Then what it throws is because
    /// of the limit, too.
    mutating func insideThrew(at now: MonotonicInstant, expiry: MonotonicInstant) {
        if self == .running { self = now >= expiry ? .expired : .ended }
    }

    private mutating func leaveRunning(for state: TimeoutStateMachine) -> Answer {
        guard self == .running else { return .nothing }
        self = state
        return .cancelInside
    }
}
