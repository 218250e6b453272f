import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// A rule that gets each call individually: it implements no requirement that has a default.
private struct OneByOne: TripRule {
    var rule: any TripRule

    var description: String { rule.description }
    var needs: TripRuleNeeds { rule.needs }
    func evidence(of end: CallEnd) -> TripEvidence { rule.evidence(of: end) }
    func evidence(ofProbe end: CallEnd) -> TripEvidence { rule.evidence(ofProbe: end) }
    mutating func began(at now: MonotonicInstant) { rule.began(at: now) }
    mutating func ended(_ end: CallEnd) { rule.ended(end) }
    func isMet(at now: MonotonicInstant) -> Bool { rule.isMet(at: now) }
    mutating func reset() { rule.reset() }
    mutating func forgetCalls() { rule.forgetCalls() }
    func counts(at now: MonotonicInstant) -> TripCounts { rule.counts(at: now) }
    mutating func takeCalls(from other: any TripRule) -> Bool {
        rule.takeCalls(from: (other as? OneByOne)?.rule ?? other)
    }
    func memory(at now: MonotonicInstant) -> [Int] { rule.memory(at: now) }
    mutating func restore(_ memory: [Int], at now: MonotonicInstant) -> Bool { rule.restore(memory, at: now) }
}

/// Calls that are both watched and batched.
@Suite struct TalliedCallsTests {
    private static let rules: [CombinedRule] = [
        .anyOf(.slowCalls(0.5, longerThan: .seconds(1), over: .calls(10), minimumCalls: 4)),
        .anyOf(.slowCalls(0.3, longerThan: .nanoseconds(1_000_000_007), over: .time(.seconds(4)), minimumCalls: 4)),
        .anyOf(.consecutiveFailures(3), .slowCalls(0.5, longerThan: .seconds(1), over: .calls(6), minimumCalls: 2)),
        .allOf(
            .failureRatio(0.2, over: .time(.seconds(4)), minimumCalls: 6),
            .slowCalls(0.2, longerThan: .seconds(1), over: .calls(6), minimumCalls: 2)),
    ]

    /// Plays the same calls on both breakers at the same time, and compares every answer and, now and then, the status.
    /// - Parameter byHand: Changes both in the same way.
    private func expectTheSame(
        _ one: CircuitBreaker, _ other: CircuitBreaker, _ clock: ManualClock, seed: UInt64,
        byHand: (inout SplitMix64) -> Void = { _ in }
    ) -> Int {
        var random = SplitMix64(seed: seed)
        let (ones, others) = (HeldPermits(), HeldPermits())
        var rejected = 0
        for step in 0..<600 {
            switch Int.random(in: 0..<16, using: &random) {
            case 0..<6:
                let answers = [(one, ones), (other, others)].map { breaker, permits in
                    do {
                        permits.add(try breaker.tryAcquire())
                        return true
                    } catch {
                        return false
                    }
                }
                #expect(answers[0] == answers[1], "seed \(seed), step \(step)")
                if !answers[0] { rejected += 1 }
            case 6..<12:
                let verdict: Verdict =
                    switch Int.random(in: 0..<10, using: &random) {
                    case 0: .transient
                    case 1: .cancelled
                    default: .success
                    }
                for permits in [ones, others] { permits.completeFirst(verdict) }
            case 12:
                for permits in [ones, others] { permits.reverse() }
            case 13:
                clock.advance(by: .milliseconds(Int.random(in: 0..<1_500, using: &random)))
            case 14:
                clock.advance(by: .milliseconds(Int.random(in: 0..<100, using: &random)))
            default:
                #expect(one.status.timeless == other.status.timeless, "seed \(seed), step \(step)")
                byHand(&random)
            }
        }
        for permits in [ones, others] { permits.completeAll(.cancelled) }
        return rejected
    }

    @Test(
        "batched calls open the circuit at the same call as calls delivered individually, and count the same",
        arguments: rules.indices)
    func likeOneByOne(index: Int) {
        var rejected = 0
        for seed in 0..<30 as Range<UInt64> {
            let clock = ManualClock()
            let rule = Self.rules[index]
            let one = CircuitBreaker(tripping: rule, openFor: .seconds(2), timeBase: clock)
            let other = CircuitBreaker(tripping: OneByOne(rule: rule), openFor: .seconds(2), timeBase: clock)
            rejected += expectTheSame(one, other, clock, seed: seed)
        }
        #expect(rejected > 100)
    }

    @Test(
        "batched and individual calls agree while breakers are changed by hand, restored or left alone for a year",
        arguments: rules.indices)
    func likeOneByOneChanged(index: Int) throws {
        let rule = Self.rules[index]
        for seed in 0..<30 as Range<UInt64> {
            let clock = ManualClock()
            let one = CircuitBreaker(tripping: rule, openFor: .seconds(2), timeBase: clock)
            let other = CircuitBreaker(tripping: OneByOne(rule: rule), openFor: .seconds(2), timeBase: clock)
            var snapshots: [(taken: MonotonicInstant, of: [CircuitSnapshot])] = []
            _ = expectTheSame(one, other, clock, seed: seed) { random in
                let (both, length) = ([one, other], Int.random(in: 1...5, using: &random))
                let modes: [CircuitBreaker.Mode] = [.automatic, .automatic, .isolated, .disabled, .observing]
                let mode = modes[length - 1]
                switch Int.random(in: 0..<10, using: &random) {
                case 0: for breaker in both { breaker.trip(for: .seconds(length)) }
                case 1: for breaker in both { breaker.reset(keepingGrowth: length > 2) }
                case 2, 3: for breaker in both { breaker.setMode(mode) }
                case 4:
                    one.reconfigure(tripping: rule, openFor: .seconds(length))
                    other.reconfigure(tripping: OneByOne(rule: rule), openFor: .seconds(length))
                case 5: snapshots.append((clock.now, both.compactMap { $0.snapshot(wallClock: 0) }))
                case 6:
                    guard let (taken, snapshot) = snapshots.randomElement(using: &random) else { return }
                    let age = taken.duration(to: clock.now).saturatedNanoseconds / 1_000_000
                    for (breaker, snapshot) in zip(both, snapshot) { try? breaker.restore(snapshot, wallClock: age) }
                case 7: for breaker in both { breaker.endBreak() }
                case 8: clock.advance(by: length > 4 ? .seconds(365 * 86_400) : .seconds(60))
                default: break
                }
            }
        }
    }

