import Resilience
import Testing

@testable import ResilienceObservability

@Suite struct HealthRankingTests {
    private func component(
        _ name: String, _ status: HealthStatus = .up, isRequired: Bool = false, id: String? = nil
    ) -> HealthComponent {
        HealthComponent(id: id ?? name, name: name, isRequired: isRequired, status: status)
    }

    @Test("components are ordered by level, the worst first; then required ones first; then by source and name")
    func order() {
        var ranking = HealthRanking(limit: 10)
        ranking.add(component("b"), source: 1)
        ranking.add(component("a"), source: 1)
        ranking.add(component("z"), source: 0)
        ranking.add(component("required", isRequired: true), source: 2)
        ranking.add(component("degraded", .degraded), source: 3)
        ranking.add(component("down", .down), source: 4)
        let report = ranking.report(name: "s")
        #expect(report.components.map(\.name) == ["down", "degraded", "required", "z", "a", "b"])
        #expect(report.status == .down && report.name == "s")
        #expect(report.totals.components == 6 && report.totals.omitted == 0)
        #expect(report.totals.degraded == 1 && report.totals.down == 1)
    }

    @Test("the same components are kept, whatever the order of their arrival", arguments: 0..<20)
    func anyOrder(seed: Int) {
        let all = (0..<50).map { component("\($0)", $0 % 7 == 0 ? .degraded : .up, isRequired: $0 % 11 == 0) }
        var sorted = HealthRanking(limit: 100)
        for one in all { sorted.add(one, source: 0) }
        var generator = SplitMix64(seed: UInt64(seed))
        var ranking = HealthRanking(limit: 12)
        for one in all.shuffled(using: &generator) { ranking.add(one, source: 0) }
        let report = ranking.report(name: "s")
        #expect(report.components == Array(sorted.report(name: "s").components.prefix(12)))
        #expect(report.totals.components == 50 && report.totals.omitted == 38)
    }

    @Test("a limit of zero or less lists nothing and counts all", arguments: [0, -1, .min])
    func none(limit: Int) {
        var ranking = HealthRanking(limit: limit)
        ranking.add(component("down", .down), source: 0)
        let report = ranking.report(name: "s")
        #expect(report.components.isEmpty && report.status == .down)
        #expect(report.totals.components == 1 && report.totals.omitted == 1 && report.totals.down == 1)
    }

    @Test("an empty report is up")
    func empty() {
        let report = HealthRanking(limit: 3).report(name: "s")
        #expect(report.status == .up && report.totals == HealthTotals())
    }

    @Test("keys that look alike get different ids")
    func sameIDs() {
        var ranking = HealthRanking(limit: 3)
        for _ in 0..<3 { ranking.add(component("same"), source: 0) }
        #expect(Set(ranking.report(name: "s").components.map(\.id)).count == 3)
    }

    @Test("a long name is cut, and stays different from others")
    func long() {
        let one = String(repeating: "a", count: 1_000_000)
        #expect(bounded(one).unicodeScalars.count <= 200)
        #expect(bounded(one) != bounded(one + "b") && bounded(one) == bounded(one))
        // This is one character of many scalars.
        #expect(bounded("e" + String(repeating: "\u{301}", count: 10_000)).unicodeScalars.count <= 200)
        let exact = String(repeating: "é", count: 200)
        #expect(bounded(exact) == exact && bounded("") == "")
    }
}
