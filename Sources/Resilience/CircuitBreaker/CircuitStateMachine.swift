/// Decides how a circuit opens and recovers: a pure value that receives timed inputs, and answers.
///
/// Two machines come with the package: ``ThreeStateCircuit`` and ``BackoffGate``. The breaker does not report late
/// results to its machine. It reports rejected and cancelled calls only if they held a ticket above 0, or if the
/// machine needs ``CircuitNeeds/calls``. It calls the machine under a lock, so the machine must not wait or call back.
public protocol CircuitStateMachine: Sendable, CustomStringConvertible {
    /// The state after the last input.
    ///
    /// A change of state begins a new generation: calls that were admitted before no longer count.
    var state: CircuitState { get }

    /// Decides about a call that asks to enter.
    ///
    /// - Parameters:
    ///   - now: The current time; it never goes back.
    ///   - generator: The source of chance.
    /// - Returns: Whether the call is admitted, is rejected, or waits.
    mutating func admit(at now: MonotonicInstant, using generator: SplitMix64) -> CircuitAdmission

    /// Takes the end of an admitted call.
    ///
    /// - Parameters:
    ///   - end: How the call ended, and when.
    ///   - ticket: The ticket that the call got when it was admitted.
    ///   - generator: The source of chance.
    /// - Returns: Whether the machine counted a failure that may open the circuit. The breaker reports it to observers.
    mutating func record(_ end: CallEnd, ticket: UInt64, using generator: SplitMix64) -> Bool

    /// When ``state`` changes by itself if nothing happens before; nil, the default, if never.
    var changesAt: MonotonicInstant? { get }

    /// Changes ``state`` if its time has come, as ``admit(at:using:)`` does.
    ///
    /// Does nothing by default.
    ///
    /// - Parameter now: The current time.
    mutating func timePassed(at now: MonotonicInstant)

    /// Opens the circuit by hand, whatever its state, as a trip of its own.
    ///
    /// - Parameters:
    ///   - length: How long it stays open; nil for as long as if it had opened by itself.
    ///   - now: The current time.
    ///   - generator: The source of chance.
    /// - Returns: false, the default, if the circuit can't be opened by hand.
    mutating func trip(for length: Duration?, at now: MonotonicInstant, using generator: SplitMix64) -> Bool

    /// Ends a break by hand: the next call is a probe.
    ///
    /// The next break is as long as if this break had ended by itself. While half-open, a new round of probes begins. A
    /// machine without probes admits all calls.
    ///
    /// - Parameter now: The current time.
    /// - Returns: Whether calls were kept out; false, the default, if breaks can't be ended by hand.
    mutating func endBreak(at now: MonotonicInstant) -> Bool

    /// When the probes will probably have decided, for calls that are rejected until then.
    ///
    /// Estimated from how long probes take, not from their leases; nil, the default, if unknown.
    ///
    /// - Parameter now: The current time.
    func probesDecide(at now: MonotonicInstant) -> MonotonicInstant?

    /// Takes successes of calls that were admitted with ticket 0.
    ///
    /// By default records each of them.
    ///
    /// - Parameters:
    ///   - count: The number of successes.
    ///   - now: The time of the first success. All successes came between that time and `tallyEnds(after: now)`.
    mutating func succeeded(_ count: Int, at now: MonotonicInstant)

    /// Until when successes may be batched.
    ///
    /// Batched successes are delivered before any other input.
    ///
    /// A batched success costs no lock. If this returns ``MonotonicInstant/distantFuture``, a batched success does not
    /// read the clock either.
    /// - Parameter now: The current time.
    /// - Returns: The end of the batch; `now`, the default, if each success must be delivered as it comes.
    func tallyEnds(after now: MonotonicInstant) -> MonotonicInstant

