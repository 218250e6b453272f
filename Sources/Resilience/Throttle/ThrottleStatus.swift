/// What a ``Throttle`` says of itself: for display, not for deciding. To go, ask it.
public struct ThrottleStatus: Sendable, Hashable {
    /// Calls of cost 1 that could go now; `Int.max` at an open gate without a rate.
    public let available: Int
    /// How long until a call of cost 1 that came now could go; zero if at once. While a probe is out, at the latest.
    public let timeUntilNext: Duration
    /// When the gate lets the next call through, at the latest; nil when it is open.
    public let heldUntil: MonotonicInstant?
    /// Whether one call goes ahead to try whether all may.
    public let isProbing: Bool
    /// Calls that wait for their turn.
    public let waiting: Int

    /// Whether a call of cost 1 would go now, without a wait.
    public var isAllowed: Bool { timeUntilNext <= .zero }
}

extension ThrottleStateMachine {
    var heldUntil: MonotonicInstant? {
        switch gate {
        case .open: nil
        case .held(let until): until
        case .probing(let leaseEnds): leaseEnds
        }
    }

    func status(at now: MonotonicInstant) -> ThrottleStatus {
        let isProbing = if case .probing = gate { true } else { false }
        return ThrottleStatus(
            available: available(at: now), timeUntilNext: timeUntilNext(at: now), heldUntil: heldUntil,
            isProbing: isProbing,
            waiting: line.count)
    }
}
