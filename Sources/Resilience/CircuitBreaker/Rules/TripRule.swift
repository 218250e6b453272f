/// When a closed circuit opens. A pure value: it is told how calls end and counts; it knows no clock and no lock.
///
/// ```swift
/// CircuitBreaker(tripping: .failureRatio(0.5, over: .time(.seconds(30)), minimumCalls: 20))
/// CircuitBreaker(tripping: .anyOf(.consecutiveFailures(5), .slowCalls(0.8, longerThan: .seconds(2), over: .calls(50))))
/// ```
///
/// A rule of your own is called under the breaker's lock: no waiting, no calling back. It may leave out everything that
/// has a default, and is then merely slower.
public protocol TripRule: Sendable, CustomStringConvertible {
    /// What the end of a call says about the endpoint. Never asked about rejections and cancellations: they say nothing.
    func evidence(of end: CallEnd) -> TripEvidence

    /// What the end of a probe says, for a half-open circuit to close or to open again by. By default as of any other call.
    func evidence(ofProbe end: CallEnd) -> TripEvidence

    /// Counts the end of a call. Cancellations and rejections come too, to a rule that needs
    /// ``TripRuleNeeds/calls``.
    mutating func ended(_ end: CallEnd)

    /// So many calls went well, all between `now` and the end of its ``tallyEnds(after:)``.
    mutating func succeeded(_ count: Int, at now: MonotonicInstant)

    /// Successes from `now` until this instant may be batched; they are delivered before any other input. `now` if each must
    /// be delivered as it comes. A batched success costs no lock, and no look at the clock if this is the distant future.
    func tallyEnds(after now: MonotonicInstant) -> MonotonicInstant

    /// Whether, by what is counted, the circuit should be open. Asked when evidence is failing, and when a call begins
    /// if the rule needs ``TripRuleNeeds/calls``: so a success never opens a circuit.
    func isMet(at now: MonotonicInstant) -> Bool

    /// Forgets everything counted.
    mutating func reset()

    /// What counts at `now`, for people to read.
    func counts(at now: MonotonicInstant) -> TripCounts

    /// A call goes in. Told only to a rule that needs ``TripRuleNeeds/calls``.
    mutating func began(at now: MonotonicInstant)

    /// None of the calls in flight will be reported: forgets them, and keeps what is counted. For a rule that needs
    /// ``TripRuleNeeds/calls``.
    mutating func forgetCalls()

    /// Takes over the calls in flight from a rule that this one takes the place of. They will be reported to this one.
    /// - Returns: false if it can't tell which these are; then none of them will be reported. By default true of a rule
    ///   that does not need ``TripRuleNeeds/calls``.
    mutating func takeCalls(from other: any TripRule) -> Bool

    /// What it must be told in its present state; the rest costs a call nothing.
    var needs: TripRuleNeeds { get }

    /// What is counted, to be stored or handed to a rule that takes this one's place. It begins with a mark of its kind, so
    /// that no other kind takes it for its own; those of the package begin with 1 to 5.
    func memory(at now: MonotonicInstant) -> [Int]

    /// Counts on from a memory of a rule of this kind, with settings that may differ. It may come from outside: what
    /// makes no sense is to be refused.
    /// - Returns: false if it made no sense; then nothing has changed.
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

    public func memory(at now: MonotonicInstant) -> [Int] { [] }
    public mutating func restore(_ memory: [Int], at now: MonotonicInstant) -> Bool { memory.isEmpty }
}

/// What a rule must be told of calls that go well. What is not in here costs such a call nothing.
public struct TripRuleNeeds: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Successes: without this, one more changes nothing.
    public static let successes = TripRuleNeeds(rawValue: 1 << 0)
    /// When each call begins, and every end.
    public static let calls = TripRuleNeeds(rawValue: 1 << 1)
}

/// What the memories of the package's rules begin with.
enum MemoryKind: Int {
    case consecutive = 1
    case calls = 2
    case time = 3
    case slow = 4
    case combined = 5

    func memory(_ content: [Int]) -> [Int] { [[rawValue], content].flatMap { $0 } }

    /// What follows the mark; nil if it is of another kind.
    func content(of memory: [Int]) -> [Int]? { memory.first == rawValue ? Array(memory.dropFirst()) : nil }
}

/// How one call ended, and when.
public struct CallEnd: Sendable, Hashable {
    public let verdict: Verdict
    public let time: MonotonicInstant
    /// nil unless the rule needs ``TripRuleNeeds/calls``.
    public let began: MonotonicInstant?
    /// What is known of the endpoint, whatever a rule would say: set for a health check.
    public let evidence: TripEvidence?

    public init(
        _ verdict: Verdict, at time: MonotonicInstant, began: MonotonicInstant? = nil, evidence: TripEvidence? = nil
    ) {
        self.verdict = verdict
        self.time = time
        self.began = began
        self.evidence = evidence
    }
}

/// What the end of a call says about an endpoint's health.
public enum TripEvidence: Sendable, Hashable {
    case healthy
    case failing
    /// Nothing either way.
    case none
}

/// What a rule has counted.
public struct TripCounts: Sendable, Hashable {
    /// The failures that count now.
    public let failures: Int
    /// The count that opens the circuit, if it is as simple as that.
    public let failureLimit: Int?
    /// The calls that count now, failures among them; nil where the rule doesn't ask how many there were.
    public let calls: Int?

    public init(failures: Int, failureLimit: Int? = nil, calls: Int? = nil) {
        self.failures = failures
        self.failureLimit = failureLimit
        self.calls = calls
    }
}