    /// The stretch of time around `now` in which calls may be batched, for a machine that needs ``CircuitNeeds/calls``.
    ///
    /// Each call is admitted with ticket 0, and the calls that succeed within the stretch are counted together.
    ///
    /// The counts of batched calls are delivered before any other input.
    ///
    /// A batched call costs no lock. State changes must not depend on when in the stretch these calls begin and
    /// succeed, nor on their number.
    /// - Parameter now: The current time.
    /// - Returns: A stretch with `now` in it; nil, the default, if each call must be delivered as it comes.
    func tallyStretch(at now: MonotonicInstant) -> Range<MonotonicInstant>?

    /// Takes calls that began, and calls that succeeded, within the stretch that ``tallyStretch(at:)`` returned.
    ///
    /// Each call that succeeded had begun in the same stretch. By default admits and records each of these calls.
    ///
    /// - Parameters:
    ///   - began: The number of calls that began.
    ///   - succeeded: The number of calls that succeeded.
    ///   - now: An instant in the stretch.
    mutating func tallied(began: Int, succeeded: Int, at now: MonotonicInstant)

    /// Returns to closed, with nothing counted.
    ///
    /// - Parameter keepingGrowth: Whether the next break is as long as it would be without this reset.
    mutating func reset(keepingGrowth: Bool)

    /// Returns what a call would find.
    ///
    /// Changes nothing.
    ///
    /// - Parameter now: The current time.
    func status(at now: MonotonicInstant) -> CircuitBreakerStatus

    /// The inputs that the machine needs in its present state.
    ///
    /// By default admissions and successes.
    var needs: CircuitNeeds { get }

    /// Whether the machine ever answers ``CircuitAdmission/wait(upTo:leaseEnds:)``; false by default.
    ///
    /// Used for ``PolicyTraits/waits``.
    var makesCallsWait: Bool { get }

    /// Whether the circuit is closed, and evicting it would lose nothing but counted successes.
    ///
    /// By default, whether the machine needs neither admissions nor successes.
    ///
    /// - Parameter now: The current time.
    func isAtRest(at now: MonotonicInstant) -> Bool

    /// Whether the next admitted call would be a probe; false by default.
    ///
    /// With a health check, only the check is a probe.
    ///
    /// - Parameter now: The current time.
    func wantsProbe(at now: MonotonicInstant) -> Bool

    /// Counts the end of a call, but stays closed: for ``CircuitBreaker/Mode/observing``.
    ///
    /// By default records the end, unless that would open the circuit.
    ///
    /// - Parameter end: How the call ended, and when.
    /// - Returns: Whether the circuit would have opened.
    mutating func observe(_ end: CallEnd) -> Bool

    /// Counts the beginning of a call, but stays closed.
    ///
    /// Called only if the machine needs ``CircuitNeeds/calls``. Returns false by default.
    ///
    /// - Parameter now: When the call began.
    /// - Returns: Whether the circuit would have opened.
    mutating func observe(beginAt now: MonotonicInstant) -> Bool

    /// Drops the calls in flight: their ends will not be reported.
    ///
    /// At a change of ``state`` the machine drops them by itself. Does nothing by default.
    mutating func forgetCalls()

    /// Takes over the calls in flight from the machine that this machine replaces.
    ///
    /// Their ends will be reported to this machine.
    ///
    /// - Parameter other: The machine that is replaced.
    /// - Returns: false if this machine can't tell which calls these are; then none of their ends will be reported. By
    ///   default true if this machine does not need ``CircuitNeeds/calls``.
    mutating func takeCalls(from other: any CircuitStateMachine) -> Bool

    /// The longest automatic break; nil, the default, if unknown.
    ///
    /// A restored break is cut to this length.
    var longestBreak: Duration? { get }

    /// Returns the state that must survive a restart; nil, the default, if it can't be stored.
    ///
    /// - Parameter now: The current time.
    func memory(at now: MonotonicInstant) -> CircuitMemory?

    /// Continues from the memory of a machine of this kind, whose settings may have been different.
    ///
    /// - Parameters:
    ///   - memory: The other machine's memory.
    ///   - instant: When the memory was taken.
    /// - Returns: false, the default, if the memory makes no sense; then nothing has changed.
    mutating func restore(_ memory: CircuitMemory, takenAt instant: MonotonicInstant) -> Bool
}

