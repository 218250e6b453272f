/// A circuit as seen from outside.
public struct CircuitBreakerStatus: Sendable, Hashable {
    public let state: CircuitState
    /// The failures that count: of the rule, or, while half-open, of the probes of this round.
    public let failureCount: Int
    /// The count that opens the circuit, if it is as simple as that.
    public let failureLimit: Int?
    /// The calls that count, failures among them; nil where the rule doesn't ask how many there were. While half-open, the
    /// probes of this round.
    public let callCount: Int?
    /// How long until it may be tested; nil when it is not open.
    public let timeRemaining: Duration?
    /// Whether a call would be let through.
    public let isAllowed: Bool
    /// Whether calls are rejected. Turns false by itself when the break is over.
    public var isTripped: Bool { state == .open && !isAllowed }
    /// Who decides: the circuit itself, or somebody who has set it by hand.
    public let mode: CircuitBreaker.Mode
    /// When it came into this state, on the breaker's time base; nil if it was made or restored in it.
    public internal(set) var since: MonotonicInstant?
    /// When it was last closed, on the breaker's time base: how long an outage has lasted, probes and further breaks
    /// included. nil while it is closed, and if it was not closed when it was made or restored.
    public internal(set) var lastClosed: MonotonicInstant?

    /// - Parameter isAllowed: by default whatever is not open.
    public init(
        state: CircuitState, failureCount: Int, failureLimit: Int? = nil, callCount: Int? = nil,
        timeRemaining: Duration? = nil, isAllowed: Bool? = nil, mode: CircuitBreaker.Mode = .automatic,
        since: MonotonicInstant? = nil, lastClosed: MonotonicInstant? = nil
    ) {
        self.state = state
        self.failureCount = failureCount
        self.failureLimit = failureLimit
        self.callCount = callCount
        self.timeRemaining = timeRemaining
        self.isAllowed = isAllowed ?? (state != .open)
        self.mode = mode
        self.since = since
        self.lastClosed = lastClosed
    }

    init(state: CircuitState, _ counts: TripCounts, timeRemaining: Duration?, isAllowed: Bool) {
        self.init(
            state: state, failureCount: counts.failures, failureLimit: counts.failureLimit, callCount: counts.calls,
            timeRemaining: timeRemaining, isAllowed: isAllowed)
    }
}

public enum CircuitState: String, Sendable, Hashable, Codable {
    case closed
    case open
    case halfOpen
}
