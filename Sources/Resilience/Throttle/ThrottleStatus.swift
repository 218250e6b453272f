/// The state of a ``Throttle`` at one moment: for display.
///
/// To decide whether a call may go, run it.
public struct ThrottleStatus: PolicyStatusDetail {
    /// The number of calls of cost 1 that could go now; at an open gate without a rate `Int.max`, written as null.
    public let available: Int
    /// The expected time until a new call of cost 1 could go; zero if at once.
    public let timeUntilNext: Duration
    /// When the gate will probably open: at the end of the hold, or when the probe in flight has probably ended; nil if
    /// it is open.
    ///
    /// An early probe may open it sooner.
    public let heldUntil: MonotonicInstant?
    /// Whether a probe is in flight, which decides whether all calls may go.
    public let isProbing: Bool
    /// The number of calls in the queue: those that wait for their turn.
    public let queued: Int

    /// Creates a status, for tests and previews.
    ///
    /// - Parameters:
    ///   - available: The number of calls of cost 1 that could go now.
    ///   - timeUntilNext: How long until a new call of cost 1 could go.
    ///   - heldUntil: When the gate will probably open; nil if it is open.
    ///   - isProbing: Whether a probe is in flight.
    ///   - queued: The number of calls that wait for their turn.
    public init(
        available: Int, timeUntilNext: Duration = .zero, heldUntil: MonotonicInstant? = nil, isProbing: Bool = false,
        queued: Int = 0
    ) {
        self.available = available
        self.timeUntilNext = timeUntilNext
        self.heldUntil = heldUntil
        self.isProbing = isProbing
        self.queued = queued
    }

    /// Whether a call of cost 1 would go now without a wait.
    public var isAllowed: Bool { timeUntilNext <= .zero }

    public static var kind: String { "throttle" }

    private func held(at now: MonotonicInstant) -> Duration {
        heldUntil.map { max(.zero, now.duration(to: $0)) } ?? .zero
    }

    public func condition(at now: MonotonicInstant) -> PolicyCondition {
        if isProbing { return PolicyCondition("probing", .degraded) }
        let held = held(at: now)
        return held > .zero ? PolicyCondition("held", .degraded, timeLeft: held) : PolicyCondition("flowing", .up)
    }

    public func readings(at now: MonotonicInstant) -> [StatusReading] {
        [
            StatusReading(
                "throttle_available", "Calls that a throttle would let through now.", title: "available", available),
            StatusReading("throttle_wait_seconds", "How long until a new call could go.", timeUntilNext),
            StatusReading("throttle_held_seconds", "How much longer a throttle holds all calls.", held(at: now)),
            .queueLength(queued),
        ]
    }

    public func actions(at now: MonotonicInstant) -> [PolicyAction] {
        guard !isProbing, held(at: now) > .zero else { return [] }
        let question = "End the hold of %? Its next call goes at once, and if that goes well, all others."
        return [PolicyAction("endHold", "End hold", question)]
    }

    private enum CodingKeys: String, UnlimitedCodingKey {
        case available, isProbing, queued
        case timeUntilNext = "timeUntilNextSeconds"
        case heldUntil = "heldUntilNanoseconds"
    }
}

extension ThrottleStateMachine {
    /// The latest time at which the gate admits the next call; nil if it is open.
    var heldUntil: MonotonicInstant? {
        switch gate {
        case .open: nil
        case .held(let until): until
        case .probing(let leaseEnds): leaseEnds
        }
    }

    func status(at now: MonotonicInstant) -> ThrottleStatus {
        var (heldUntil, isProbing) = (heldUntil, false)
        if case .probing(let leaseEnds) = gate { (heldUntil, isProbing) = (probeEnds(leaseEnds, at: now), true) }
        return ThrottleStatus(
            available: available(at: now), timeUntilNext: timeUntilNext(at: now), heldUntil: heldUntil,
            isProbing: isProbing, queued: line.count)
    }
}

extension StatusReading {
    static func queueLength(_ queued: Int, of limit: Int? = nil, hasQueue: Bool = true) -> StatusReading {
        StatusReading(
            "queue_length", "Calls that wait for a bulkhead or a throttle.", title: hasQueue ? "waiting" : nil, queued,
            of: limit)
    }
}

extension Throttle {
    /// Ends a hold.
    ///
    /// - Parameter action: "endHold".
    /// - Returns: Whether the hold was ended.
    public func perform(_ action: String) -> Bool { action == "endHold" && endHold() }
}
