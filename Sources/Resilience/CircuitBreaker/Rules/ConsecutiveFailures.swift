/// Opens on the nth failure in a row.
public struct ConsecutiveFailures: PackagedRule, Hashable {
    /// How many failures in a row open the circuit; 1 or more, 5 by default.
    public internal(set) var limit: Int
    /// The verdicts that count as failures; `transient` and `uncertain` by default.
    public internal(set) var failing: VerdictSet = [.transient, .uncertain]
    /// The verdicts that count as successes; `success` and `permanent` by default, disjoint from `failing`.
    ///
    /// Other verdicts do not count.
    public internal(set) var healthy: VerdictSet = [.success, .permanent]
    /// The failures in a row so far.
    private(set) var failureCount = 0

    var bare: ConsecutiveFailures { ConsecutiveFailures(limit: limit, failing: failing, healthy: healthy) }

    public func evidence(of end: CallEnd) -> TripEvidence { end.verdict.evidence(failing: failing, healthy: healthy) }

    public mutating func ended(_ end: CallEnd) {
        switch evidence(of: end) {
        case .healthy: failureCount = 0
        case .failing: failureCount = failureCount.saturatingAdding(1)
        case .inconclusive: break
        }
    }

    public func isMet(at now: MonotonicInstant) -> Bool { failureCount >= limit }
    public mutating func reset() { failureCount = 0 }
    public func counts(at now: MonotonicInstant) -> TripCounts {
        TripCounts(failureCount: failureCount, failureLimit: limit)
    }
    public var needs: TripRuleNeeds { failureCount == 0 ? [] : .successes }

    public mutating func succeeded(_ count: Int, at now: MonotonicInstant) { ended(CallEnd(.success, at: now)) }

    public func tallyStretch(at now: MonotonicInstant) -> Range<MonotonicInstant>? {
        isMet(at: now) || failing.contains(Verdict.success) ? nil : .distantPast ..< .distantFuture
    }

    public func memory(at now: MonotonicInstant) -> [Int] { [MemoryKind.consecutive.rawValue, failureCount] }

    public mutating func restore(_ memory: [Int], at now: MonotonicInstant) -> Bool {
        guard let content = MemoryKind.consecutive.content(of: memory), content.count == 1, content[0] >= 0 else {
            return false
        }
        failureCount = content[0]
        return true
    }

    public var description: String { "opens on \(limit) in a row of \(failing)" }
}

extension ConsecutiveFailures {
    /// Creates a rule.
    ///
    /// - Parameters:
    ///   - limit: How many failures in a row open the circuit; 1 or more.
    ///   - failing: The verdicts that count as failures.
    ///   - healthy: The verdicts that reset the count; disjoint from `failing`.
    public init(_ limit: Int, failing: VerdictSet, healthy: VerdictSet) {
        self = ConsecutiveFailures(limit: limit, failing: failing, healthy: healthy).checked()
    }
}

extension Verdict {
    func evidence(failing: VerdictSet, healthy: VerdictSet) -> TripEvidence {
        failing.contains(self) ? .failing : healthy.contains(self) ? .healthy : .inconclusive
    }
}

extension TripRule where Self == ConsecutiveFailures {
    /// The default of a circuit with three states: opens on the 5th failure in a row.
    public static var standard: Self { .consecutiveFailures(5) }

    /// Opens on the nth transient or uncertain failure in a row.
    ///
    /// A success or a permanent failure, such as a 404, resets the count: an endpoint that answers is healthy. A 429
    /// changes nothing.
    /// - Parameter limit: How many failures in a row open the circuit; 1 or more.
    public static func consecutiveFailures(_ limit: Int) -> Self {
        ConsecutiveFailures(limit, failing: [.transient, .uncertain], healthy: [.success, .permanent])
    }

    /// Opens on the nth 429 in a row.
    ///
    /// Nothing else counts, and only a success resets the count.
    ///
    /// - Parameter limit: How many 429s in a row open the circuit; 1 or more.
    public static func consecutiveThrottles(_ limit: Int) -> Self {
        ConsecutiveFailures(limit, failing: .throttled, healthy: .success)
    }
}
