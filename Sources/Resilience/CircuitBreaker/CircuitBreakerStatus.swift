/// The state of a circuit at one moment.
public struct CircuitBreakerStatus: PolicyStatusDetail {
    /// The circuit's state.
    public let state: CircuitState
    /// The number of failures that count: for the rule, or while half-open among the probes of this round.
    public let failureCount: Int
    /// The number of failures that opens the circuit; nil if no single number does.
    public let failureLimit: Int?
    /// The number of calls that count, including failures: for the rule, or while half-open in this round of probes.
    ///
    /// nil if the rule does not count calls.
    public let callCount: Int?
    /// The rest of the break; nil if the circuit is isolated or not open.
    public let timeRemaining: Duration?
    /// Whether a call would be let through.
    public internal(set) var isAllowed: Bool
    /// Whether the circuit is open and rejects all calls.
    ///
    /// Turns false by itself when the break is over, but not while the circuit is isolated. Always false in the modes
    /// `disabled` and `observing`, which reject no call.
    public var isTripped: Bool { state == .open && !isAllowed }
    /// The mode of the breaker.
    public internal(set) var mode: CircuitBreaker.Mode
    /// When the circuit entered its state, on the breaker's time base; nil if it was made or restored in that state.
    public internal(set) var since: MonotonicInstant?
    /// When the circuit was last closed, on the breaker's time base: the beginning of an outage, across all its probes
    /// and breaks.
    ///
    /// nil while the circuit is closed, or if it has never been closed since it was made or restored.
    public internal(set) var lastClosed: MonotonicInstant?

    /// Creates a status.
    ///
    /// - Parameters:
    ///   - state: The circuit's state.
    ///   - failureCount: The failures that count.
    ///   - failureLimit: The number of failures that opens the circuit; nil if there is none.
    ///   - callCount: The calls that count, including failures; nil if calls are not counted.
    ///   - timeRemaining: The rest of the break; nil if the circuit is not open.
    ///   - isAllowed: Whether a call would be let through; by default, whether the circuit is not open.
    ///   - mode: The mode of the breaker.
    ///   - since: When the circuit entered its state; nil if unknown.
    ///   - lastClosed: When the circuit was last closed; nil if it is closed, or if unknown.
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
            state: state, failureCount: counts.failureCount, failureLimit: counts.failureLimit,
            callCount: counts.callCount,
            timeRemaining: timeRemaining, isAllowed: isAllowed)
    }

    public static var kind: String { "circuitBreaker" }

    /// Returns the circuit's condition: down while it rejects all calls.
    ///
    /// The circuit counts as off, without traffic, if it has been open or half-open for a minute and would admit its
    /// first probe, or if it was restored half-open and has had no call since. Then it rejects no call, and only a call
    /// can show whether the endpoint has recovered.
    ///
    /// - Parameter now: The present time on the breaker's time base.
    public func condition(at now: MonotonicInstant) -> PolicyCondition {
        switch mode {
        case .isolated: return PolicyCondition("isolated", .down)
        case .disabled: return PolicyCondition("disabled", .byHand)
        case .observing: return PolicyCondition("observing", .byHand)
        case .automatic: break
        }
        let isIdle = isIdle(at: now)
        return switch state {
        case .closed: PolicyCondition("closed", .up)
        case .halfOpen: PolicyCondition("half-open", isIdle ? .off : .degraded)
        case .open: PolicyCondition("open", isIdle ? .off : isTripped ? .down : .degraded)
        }
    }

    /// Whether the circuit has no traffic, and still waits for its first probe: the next call would be that probe.
    /// While probes in flight hold all places, no call is admitted. A half-open circuit that has counted a probe, or is
    /// in its ramp, is recovering.
    private func isIdle(at now: MonotonicInstant) -> Bool {
        guard isAllowed else { return false }
        let isHalfOpen = state == .halfOpen
        return (!isHalfOpen || callCount == 0) && since.map { $0.duration(to: now) >= .seconds(60) } ?? isHalfOpen
    }

    public func readings(at now: MonotonicInstant) -> [StatusReading] {
        [("closed", CircuitState.closed), ("half_open", .halfOpen), ("open", .open)].map {
            StatusReading("circuits", "Circuits in this state.", state == $1, state: $0)
        } + [
            StatusReading(
                "circuit_probe_seconds", "Time to the next probe of an open circuit.", title: "next probe",
                unit: .until,
                timeRemaining),
            StatusReading(
                "circuit_failures", "Failures that a circuit counts.", title: "failures", failureCount, of: failureLimit
            ),
            StatusReading("circuit_calls", "Calls that a circuit counts.", title: "calls", callCount),
        ]
    }

    public func actions(at now: MonotonicInstant) -> [PolicyAction] {
        switch mode {
        case .automatic: state == .closed ? [.open, .isolate] : [.close, .isolate]
        case .isolated: [.release]
        case .disabled, .observing: []
        }
    }

    private enum CodingKeys: String, CodingKey {
        case state, failureCount, failureLimit, callCount, isAllowed, mode
        case timeRemaining = "timeRemainingSeconds"
        case since = "sinceNanoseconds"
        case lastClosed = "lastClosedNanoseconds"
    }
}

/// The state of a circuit.
public enum CircuitState: String, Sendable, Hashable, Codable {
    /// Calls get through, and are counted.
    case closed
    /// Calls are rejected.
    case open
    /// The break is over: a few probes, or a growing share of the calls, get through and decide whether the circuit
    /// closes.
    case halfOpen
}

extension PolicyAction {
    fileprivate static let open = PolicyAction(
        "open", "Open", "Open the circuit %? Its calls are rejected until the break is over.")
    fileprivate static let close = PolicyAction(
        "close", "Close", "Close the circuit %? Its calls get through again.")
    fileprivate static let isolate = PolicyAction(
        "isolate", "Isolate", "Isolate %? All its calls are rejected until you release it.")
    fileprivate static let release = PolicyAction("automatic", "Release", "Release %? The circuit decides again.")
}

extension CircuitBreaker {
    /// Opens the circuit for as long as if it had opened by itself, closes it with nothing counted, isolates it, or
    /// lets it decide again.
    ///
    /// - Parameter action: "open", "close", "isolate" or "automatic".
    /// - Returns: Whether it was done.
    public func perform(_ action: String) -> Bool {
        switch action {
        case "open": return trip()
        case "close": reset(keepingGrowth: false)
        case "isolate": setMode(.isolated)
        case "automatic": setMode(.automatic)
        default: return false
        }
        return true
    }
}
