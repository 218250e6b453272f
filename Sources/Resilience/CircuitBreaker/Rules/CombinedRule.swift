/// Several rules as one: opens when any of them would, or only when all of them would.
public struct CombinedRule: TripRule {
    public enum Quorum: String, Sendable, Hashable {
        case any
        case all
    }

    public let quorum: Quorum
    public private(set) var rules: [any TripRule]

    /// - Parameter rules: one or more.
    public init(_ quorum: Quorum, of rules: [any TripRule]) {
        precondition(!rules.isEmpty, "CombinedRule: there are no rules, and must be at least 1")
        self.quorum = quorum
        self.rules = rules
    }

    /// Failing if any rule says so, or all; else healthy if any does.
    public func evidence(of end: CallEnd) -> Evidence {
        let evidence = rules.map { $0.evidence(of: end) }
        let fails = quorum == .any ? evidence.contains(.failing) : evidence.allSatisfy { $0 == .failing }
        return fails ? .failing : evidence.contains(.healthy) ? .healthy : .none
    }

    public mutating func began(at now: Instant) {
        for index in rules.indices where rules[index].needs.contains(.calls) { rules[index].began(at: now) }
    }

    public mutating func ended(_ end: CallEnd) {
        for index in rules.indices where !end.verdict.saysNothing || rules[index].needs.contains(.calls) {
            rules[index].ended(end)
        }
    }

    public func isMet(at now: Instant) -> Bool {
        quorum == .any ? rules.contains { $0.isMet(at: now) } : rules.allSatisfy { $0.isMet(at: now) }
    }

    public mutating func reset() { for index in rules.indices { rules[index].reset() } }

    /// Those of the first rule that counts any failures, else of the first.
    public func counts(at now: Instant) -> TripCounts {
        let all = rules.map { $0.counts(at: now) }
        return all.first { $0.failures > 0 } ?? all[0]
    }

    public func tallyEnds(after now: Instant) -> Instant {
        // A rule that a success does not change says nothing.
        rules.filter { $0.needs.contains(.successes) }.map { $0.tallyEnds(after: now) }.min() ?? .distantFuture
    }

    public mutating func succeeded(_ count: Int, at now: Instant) {
        for index in rules.indices { rules[index].succeeded(count, at: now) }
    }

    public var needs: TripRuleNeeds { rules.reduce(into: []) { $0.formUnion($1.needs) } }

    /// Each rule's, after its length.
    public func memory(at now: Instant) -> [Int] {
        MemoryKind.combined.memory(
            rules.flatMap { rule in
                let memory = rule.memory(at: now)
                return [[memory.count], memory].flatMap { $0 }
            })
    }

    public mutating func restore(_ memory: [Int], at now: Instant) -> Bool {
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

extension TripRule where Self == CombinedRule {
    /// Opens as soon as any of these rules would.
    public static func anyOf(_ rules: any TripRule...) -> Self { CombinedRule(.any, of: rules) }

    /// Opens when all of these rules would: each by what it has counted.
    public static func allOf(_ rules: any TripRule...) -> Self { CombinedRule(.all, of: rules) }
}
