/// Several rules as one: opens when any of them is met, or only when all of them are.
public struct CombinedRule: PackagedRule {
    /// How many of the rules must be met.
    public enum Quorum: String, Sendable, Hashable {
        /// One rule is enough.
        case any
        /// All rules must be met.
        case all
    }

    /// How many of the rules must be met.
    public let quorum: Quorum
    /// The rules; each counts for itself.
    public internal(set) var rules: [any TripRule]

    /// The combined rules; 1 to 32, nested ones included; required.
    var settings: [TripRuleSettings] {
        get { rules.map { TripRuleSettings($0) } }
        set { rules = newValue.map(\.bare) }
    }

    var bare: CombinedRule { CombinedRule(quorum: quorum, rules: settings.map(\.bare)) }

    /// Failing if any rule says so, whatever the quorum; else healthy if any rule says so.
    ///
    /// Each rule counts its own failures: the failure that meets the last rule need not count for the others.
    /// - Parameter end: How the call ended, and when.
    /// - Returns: The end's evidence about the endpoint.
    public func evidence(of end: CallEnd) -> TripEvidence {
        let evidence = rules.map { $0.evidence(of: end) }
        return evidence.contains(.failing) ? .failing : evidence.contains(.healthy) ? .healthy : .inconclusive
    }

    /// Failing if calls that end like this probe are enough to open the circuit: with ``Quorum/any`` if any rule says
    /// so, with ``Quorum/all`` if any rule says so and none says healthy.
    ///
    /// - Parameter end: How the probe ended, and when.
    /// - Returns: The end's evidence about the endpoint.
    public func evidence(ofProbe end: CallEnd) -> TripEvidence {
        let evidence = rules.map { $0.evidence(ofProbe: end) }
        if quorum == .all, evidence.contains(.healthy) { return .healthy }
        return evidence.contains(.failing) ? .failing : evidence.contains(.healthy) ? .healthy : .inconclusive
    }

    public mutating func began(at now: MonotonicInstant) {
        for index in rules.indices where rules[index].needs.contains(.calls) { rules[index].began(at: now) }
    }

    public mutating func ended(_ end: CallEnd) {
        for index in rules.indices where !end.verdict.saysNothing || rules[index].needs.contains(.calls) {
            rules[index].ended(end)
        }
    }

    public mutating func forgetCalls() { for index in rules.indices { rules[index].forgetCalls() } }

    public mutating func takeCalls(from other: any TripRule) -> Bool {
        guard let other = other as? CombinedRule, other.rules.count == rules.count else {
            return !needs.contains(.calls)
        }
        return rules.indices.allSatisfy { rules[$0].takeCalls(from: other.rules[$0]) }
    }

    public func isMet(at now: MonotonicInstant) -> Bool {
        quorum == .any ? rules.contains { $0.isMet(at: now) } : rules.allSatisfy { $0.isMet(at: now) }
    }

    public mutating func reset() { for index in rules.indices { rules[index].reset() } }

    /// The counts of the first rule that has counted a failure, or else of the first rule.
    ///
    /// - Parameter now: The current time.
    /// - Returns: That rule's counts.
    public func counts(at now: MonotonicInstant) -> TripCounts {
        let all = rules.map { $0.counts(at: now) }
        return all.first { $0.failureCount > 0 } ?? all[0]
    }

    public func tallyEnds(after now: MonotonicInstant) -> MonotonicInstant {
        // A rule that ignores successes sets no limit.
        rules.filter { $0.needs.contains(.successes) }.map { $0.tallyEnds(after: now) }.min() ?? .distantFuture
    }

    public mutating func succeeded(_ count: Int, at now: MonotonicInstant) {
        for index in rules.indices { rules[index].succeeded(count, at: now) }
    }

    public func tallyStretch(at now: MonotonicInstant) -> Range<MonotonicInstant>? {
        var whole: Range<MonotonicInstant> = .distantPast ..< .distantFuture
        for rule in rules {
            guard let stretch = rule.tallyStretch(at: now) else { return nil }
            whole = whole.clamped(to: stretch)
        }
        return whole
    }

    public mutating func tallied(began: Int, succeeded: Int, at now: MonotonicInstant) {
        for index in rules.indices {
            if rules[index].needs.contains(.calls) {
                rules[index].tallied(began: began, succeeded: succeeded, at: now)
            } else if succeeded > 0 {
                rules[index].succeeded(succeeded, at: now)
            }
        }
    }

    public var needs: TripRuleNeeds { rules.reduce(into: []) { $0.formUnion($1.needs) } }

    /// The rules' memories, each preceded by its length.
    ///
    /// - Parameter now: The current time.
    /// - Returns: All these memories in one.
    public func memory(at now: MonotonicInstant) -> [Int] {
        MemoryKind.combined.memory(
            rules.flatMap { rule in
                let memory = rule.memory(at: now)
                return [memory.count] + memory
            })
    }

    public mutating func restore(_ memory: [Int], at now: MonotonicInstant) -> Bool {
        guard var rest = MemoryKind.combined.content(of: memory)?[...] else { return false }
        var restored = rules
        for index in restored.indices {
            guard let count = rest.popFirst(), (0...rest.count).contains(count),
                restored[index].restore(Array(rest.prefix(count)), at: now)
            else { return false }
            rest.removeFirst(count)
        }
        guard rest.isEmpty else { return false }
        rules = restored
        return true
    }

    public var description: String { "\(quorum) of: \(rules.map(\.description).joined(separator: "; "))" }
}

extension CombinedRule {
    /// Creates a rule of several rules.
    ///
    /// - Parameters:
    ///   - quorum: How many of the rules must be met.
    ///   - rules: One rule or more.
    public init(_ quorum: Quorum, of rules: [any TripRule]) {
        self.quorum = quorum
        self.rules = SettingChecks("CombinedRule").require(
            !rules.isEmpty, rules, "rules", "must have at least one rule", else: [ConsecutiveFailures.standard])
    }
}

extension TripRule where Self == CombinedRule {
    /// Opens as soon as any of these rules is met.
    ///
    /// - Parameter rules: One rule or more; each counts for itself.
    public static func anyOf(_ rules: any TripRule...) -> Self { CombinedRule(.any, of: rules) }

    /// Opens when all of these rules are met.
    ///
    /// - Parameter rules: One rule or more; each counts for itself.
    public static func allOf(_ rules: any TripRule...) -> Self { CombinedRule(.all, of: rules) }
}