extension CircuitStateMachine {
    public var makesCallsWait: Bool { false }
    public var changesAt: MonotonicInstant? { nil }
    public mutating func timePassed(at now: MonotonicInstant) {}
    public mutating func trip(for length: Duration?, at now: MonotonicInstant, using generator: SplitMix64) -> Bool {
        false
    }
    public mutating func endBreak(at now: MonotonicInstant) -> Bool { false }
    public func probesDecide(at now: MonotonicInstant) -> MonotonicInstant? { nil }
    public mutating func observe(beginAt now: MonotonicInstant) -> Bool { false }
    public mutating func forgetCalls() {}
    public mutating func takeCalls(from other: any CircuitStateMachine) -> Bool { !needs.contains(.calls) }
    public var longestBreak: Duration? { nil }
    public var needs: CircuitNeeds { [.admissions, .successes] }
    public func tallyEnds(after now: MonotonicInstant) -> MonotonicInstant { now }
    public mutating func succeeded(_ count: Int, at now: MonotonicInstant) {
        for _ in 0..<count { _ = record(CallEnd(.success, at: now), ticket: 0, using: .shared) }
    }

    public func tallyStretch(at now: MonotonicInstant) -> Range<MonotonicInstant>? { nil }
    public mutating func tallied(began: Int, succeeded: Int, at now: MonotonicInstant) {
        for _ in 0..<began { _ = admit(at: now, using: .shared) }
        for _ in 0..<succeeded { _ = record(CallEnd(.success, at: now, began: now), ticket: 0, using: .shared) }
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

/// The inputs that a circuit needs.
///
/// Inputs that it does not need cost a call nothing, not even a lock.
public struct CircuitNeeds: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Calls that ask to enter.
    ///
    /// Without this, every call is admitted with ticket 0, without asking the machine: its answer would change nothing.
    public static let admissions = CircuitNeeds(rawValue: 1 << 0)
    /// Successes.
    ///
    /// Without this, one more success changes nothing.
    public static let successes = CircuitNeeds(rawValue: 1 << 1)
    /// When each call began and how it ended, including cancelled calls and calls that an inner policy rejected.
    public static let calls = CircuitNeeds(rawValue: 1 << 2)

    /// All of these.
    public static let all: CircuitNeeds = [.admissions, .successes, .calls]
}

/// A circuit's answer to a call that asks to enter.
public enum CircuitAdmission: Sendable, Hashable {
    /// The call is admitted.
    ///
    /// The ticket is the machine's own mark, for example the number of a probe.
    case allow(ticket: UInt64)
    /// The call is rejected.
    ///
    /// It should not come back before this time has passed; nil if unknown.
    case reject(retryAfter: Duration?)
    /// The call waits for the probes to end, for this long in all, and then asks again.
    ///
    /// It also asks again at `leaseEnds`, when a probe loses its place.
    case wait(upTo: Duration, leaseEnds: MonotonicInstant)
}

/// The state of a circuit that must survive a restart.
public struct CircuitMemory: Sendable, Hashable, Codable {
    /// The circuit's state.
    public var state: CircuitState
    /// The rest of the break; zero unless the circuit was open.
    public var remaining: Duration {
        get { .nanoseconds(remainingNanoseconds) }
        set { remainingNanoseconds = newValue.saturatedNanoseconds }
    }
    private var remainingNanoseconds: Int64
    /// The number of trips in a row, by which the next break grows.
    public var trips: Int
    /// The counts of the circuit's rule; see ``TripRule/memory(at:)``.
    public var counted: [Int]

    /// Creates a memory.
    ///
    /// - Parameters:
    ///   - state: The circuit's state.
    ///   - remaining: The rest of the break; 0 or more.
    ///   - trips: The number of trips in a row; 0 or more.
    ///   - counted: The counts of the circuit's rule.
    public init(state: CircuitState, remaining: Duration = .zero, trips: Int = 0, counted: [Int] = []) {
        self.state = state
        remainingNanoseconds = remaining.saturatedNanoseconds
        self.trips = trips
        self.counted = counted
    }
}
