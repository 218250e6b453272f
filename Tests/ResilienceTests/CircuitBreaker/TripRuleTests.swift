import TestSupport
import Testing

@testable import Resilience

private let now = MonotonicInstant.second(0)

@Suite struct TripRuleTests {
    @Test("if no number of failures opens a circuit, its status has no failureLimit")
    func noLimit() {
        #expect(CircuitBreaker(tripping: .consecutiveFailures(.max)).status.failureLimit == nil)
        #expect(CircuitBreaker(tripping: .consecutiveFailures(5)).status.failureLimit == 5)
    }

    @Test(
        "the rule is met on the nth failure in a row: only a success in between resets the count",
        arguments: [
            ("fff", 3, true), ("ff", 2, false), ("ffs", 0, false), ("ffsff", 2, false), ("ffsfff", 3, true),
            ("f-f-", 2, false), ("f-f-f", 3, true), ("ffff", 4, true), ("", 0, false), ("sss", 0, false),
        ])
    func counting(history: String, count: Int, opens: Bool) {
        var rule = ConsecutiveFailures.consecutiveFailures(3)
        var opened = false
        for letter in history {
            opened = rule.ended(letter == "f" ? .transient : letter == "s" ? .success : .throttled)
        }
        #expect(rule.failureCount == count && opened == opens)
        #expect(rule.needs == (count == 0 ? [] : .successes) && rule.counts(at: now).failureLimit == 3)
    }

    @Test("a limit of 1 opens on the first failure; the greatest limit never opens a circuit", arguments: [1, Int.max])
    func limits(limit: Int) {
        var rule = ConsecutiveFailures.consecutiveFailures(limit)
        #expect(rule.ended(.transient) == (limit == 1))
    }

    @Test("the verdicts that count as failing and as healthy can be chosen")
    func chosen() {
        let rule = ConsecutiveFailures(2, failing: [.permanent], healthy: [.success, .transient])
        #expect(rule.evidence(of: .permanent) == .failing && rule.evidence(of: .transient) == .healthy)
        #expect("\(rule)" == "opens on 2 in a row of permanent")
    }
}
