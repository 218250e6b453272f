/// Which came first: the limit, the caller's cancellation, or the end of the inside.
@usableFromInline enum TimeoutStateMachine: UInt8, Sendable, Equatable {
    /// → expired, → cancelled, → ended
    case running
    /// The limit passed while the inside ran: that is why the inside throws.
    case expired
    /// The caller was cancelled while the inside ran. The caller gets the error of the inside.
    case cancelled
    case ended

    enum Answer: Equatable {
        case cancelInside
        case nothing
    }

    enum Entry: Equatable {
        /// The inside may take until this instant.
        case begin(until: MonotonicInstant)
        /// The limit leaves no time to begin.
        case timedOut
        /// The call's deadline has passed.
        case deadlinePassed
    }

    /// - Parameters:
    ///   - limit: In nanoseconds.
    ///   - deadline: The call's deadline.
    static func enter(at now: MonotonicInstant, limit: Int64, deadline: MonotonicInstant) -> Entry {
        let expiry = MonotonicInstant(nanoseconds: now.nanoseconds.saturatingAdding(limit))
        guard expiry > now else { return .timedOut }
        guard deadline > now else { return .deadlinePassed }
        return .begin(until: expiry)
    }

    /// The answer when the inside's task begins: earlier inputs could not cancel the task yet.
    var insideBegins: Answer { self == .running ? .nothing : .cancelInside }

    mutating func limitPassed() -> Answer { leaveRunning(for: .expired) }

    mutating func callerCancelled() -> Answer { leaveRunning(for: .cancelled) }

    mutating func insideEnded() {
        if self == .running { self = .ended }
    }

    /// A client that knows the deadline may end its operation just before the alarm fires. Its error is also due to the
    /// limit.
    mutating func insideThrew(at now: MonotonicInstant, expiry: MonotonicInstant) {
        if self == .running { self = now >= expiry ? .expired : .ended }
    }

    private mutating func leaveRunning(for state: TimeoutStateMachine) -> Answer {
        guard self == .running else { return .nothing }
        self = state
        return .cancelInside
    }
}

/// The limits of two timeouts, one inside of the other.
struct NestedLimits: Sendable, Equatable {
    let inner: MonotonicInstant
    /// The distant future if there is no outer timeout, or if it has a task of its own.
    var outer = MonotonicInstant.distantFuture

    var earliest: MonotonicInstant { min(inner, outer) }
    /// Whether the outer limit comes first, or at the same instant as the inner one.
    var outerIsFirst: Bool { outer <= inner }
}

/// A timeout inside another timeout that has no task of its own: when the outer one ends, the inside of the inner one
/// is cancelled.
struct NestedTimeoutsStateMachine: Sendable, Hashable {
    typealias Answer = TimeoutStateMachine.Answer

    private(set) var inner = TimeoutStateMachine.running
    private(set) var outer = TimeoutStateMachine.running

    var insideBegins: Answer { inner.insideBegins }

    /// The earlier of the two limits passed.
    mutating func limitPassed(of limits: NestedLimits) -> Answer {
        limits.outerIsFirst ? end(outer.limitPassed()) : inner.limitPassed()
    }

    mutating func callerCancelled(at now: MonotonicInstant, _ limits: NestedLimits) -> Answer {
        // After the inner limit, no alarm reports the outer limit: check whether it passed before the cancellation.
        let outerPassed = inner == .expired && now >= limits.outer
        return end(outerPassed ? outer.limitPassed() : outer.callerCancelled())
    }

    mutating func insideEnded() { inner.insideEnded() }

    mutating func insideThrew(at now: MonotonicInstant, _ limits: NestedLimits) {
        // The outer timeout continues, perhaps with another attempt, unless its limit has passed.
        let outerPassed = now >= limits.outer ? outer.limitPassed() : .nothing
        if limits.outerIsFirst { _ = end(outerPassed) }
        inner.insideThrew(at: now, expiry: limits.inner)
    }

    /// - Parameter answer: The outer timeout's answer.
    private mutating func end(_ answer: Answer) -> Answer {
        answer == .cancelInside ? inner.callerCancelled() : .nothing
    }
}

extension NestedTimeoutsStateMachine: RawRepresentable {
    var rawValue: UInt16 { UInt16(outer.rawValue) << 8 | UInt16(inner.rawValue) }

    init?(rawValue: UInt16) {
        guard let inner = TimeoutStateMachine(rawValue: UInt8(truncatingIfNeeded: rawValue)),
            let outer = TimeoutStateMachine(rawValue: UInt8(truncatingIfNeeded: rawValue >> 8))
        else { return nil }
        (self.inner, self.outer) = (inner, outer)
    }
}

/// The limit of a timeout without a task of its own: each wait inside of it ends at that instant, and so does the
/// inside of the next inner timeout.
@frozen @usableFromInline struct SharedLimit {
    let expiry: MonotonicInstant
    /// The first event that was detected: the limit, or the caller's cancellation.
    var machine = TimeoutStateMachine.running

    init(expiry: MonotonicInstant) { self.expiry = expiry }

    /// - Parameter isCancelled: Whether the caller is cancelled.
    /// - Returns: Whether the limit or the caller has ended the call.
    mutating func hasEnded(at now: MonotonicInstant, isCancelled: Bool) -> Bool {
        if now >= expiry {
            _ = machine.limitPassed()
        } else if isCancelled {
            _ = machine.callerCancelled()
        }
        return machine != .running
    }
}
