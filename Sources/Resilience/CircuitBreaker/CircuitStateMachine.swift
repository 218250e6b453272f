/// What open and recovery mean: a pure value that is told what happened and when, and answers.
///
/// Two come with the package, ``ThreeStateCircuit`` and ``BackoffGate``. One of your own need not know of stale results,
/// rejections or cancelled calls that held no probe: the breaker keeps those away from it. It is called under the
/// breaker's lock: no waiting, no calling back.
public protocol CircuitStateMachine: Sendable, CustomStringConvertible {
    /// The state after the last input. A change of it begins a new generation: what was admitted before no longer counts.
    var state: CircuitState { get }

    /// A call asks to go in.
    mutating func admit(at now: MonotonicInstant, using generator: SplitMix64) -> CircuitAdmission

    /// An admitted call ended.
    /// - Parameter ticket: as given at its admission.
    /// - Returns: whether a failure was counted by which the circuit may open, to be told to observers.
    mutating func record(_ end: CallEnd, ticket: UInt64, using generator: SplitMix64) -> Bool

    /// When ``state`` changes by itself, if nothing happens before; nil if never.
    var changesAt: MonotonicInstant? { get }

    /// Changes ``state`` if its time has come. ``admit(at:using:)`` does so, too.
    mutating func timePassed(at now: MonotonicInstant)

    /// Somebody opens the circuit by hand, whatever its state: as a trip of its own, for this time, or, if nil, for as long
    /// as it would by itself.
    /// - Returns: false if it can't be opened by hand.
    mutating func trip(for length: Duration?, at now: MonotonicInstant, using generator: SplitMix64) -> Bool

    /// So many calls that were admitted with ticket 0 went well, all between `now` and the end of its ``tallyEnds(after:)``.
    mutating func succeeded(_ count: Int, at now: MonotonicInstant)

    /// Successes from `now` until this instant may be batched; they are delivered before any other input. `now` if each must
    /// be delivered as it comes. A batched success costs no lock, and no look at the clock if this is the distant future.
    func tallyEnds(after now: MonotonicInstant) -> MonotonicInstant

    /// Back to closed, with nothing counted.
    /// - Parameter keepingGrowth: whether the next break is as long as if the reset had not been.
    mutating func reset(keepingGrowth: Bool)

    /// What a call would find at `now`. Changes nothing.
    func status(at now: MonotonicInstant) -> CircuitBreakerStatus

    /// What it must be told in its present state.
    var needs: CircuitNeeds { get }

    /// Whether it ever answers ``CircuitAdmission/wait(upTo:leaseEnds:)``; false by default. For ``PolicyTraits/waits``.
    var makesCallsWait: Bool { get }

    /// Whether it is closed, and forgetting what it has counted would lose nothing but successes.
    func isAtRest(at now: MonotonicInstant) -> Bool

    /// Whether the next call to be let in would be a probe. With a health check nobody else is one.
    func wantsProbe(at now: MonotonicInstant) -> Bool

    /// Counts the end of a call, and stays closed.
    /// - Returns: whether it would have opened.
    mutating func observe(_ end: CallEnd) -> Bool

    /// Counts the beginning of a call, and stays closed. Asked only of one that needs ``CircuitNeeds/calls``.
    /// - Returns: whether it would have opened.
    mutating func observe(beginAt now: MonotonicInstant) -> Bool

    /// None of the calls in flight will be reported: forgets them. At a change of ``state`` it does so by itself.
    mutating func forgetCalls()

    /// Takes over the calls in flight from a machine that this one takes the place of. They will be reported to this one.
    /// - Returns: false if it can't tell which these are; then none of them will be reported.
    mutating func takeCalls(from other: any CircuitStateMachine) -> Bool

    /// The longest break that it can take by itself; nil if nobody can tell. A restored break is no longer.
    var longestBreak: Duration? { get }

    /// All that it should still know after a restart; nil if it can't be stored.
    func memory(at now: MonotonicInstant) -> CircuitMemory?

