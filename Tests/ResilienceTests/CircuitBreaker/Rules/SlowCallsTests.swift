import TestSupport
import Testing

@testable import Resilience

@Suite struct SlowCallsTests {
    /// Opens when half of the last 10 calls, and at least 2, took longer than 8 s.
    private var rule = SlowCalls.slowCalls(0.5, longerThan: .seconds(8), over: .calls(10), minimumCalls: 2)

    @Test("a call is slow if it took longer than the limit, whether it succeeded or failed", arguments: [7, 8, 9, 500])
    mutating func ended(length: Int64) {
        for verdict in [Verdict.success, .transient] {
            rule.reset()
            for _ in 0..<2 { rule.began(at: .second(0)) }
            for _ in 0..<2 { _ = rule.ended(verdict, at: .second(length), began: .second(0)) }
            #expect(rule.isMet(at: .second(length)) == (length > 8))
            #expect(rule.counts(at: .second(length)) == TripCounts(failureCount: length > 8 ? 2 : 0, callCount: 2))
        }
    }

    @Test("a success or 404 in time is healthy, a late end is failing, and an error in time is inconclusive")
    func evidence() {
        func evidence(_ verdict: Verdict, _ length: Int64) -> TripEvidence {
            rule.evidence(of: CallEnd(verdict, at: .second(length), began: .second(0)))
        }
        #expect(evidence(.success, 8) == .healthy && evidence(.permanent, 8) == .healthy)
        #expect(evidence(.transient, 8) == .inconclusive && evidence(.throttled, 8) == .inconclusive)
        #expect(evidence(.success, 9) == .failing && evidence(.transient, 9) == .failing)
    }

    @Test("a call in flight counts as slow at most an eighth of the limit after it passed the limit")
    mutating func underWay() {
        for _ in 0..<2 { rule.began(at: .second(0)) }
        rule.began(at: .second(7))
        #expect(!rule.isMet(at: .second(7)) && rule.counts(at: .second(7)).callCount == 0)
        rule.began(at: .second(9))
        #expect(rule.isMet(at: .second(9)) && rule.counts(at: .second(9)) == TripCounts(failureCount: 2, callCount: 2))
    }

    @Test("a call cancelled in time does not count; a call cancelled after the limit counts as slow")
    mutating func cancelled() {
        rule.began(at: .second(0))
        _ = rule.ended(.cancelled, at: .second(3), began: .second(0))
        #expect(rule.counts(at: .second(50)).callCount == 0)
        rule.began(at: .second(50))
        _ = rule.ended(.cancelled, at: .second(59), began: .second(50))
        #expect(rule.counts(at: .second(59)) == TripCounts(failureCount: 1, callCount: 1))
    }

    @Test("a call whose beginning is unknown is not slow")
    func unknownBeginning() {
        #expect(rule.evidence(of: CallEnd(.success, at: .second(99))) == .healthy)
    }

    @Test("a call is in flight until its first end; after a very long time a slow call is found quickly")
    func underWayOnce() {
        var calls = CallsUnderWay(.nanoseconds(100))
        calls.began(at: MonotonicInstant(nanoseconds: 0))
        #expect(calls.ended(began: MonotonicInstant(nanoseconds: 0)) == true)
        #expect(calls.ended(began: MonotonicInstant(nanoseconds: 0)) == false)
        calls.began(at: MonotonicInstant(nanoseconds: 1))
        #expect(calls.takeSlow(at: .distantFuture) == 1)
        #expect(calls.count == 0)
    }

    @Test("at the beginning of time no call is slow yet")
    func beginningOfTime() {
        var calls = CallsUnderWay(.nanoseconds(100))
        calls.began(at: MonotonicInstant(nanoseconds: .min + 5))
        #expect(calls.takeSlow(at: MonotonicInstant(nanoseconds: .min + 6)) == 0)
        #expect(calls.count == 1)
    }

    @Test("by default a slow-call rule covers 100 calls")
    func defaults() { #expect("\(SlowCalls.slowCalls(0.5, longerThan: .seconds(1)))".contains("the last 100 calls")) }

    @Test("the end of a call that began unwatched does not count")
    mutating func unwatched() {
        _ = rule.ended(.success, at: .second(9), began: .second(0))
        rule.began(at: .second(20))
        _ = rule.ended(.success, at: .second(21), began: .second(3))
        #expect(rule.counts(at: .second(21)).callCount == 0)
    }

    @Test(
        "calls can be watched with any limit, short or long, at any time",
        arguments: [1, 2, 7, 8, 9, 63, .max] as [Int64])
    func limits(nanoseconds: Int64) {
        for start in [Int64.min, -3, 0, .max - 5, .max] {
            var rule = SlowCalls(
                .count(1), longerThan: .nanoseconds(nanoseconds), over: .calls(3), minimumCalls: 1)
            let begin = MonotonicInstant(nanoseconds: start)
            rule.began(at: begin)
            let end = begin + .nanoseconds(nanoseconds) + .nanoseconds(1)
            #expect(
                rule.ended(.success, at: end, began: begin) == (begin.duration(to: end) > .nanoseconds(nanoseconds)))
        }
    }
}

