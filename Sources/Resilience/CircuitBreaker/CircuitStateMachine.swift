/// What open and recovery mean: a pure value that is told what happened and when, and answers.
///
/// Two come with the package, ``ThreeStateCircuit`` and ``BackoffGate``. One of your own need not know of stale results,
/// rejections or cancelled calls that held no probe: the breaker keeps those away from it. It is called under the
/// breaker's lock: no waiting, no calling back.
public protocol CircuitStateMachine: Sendable, CustomStringConvertible {
    /// The state after the last input. A change of it begins a new generation: what was admitted before no longer counts.
    var state: CircuitState { get }

    /// A call asks to go in.
    mutating func admit(at now: Instant) -> CircuitAdmission

    /// An admitted call ended.
    /// - Parameter ticket: as given at its admission.
    mutating func record(_ verdict: Verdict, ticket: UInt64, at now: Instant)

    /// Back to closed, with nothing counted.
    /// - Parameter keepingGrowth: whether the next break is as long as if the reset had not been.
    mutating func reset(keepingGrowth: Bool)

    /// What a call would find at `now`. Changes nothing.
    func status(at now: Instant) -> CircuitStatus

    /// Whether admission is free, with ticket 0, and one more success would change nothing.
    var isAtRest: Bool { get }
}

public enum CircuitState: String, Sendable, Hashable, Codable {
    case closed
    case open
    case halfOpen
}

/// A circuit's answer to a call.
public enum CircuitAdmission: Sendable, Hashable {
    /// Go in. The ticket is the machine's own mark, for example which probe this is.
    case allow(ticket: UInt64)
    /// Stay out; ask again no sooner than after this time, if it is known.
    case refuse(retryAfter: Duration?)
}

/// A circuit as seen from outside.
public struct CircuitStatus: Sendable, Hashable {
    public let state: CircuitState
    public let failureCount: Int
    /// The count that opens the circuit, if its rule is as simple as that.
    public let failureLimit: Int?
    /// How long until it may be tested; nil when it is not open.
    public let timeRemaining: Duration?
    /// Whether a call would be let through.
    public let isAllowed: Bool

    /// - Parameter isAllowed: by default whatever is not open.
    public init(
        state: CircuitState, failureCount: Int, failureLimit: Int? = nil, timeRemaining: Duration? = nil,
        isAllowed: Bool? = nil
    ) {
        self.state = state
        self.failureCount = failureCount
        self.failureLimit = failureLimit
        self.timeRemaining = timeRemaining
        self.isAllowed = isAllowed ?? (state != .open)
    }
}
