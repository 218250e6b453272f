import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// A rule compared with a list of all verdicts since its reset: the count is the failures since the last healthy
/// verdict.
private struct ListedVerdicts: ExplorableMachine {
    enum Input: Hashable {
        case record(Verdict)
        case reset
    }

    var rule: ConsecutiveFailures
    private let failing: [Verdict]
    private let healthy: [Verdict]
    private var verdicts: [Verdict] = []

    init(_ rule: ConsecutiveFailures, failing: [Verdict], healthy: [Verdict]) {
        self.rule = rule
        self.failing = failing
        self.healthy = healthy
    }

    let inputs: [Input] = [
        .reset, .record(.success), .record(.transient), .record(.uncertain), .record(.permanent), .record(.throttled),
        .record(.throttled(retryAfter: .seconds(1))), .record(.rejected), .record(.cancelled),
    ]

    /// Above the limit, only the count differs.
    var identity: [Int]? { [min(rule.failureCount, rule.limit + 1), min(failures, rule.limit + 1)] }

    private var failures: Int {
        let last = verdicts.lastIndex(where: healthy.contains) ?? -1
        return verdicts[(last + 1)...].count(where: failing.contains)
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .reset:
            rule.reset()
            verdicts = []
        case .record(let verdict):
            let evidence = rule.evidence(of: verdict)
            let expected: TripEvidence =
                failing.contains(verdict) ? .failing : healthy.contains(verdict) ? .healthy : .inconclusive
            try require(evidence, is: expected, "the evidence")
            verdicts.append(verdict)
            try require(rule.ended(verdict, at: .distantPast), is: failures >= rule.limit, "whether to open")
        }
        try require(rule.failureCount, is: failures, "the failures")
        var well = rule
        _ = well.ended(.success, at: .distantPast)
        try require(rule.needs.isEmpty, is: well == rule, "at rest")
    }
}

@Suite(.heavy) struct TripRuleExplorationTests {
    private static func failures(_ limit: Int) -> ListedVerdicts {
        ListedVerdicts(
            .consecutiveFailures(limit), failing: [.transient, .uncertain], healthy: [.success, .permanent])
    }

    private static func throttles(_ limit: Int) -> ListedVerdicts {
        ListedVerdicts(
            .consecutiveThrottles(limit), failing: [.throttled, .throttled(retryAfter: .seconds(1))],
            healthy: [.success])
    }

    @Test("in every reachable state, a rule counts like a list of all verdicts", arguments: [1, 2, 5, 200])
    func complete(limit: Int) throws {
        for (name, rule) in [("failures", Self.failures(limit)), ("throttles", Self.throttles(limit))] {
            let explorer = Explorer(rule, code: "\(name)(\(limit))")
            let exploration = try explorer.explore()
            #expect(exploration.isComplete && exploration.states == limit + 2)
            try explorer.exploreRandomly(length: 2_000, seed: 4)
        }
    }
}
