/// Decides when a closed circuit opens.
///
/// A pure value that counts the ends of calls, without a clock or a lock.
///
/// ```swift
/// CircuitBreaker(
///     tripping: .failureRatio(
///         0.5, over: .time(.seconds(30)), minimumCalls: 20))
/// CircuitBreaker(
///     tripping: .anyOf(
///         .consecutiveFailures(5),
///         .slowCalls(0.8, longerThan: .seconds(2), over: .calls(50))))
/// ```
///
/// A rule of your own is called under the breaker's lock, so it must not wait or call back. You may leave out
/// everything that has a default; the rule is then slower, and can't be stored.
public protocol TripRule: Sendable, CustomStringConvertible {
    /// Returns what the end of a call says about the endpoint.
    ///
    /// Not called for rejections and cancellations, which say nothing.
    ///
    /// - Parameter end: How the call ended, and when.
    func evidence(of end: CallEnd) -> TripEvidence

    /// Returns what the end of a probe says, which closes or reopens a half-open circuit.
    ///
    /// By default the same as for any other call.
    ///
    /// - Parameter end: How the probe ended, and when.
    func evidence(ofProbe end: CallEnd) -> TripEvidence

    /// Counts the end of a call.
    ///
    /// Cancellations and rejections are reported only to a rule that needs ``TripRuleNeeds/calls``.
    ///
    /// - Parameter end: How the call ended, and when.
    mutating func ended(_ end: CallEnd)

    /// Counts successes.
    ///
    /// By default counts each as an end of its own.
    ///
    /// - Parameters:
    ///   - count: The number of successes.
    ///   - now: The time of the first. All came between it and `tallyEnds(after: now)`.
    mutating func succeeded(_ count: Int, at now: MonotonicInstant)

    /// Until when successes may be batched.
    ///
    /// They are delivered before any other input.
    ///
    /// A batched success costs no lock. If this returns ``MonotonicInstant/distantFuture``, a batched success does not
    /// read the clock either.
    /// - Parameter now: The current time.
    /// - Returns: The end of the batch; `now`, the default, if each success must be delivered as it comes.
    func tallyEnds(after now: MonotonicInstant) -> MonotonicInstant

    /// The stretch of time around `now` in which calls may be batched, for a rule that needs ``TripRuleNeeds/calls`` or
    /// is combined with one.
    ///
    /// They are delivered before any other input.
    ///
    /// A batched call costs no lock. It must make no difference when in the stretch these calls begin and succeed. The
    /// rule is not met, and must stay so, however many of these calls there are.
    /// - Parameter now: The current time.
    /// - Returns: A stretch with `now` in it; nil, the default, if each call must be delivered as it comes.
    func tallyStretch(at now: MonotonicInstant) -> Range<MonotonicInstant>?

    /// Takes calls that began, and calls that succeeded, within the stretch that ``tallyStretch(at:)`` returned.
    ///
    /// Each that succeeded had begun in the same stretch. Called only if the rule needs ``TripRuleNeeds/calls``. By
    /// default takes each of them.
    ///
    /// - Parameters:
    ///   - began: The number of calls that began.
    ///   - succeeded: The number of calls that succeeded.
    ///   - now: An instant in the stretch.
    mutating func tallied(began: Int, succeeded: Int, at now: MonotonicInstant)

    /// Whether the circuit should be open, given the counts.
    ///
    /// Called when evidence is failing, and, if the rule needs ``TripRuleNeeds/calls``, when a call begins. So only a
    /// failing call, or a slow one in flight, opens a circuit.
    /// - Parameter now: The current time.
    func isMet(at now: MonotonicInstant) -> Bool

    /// Resets all counts.
    mutating func reset()

    /// Returns the present counts, for display.
    ///
    /// - Parameter now: The current time.
    func counts(at now: MonotonicInstant) -> TripCounts

    /// Takes the beginning of a call.
    ///
    /// Called only if the rule needs ``TripRuleNeeds/calls``.
    ///
    /// - Parameter now: When the call began.
    mutating func began(at now: MonotonicInstant)

    /// Drops the calls in flight, and keeps what is counted: their ends will not be reported.
    ///
    /// For a rule that needs ``TripRuleNeeds/calls``.
    mutating func forgetCalls()

    /// Takes over the calls in flight from the rule that this one replaces.
    ///
    /// Their ends will be reported to this one.
    ///
    /// - Parameter other: The rule that is replaced.
    /// - Returns: false if it can't tell which calls these are; then none of their ends will be reported. By default
    ///   true if the rule does not need ``TripRuleNeeds/calls``.
    mutating func takeCalls(from other: any TripRule) -> Bool

    /// The inputs that the rule needs in its present state; others cost a call nothing.
    ///
    /// By default successes.
    var needs: TripRuleNeeds { get }