@Suite struct CombinedRuleTests {
    @Test(
        "any of: the combined rule is met as soon as one rule is met",
        arguments: [("ff", true), ("fsf", true), ("fs", false)])
    func any(history: String, met: Bool) {
        var rule = CombinedRule.anyOf(.consecutiveFailures(2), .failures(2, over: .calls(3)))
        for letter in history { _ = rule.ended(letter == "f" ? .transient : .success) }
        #expect(rule.isMet(at: .second(0)) == met)
    }

    @Test(
        "all of: the combined rule is met only when all rules are met",
        arguments: [("ff", false), ("fsff", true), ("ffs", false), ("fff", true)])
    func all(history: String, met: Bool) {
        var rule = CombinedRule.allOf(.consecutiveFailures(2), .failures(3, over: .calls(9)))
        for letter in history { _ = rule.ended(letter == "f" ? .transient : .success) }
        #expect(rule.isMet(at: .second(0)) == met)
    }

    @Test("evidence is failing if it is failing for any rule, else healthy if it is healthy for any rule")
    func evidence() {
        let (failures, throttles) = (
            ConsecutiveFailures.consecutiveFailures(2), ConsecutiveFailures.consecutiveThrottles(2)
        )
        let (any, all) = (CombinedRule.anyOf(failures, throttles), CombinedRule.allOf(failures, throttles))
        #expect(any.evidence(of: .transient) == .failing && any.evidence(of: .throttled) == .failing)
        #expect(all.evidence(of: .transient) == .failing && all.evidence(of: .success) == .healthy)
        #expect(any.evidence(of: .permanent) == .healthy && all.evidence(of: .permanent) == .healthy)
    }

    @Test("all of: rules may count failures of different kinds, even if no call fails for all rules (P35)")
    func differentFailures() {
        let breaker = CircuitBreaker(
            tripping: .allOf(
                .failures(3, over: .calls(100), failing: .transient, healthy: .success),
                .failures(3, over: .calls(100), failing: .throttled, healthy: .success)))
        for _ in 0..<50 { try? breaker.tryAcquire().complete(.transient) }
        #expect(breaker.state == .closed)
        for _ in 0..<2 { try? breaker.tryAcquire().complete(.throttled) }
        #expect(breaker.state == .closed)
        try? breaker.tryAcquire().complete(.throttled)
        #expect(breaker.state == .open)
    }

    @Test("all of: two rules can be met together even if each rule's failures are the other rule's successes (P35)")
    func mixedEvidence() {
        var rule = CombinedRule.allOf(
            .failures(2, over: .calls(9), failing: .transient, healthy: .throttled),
            .failures(2, over: .calls(9), failing: .throttled, healthy: .transient))
        for verdict in [Verdict.transient, .throttled, .transient, .throttled] {
            #expect(!rule.isMet(at: .second(0)))
            _ = rule.ended(verdict)
            #expect(rule.evidence(of: verdict) == .failing)
        }
        #expect(rule.isMet(at: .second(0)))
    }

    @Test("a half-open circuit judges a probe by the quorum that opened it (P35)")
    func probes() {
        let slow = CallEnd(.success, at: .second(9), began: .second(0))
        let quick = CallEnd(.transient, at: .second(1), began: .second(0))
        let both = CallEnd(.transient, at: .second(9), began: .second(0))
        let well = CallEnd(.success, at: .second(1), began: .second(0))
        let throttled = CallEnd(.throttled, at: .second(1), began: .second(0))
        let rules: [any TripRule] = [
            ConsecutiveFailures.consecutiveFailures(2), SlowCalls.slowCalls(0.5, longerThan: .seconds(8)),
        ]
        let (any, all) = (CombinedRule(.any, of: rules), CombinedRule(.all, of: rules))
        #expect([slow, quick, both].allSatisfy { any.evidence(ofProbe: $0) == .failing })
        #expect(all.evidence(ofProbe: slow) == .healthy)
        #expect(all.evidence(ofProbe: quick) == .failing && all.evidence(ofProbe: both) == .failing)
        for rule in [any, all] {
            #expect(rule.evidence(ofProbe: well) == .healthy && rule.evidence(ofProbe: throttled) == .inconclusive)
        }
    }