    @Test(
        "a slow-call rule finds hanging calls, even if batched with successes in the same eighth of the limit")
    func hanging() throws {
        let clock = ManualClock()
        let breaker = CircuitBreaker(
            tripping: .slowCalls(0.5, longerThan: .seconds(8), over: .calls(10), minimumCalls: 4), timeBase: clock)
        let permits = HeldPermits()
        for _ in 0..<3 { try breaker.tryAcquire().complete(.success) }
        for _ in 0..<4 { permits.add(try breaker.tryAcquire()) }
        #expect(breaker.status.callCount == 3)
        clock.advance(by: .seconds(10))
        #expect(!breaker.forecast().begins)
        #expect(throws: CircuitOpen.self) { _ = try breaker.tryAcquire() }
        permits.completeAll()
    }

    @Test("if, after slow calls, a batched success reaches the minimum of calls, the next call opens the circuit")
    func minimumReached() throws {
        let clock = ManualClock()
        let breaker = CircuitBreaker(
            tripping: .slowCalls(0.5, longerThan: .seconds(1), over: .calls(10), minimumCalls: 4), timeBase: clock)
        for _ in 0..<2 {
            let permit = try breaker.tryAcquire()
            clock.advance(by: .seconds(2))
            permit.complete(.success)
        }
        for _ in 0..<2 { try breaker.tryAcquire().complete(.success) }
        #expect(throws: CircuitOpen.self) { _ = try breaker.tryAcquire() }
    }

    @Test("calls of many concurrent tasks are all counted, and none stays in flight", .timeLimit(.minutes(20)))
    func concurrent() async throws {
        let breaker = CircuitBreaker(
            tripping: .slowCalls(0.9, longerThan: .milliseconds(1), over: .calls(100_000), minimumCalls: 100_000))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for number in 0..<5_000 {
                        _ = try? await breaker.run(judging: { _ in number % 100 == 0 ? .transient : .success }) {}
                    }
                }
            }
        }
        #expect(breaker.status.callCount == 20_000)
        let machine = breaker.inner.withLock { $0.circuit.machine }
        let rule = (machine as? ThreeStateCircuit)?.rule as? SlowCalls
        #expect(try #require(rule).underWay.count == 0)
    }

    // MARK: The stretch of time

    @Test(
        "a stretch contains the present, and ends before calls in flight would count as slow",
        arguments: [1, 7, 8, 9, 1_003] as [Int64])
    func stretch(nanoseconds: Int64) throws {
        for start in [.min, -5, 0, 12_345, .max - 20_000] as [Int64] {
            var rule = SlowCalls(.count(1), longerThan: .nanoseconds(nanoseconds), over: .calls(3), minimumCalls: 1)
            let now = MonotonicInstant(nanoseconds: start)
            rule.began(at: now)
            // At the ends of time there may be no stretch.
            guard let stretch = rule.tallyStretch(at: now) else { continue }
            #expect(stretch.contains(now))
            var then = rule
            let last = MonotonicInstant(nanoseconds: stretch.upperBound.nanoseconds - 1)
            then.tallied(began: 5, succeeded: 6, at: now)
            then.began(at: last)
            #expect(!then.isMet(at: last))
        }
    }

    @Test("there is no stretch while the rule is met, while further calls could meet it, or if the rule has none")
    func noStretch() {
        var rule = SlowCalls(.ratio(0.5), longerThan: .seconds(1), over: .calls(10), minimumCalls: 4)
        #expect(rule.tallyStretch(at: .second(0)) != nil)
        rule.began(at: .second(0))
        rule.ended(CallEnd(.success, at: .second(3), began: .second(0)))
        #expect(rule.tallyStretch(at: .second(3)) != nil)
        rule.began(at: .second(3))
        rule.ended(CallEnd(.success, at: .second(6), began: .second(3)))
        #expect(rule.tallyStretch(at: .second(6)) == nil)
        #expect(CombinedRule.anyOf(OneByOne(rule: rule)).tallyStretch(at: .second(0)) == nil)
        var failures = ConsecutiveFailures.consecutiveFailures(1)
        #expect(failures.tallyStretch(at: .second(0)) == .distantPast ..< .distantFuture)
        _ = failures.ended(.transient)
        #expect(failures.tallyStretch(at: .second(0)) == nil)
    }

    @Test("a custom rule without batching gets each batched call individually")
    func defaults() {
        var rule = OneByOne(rule: SlowCalls.slowCalls(1, longerThan: .seconds(1), over: .calls(9), minimumCalls: 9))
        rule.tallied(began: 3, succeeded: 2, at: .second(0))
        #expect(rule.counts(at: .second(0)).callCount == 2)
        rule.began(at: .second(5))
        #expect(rule.counts(at: .second(5)).failureCount == 1)
    }
}