    /// Returns the counts, to be stored or given to a rule that replaces this one.
    ///
    /// They begin with a mark of the rule's kind, so that rules of other kinds do not accept them. The marks of the
    /// package's rules are 1 to 5. By default empty.
    /// - Parameter now: The current time.
    func memory(at now: MonotonicInstant) -> [Int]

    /// Continues from the memory of a rule of this kind, whose settings may have been different.
    ///
    /// The memory may come from outside: check it.
    ///
    /// - Parameters:
    ///   - memory: The other rule's counts.
    ///   - now: The time at which the memory was taken.
    /// - Returns: false if the memory makes no sense; then nothing has changed.
    mutating func restore(_ memory: [Int], at now: MonotonicInstant) -> Bool
}

extension TripRule {
    public func evidence(ofProbe end: CallEnd) -> TripEvidence { evidence(of: end) }
    public mutating func began(at now: MonotonicInstant) {}
    public mutating func forgetCalls() {}
    public mutating func takeCalls(from other: any TripRule) -> Bool { !needs.contains(.calls) }
    public var needs: TripRuleNeeds { .successes }
    public func tallyEnds(after now: MonotonicInstant) -> MonotonicInstant { now }

    public mutating func succeeded(_ count: Int, at now: MonotonicInstant) {
        for _ in 0..<count { ended(CallEnd(.success, at: now)) }
    }

    public func tallyStretch(at now: MonotonicInstant) -> Range<MonotonicInstant>? { nil }

    public mutating func tallied(began: Int, succeeded: Int, at now: MonotonicInstant) {
        for _ in 0..<began { self.began(at: now) }
        for _ in 0..<succeeded { ended(CallEnd(.success, at: now, began: now)) }
    }

    public func memory(at now: MonotonicInstant) -> [Int] { [] }
    public mutating func restore(_ memory: [Int], at now: MonotonicInstant) -> Bool { memory.isEmpty }
}

/// The inputs about successful calls that a rule needs.
///
/// Inputs that the rule does not need cost a successful call nothing.
public struct TripRuleNeeds: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Successes.
    ///
    /// Without this, one more success changes nothing.
    public static let successes = TripRuleNeeds(rawValue: 1 << 0)
    /// When each call begins, and every end.
    public static let calls = TripRuleNeeds(rawValue: 1 << 1)
}

/// The first number in the memories of the package's rules.
enum MemoryKind: Int {
    case consecutive = 1
    case calls = 2
    case time = 3
    case slow = 4
    case combined = 5

    func memory(_ content: [Int]) -> [Int] { [rawValue] + content }

    /// The content after the mark; nil if the memory is of another kind.
    func content(of memory: [Int]) -> [Int]? { memory.first == rawValue ? Array(memory.dropFirst()) : nil }
}

/// How a call ended, and when.
public struct CallEnd: Sendable, Hashable {
    /// How the call ended.
    public let verdict: Verdict
    /// The end of the call.
    public let time: MonotonicInstant
    /// The beginning of the call; nil unless the rule needs ``TripRuleNeeds/calls``.
    public let began: MonotonicInstant?
    /// The evidence about the endpoint, in place of the rule's: set for a health check.
    public let evidence: TripEvidence?

    /// Creates the end of a call.
    ///
    /// - Parameters:
    ///   - verdict: How the call ended.
    ///   - time: The end of the call.
    ///   - began: The beginning of the call; nil if nobody needs it.
    ///   - evidence: The evidence about the endpoint; nil if the rule decides.
    public init(
        _ verdict: Verdict, at time: MonotonicInstant, began: MonotonicInstant? = nil, evidence: TripEvidence? = nil
    ) {
        self.verdict = verdict
        self.time = time
        self.began = began
        self.evidence = evidence
    }
}

/// The evidence in a call's end about an endpoint's health.
public enum TripEvidence: Sendable, Hashable {
    /// The endpoint is healthy.
    case healthy
    /// The endpoint is failing.
    case failing
    /// Nothing either way.
    case inconclusive
}

/// The counts of a rule.
public struct TripCounts: Sendable, Hashable {
    /// The failures that count now.
    public let failureCount: Int
    /// The number of failures that opens the circuit; nil if no single number does.
    public let failureLimit: Int?
    /// The calls that count now, including failures; nil if the rule does not count calls.
    public let callCount: Int?

    /// Creates counts.
    ///
    /// - Parameters:
    ///   - failureCount: The failures that count now.
    ///   - failureLimit: The number of failures that opens the circuit; nil, or `Int.max`, if there is none.
    ///   - callCount: The calls that count now, including failures; nil if calls are not counted.
    public init(failureCount: Int, failureLimit: Int? = nil, callCount: Int? = nil) {
        self.failureCount = failureCount
        self.failureLimit = failureLimit == .max ? nil : failureLimit
        self.callCount = callCount
    }
}