    @Test("a rule that watches calls gets all of them; other rules get only conclusive ends")
    func watching() {
        var rule = CombinedRule.anyOf(.consecutiveFailures(1), .slowCalls(1, longerThan: .seconds(8), minimumCalls: 2))
        #expect(rule.needs == [.calls, .successes])
        rule.began(at: .second(0))
        #expect(rule.ended(.cancelled, at: .second(9), began: .second(0)) == false)
        rule.began(at: .second(10))
        #expect(!rule.isMet(at: .second(18)))
        rule.began(at: .second(30))
        #expect(rule.isMet(at: .second(30)))
    }

    @Test("a rule that watches calls learns of a call cancelled in time, and no longer counts the call as in flight")
    func cancelled() {
        var rule = CombinedRule.anyOf(.slowCalls(1, longerThan: .seconds(8), minimumCalls: 1))
        rule.began(at: .second(0))
        _ = rule.ended(.cancelled, at: .second(3), began: .second(0))
        rule.began(at: .second(50))
        #expect(!rule.isMet(at: .second(50)))
    }

    /// Records its inputs.
    private struct Noting: TripRule {
        var began = 0
        var ends: [Verdict] = []
        var description: String { "noting" }
        func evidence(of end: CallEnd) -> TripEvidence { .inconclusive }
        mutating func began(at now: MonotonicInstant) { began += 1 }
        mutating func ended(_ end: CallEnd) { ends.append(end.verdict) }
        func isMet(at now: MonotonicInstant) -> Bool { false }
        mutating func reset() {}
        func counts(at now: MonotonicInstant) -> TripCounts { TripCounts(failureCount: 0) }
    }

    @Test("beside a rule that watches calls, another rule gets no beginnings, cancellations or rejections")
    func notWatching() {
        var rule = CombinedRule.anyOf(Noting(), .slowCalls(1, longerThan: .seconds(8)))
        rule.began(at: .second(0))
        for verdict in [Verdict.success, .cancelled, .rejected, .throttled] {
            _ = rule.ended(verdict, began: .second(0))
        }
        let noting = rule.rules[0] as? Noting
        #expect(noting?.began == 0 && noting?.ends == [.success, .throttled])
    }

    @Test("without failures a combined rule shows the first rule's counts")
    func shownCounts() {
        let rule = CombinedRule.anyOf(.consecutiveFailures(5), .failures(7, over: .calls(9)))
        #expect(rule.counts(at: .second(0)) == TripCounts(failureCount: 0, failureLimit: 5))
    }

    @Test("successes may be batched if every rule that they change allows it")
    func tally() {
        var rule = CombinedRule.anyOf(.consecutiveFailures(5), .failureRatio(0.5, over: .time(.seconds(10))))
        #expect(rule.tallyEnds(after: .second(0)) == .second(1))
        _ = rule.ended(.transient)
        #expect(rule.tallyEnds(after: .second(0)) == .second(0))
        rule.succeeded(3, at: .second(0))
        #expect(rule.tallyEnds(after: .second(0)) == .second(1))
        #expect(rule.counts(at: .second(0)) == TripCounts(failureCount: 1, callCount: 4))
    }

    @Test("each rule's counts are restored; a memory of other rules is rejected, and changes nothing")
    func memory() {
        var rule = CombinedRule.allOf(.consecutiveFailures(5), .failures(3, over: .calls(9)))
        for verdict in [Verdict.success, .transient, .transient] { _ = rule.ended(verdict) }
        let memory = rule.memory(at: .second(0))
        #expect(memory == [5, 2, 1, 2, 4, 2, 0, 1, 1])
        var next = CombinedRule.allOf(.consecutiveFailures(5), .failures(3, over: .calls(9)))
        #expect(next.restore(memory, at: .second(0)) && next.memory(at: .second(0)) == memory)
        let bad: [[Int]] = [
            [], [5], [5, 2, 1], [5, 2, 1, 2, 4, 2, 0, 1], memory + [0], [5, -1, 2], [5, 2, 1, -2, 0], [5, 9, 1],
            [5, .max], [5, 0, 0], Array(memory.dropFirst()), [4] + memory.dropFirst(),
        ]
        for bad in bad {
            #expect(!next.restore(bad, at: .second(0)) && next.memory(at: .second(0)) == memory, "\(bad)")
        }
        next.reset()
        #expect(next.counts(at: .second(0)).failureCount == 0)
    }
}