    /// Goes on from a memory taken at `instant`, of a machine of this kind, with settings that may differ.
    /// - Returns: false if the memory makes no sense; then nothing has changed.
    mutating func restore(_ memory: CircuitMemory, takenAt instant: MonotonicInstant) -> Bool
}

extension CircuitStateMachine {
    public var makesCallsWait: Bool { false }
    public var changesAt: MonotonicInstant? { nil }
    public mutating func timePassed(at now: MonotonicInstant) {}
    public mutating func trip(for length: Duration?, at now: MonotonicInstant, using generator: SplitMix64) -> Bool {
        false
    }
    public mutating func observe(beginAt now: MonotonicInstant) -> Bool { false }
    public mutating func forgetCalls() {}
    public mutating func takeCalls(from other: any CircuitStateMachine) -> Bool { !needs.contains(.calls) }
    public var longestBreak: Duration? { nil }
    public var needs: CircuitNeeds { [.admissions, .successes] }
    public func tallyEnds(after now: MonotonicInstant) -> MonotonicInstant { now }
    public mutating func succeeded(_ count: Int, at now: MonotonicInstant) {
        for _ in 0..<count { _ = record(CallEnd(.success, at: now), ticket: 0, using: .shared) }
    }

    public func isAtRest(at now: MonotonicInstant) -> Bool { needs.isDisjoint(with: [.admissions, .successes]) }
    public func wantsProbe(at now: MonotonicInstant) -> Bool { false }
    public func memory(at now: MonotonicInstant) -> CircuitMemory? { nil }
    public mutating func restore(_ memory: CircuitMemory, takenAt instant: MonotonicInstant) -> Bool { false }

    public mutating func observe(_ end: CallEnd) -> Bool {
        var next = self
        _ = next.record(end, ticket: 0, using: SplitMix64(seed: 0))
        guard next.state == .closed else { return true }
        self = next
        return false
    }
}

/// What a circuit must be told. What is not in here costs a call nothing, not even a lock.
public struct CircuitNeeds: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Calls that ask: without this, admission is free, with ticket 0, and changes nothing.
    public static let admissions = CircuitNeeds(rawValue: 1 << 0)
    /// Successes: without this, one more changes nothing.
    public static let successes = CircuitNeeds(rawValue: 1 << 1)
    /// When a call began, and every end of it, cancelled or refused further in too.
    public static let calls = CircuitNeeds(rawValue: 1 << 2)

    /// Everything.
    public static let all: CircuitNeeds = [.admissions, .successes, .calls]
}

/// A circuit's answer to a call.
public enum CircuitAdmission: Sendable, Hashable {
    /// Go in. The ticket is the machine's own mark, for example which probe this is.
    case allow(ticket: UInt64)
    /// Stay out; ask again no sooner than after this time, if it is known.
    case refuse(retryAfter: Duration?)
    /// Wait for the probes to end, for this long in all, and ask again then; or at `leaseEnds`, when one is given up.
    case wait(upTo: Duration, leaseEnds: MonotonicInstant)
}

/// What a circuit should still know after a restart.
public struct CircuitMemory: Sendable, Hashable, Codable {
    public var state: CircuitState
    /// How long it still was to stay open; zero unless open.
    public var remaining: Duration
    /// Trips in a row, by which the next break grows.
    public var trips: Int
    /// What its rule had counted.
    public var counted: [Int]

    public init(state: CircuitState, remaining: Duration = .zero, trips: Int = 0, counted: [Int] = []) {
        self.state = state
        self.remaining = remaining
        self.trips = trips
        self.counted = counted
    }

    private enum CodingKeys: String, CodingKey {
        case state, trips, counted
        case remaining = "remainingNanoseconds"
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        state = try container.decode(CircuitState.self, forKey: .state)
        remaining = .nanoseconds(try container.decode(Int64.self, forKey: .remaining))
        trips = try container.decode(Int.self, forKey: .trips)
        counted = try container.decode([Int].self, forKey: .counted)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(state, forKey: .state)
        try container.encode(remaining.saturatedNanoseconds, forKey: .remaining)
        try container.encode(trips, forKey: .trips)
        try container.encode(counted, forKey: .counted)
    }
}
