import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

@Suite(.heavy) struct RegistryAgingTests {
    let clock = ManualClock()

    /// Keeps ten breakers, which open on the 2nd failure for 60 s, and evicts breakers unused for 600 s.
    private func registry() -> CircuitBreakerRegistry<Int> {
        CircuitBreakerRegistry(capacity: 10, timeBase: clock) { [clock] key in
            CircuitBreaker("\(key)", tripping: .consecutiveFailures(2), timeBase: clock)
        }
    }

    private func fail(_ keys: some Sequence<Int>, in breakers: CircuitBreakerRegistry<Int>, times: Int = 1) {
        for key in keys { for _ in 0..<times { try? breakers[key].tryAcquire().complete(.transient) } }
    }

    @Test("keys that failed once are evicted after a long time without use (P39)")
    func counted() {
        let breakers = registry()
        fail(0..<1000, in: breakers)
        #expect(breakers.count == 1000)
        clock.advance(by: .seconds(599))
        for key in 1000..<1500 { _ = breakers[key] }
        #expect((0..<1000).allSatisfy { breakers.values[$0] != nil })
        clock.advance(by: .seconds(1))
        for key in 1500..<1700 { _ = breakers[key] }
        #expect(breakers.count == 10)
    }

    @Test("however many keys fail once, the number of kept keys stays bounded (P39)")
    func volley() {
        let breakers = registry()
        var most = 0
        for key in 0..<20_000 {
            // Some keys are used twice, so the eviction hand must pass them twice.
            fail([key, key].prefix(1 + key % 2), in: breakers)
            clock.advance(by: .seconds(1))
            most = max(most, breakers.count)
        }
        // 600 keys come while a key is kept; more come while the hand, eight times as fast, goes round twice.
        #expect(most >= 600 && most < 900, "\(most)")
    }

    @Test("a key that is used before its time is over stays for the full time again")
    func used() {
        let breakers = registry()
        fail(0..<10, in: breakers)
        clock.advance(by: .seconds(599))
        #expect(breakers.existing(3)?.status.failureCount == 1)
        clock.advance(by: .seconds(1))
        for key in 100..<120 { _ = breakers[key] }
        #expect((0..<10).filter { breakers.values[$0] != nil } == [3])
        clock.advance(by: .seconds(599))
        for key in 200..<220 { _ = breakers[key] }
        #expect(breakers.values[3] != nil)
        clock.advance(by: .seconds(1))
        for key in 300..<320 { _ = breakers[key] }
        #expect(breakers.values[3] == nil)
    }

    @Test("a held key counts as used until it is released")
    func held() {
        let breakers = registry()
        fail(0..<10, in: breakers)
        do {
            let held = breakers[3]
            for round in 1...2 {
                clock.advance(by: .seconds(300))
                for key in 0..<20 { _ = breakers[100 * round + key] }
            }
            #expect(held.status.failureCount == 1)
        }
        clock.advance(by: .seconds(599))
        for key in 300..<320 { _ = breakers[key] }
        #expect(breakers.values[3]?.status.failureCount == 1)
    }

    @Test("reading all statuses again and again saves no key from eviction")
    func polled() {
        let breakers = registry()
        fail(0..<100, in: breakers)
        for _ in 0..<60 {
            clock.advance(by: .seconds(10))
            #expect(breakers.statuses.count == 100)
        }
        for key in 100..<200 { _ = breakers[key] }
        #expect(breakers.count == 10)
    }

    @Test("an open circuit stays during its whole break, and then for the eviction time")
    func open() {
        let breakers = CircuitBreakerRegistry<Int>(capacity: 10, timeBase: clock) { [clock] key in
            CircuitBreaker(tripping: .consecutiveFailures(2), openFor: .seconds(3600), timeBase: clock)
        }
        fail([-1], in: breakers, times: 2)
        for seconds in [3599, 600] {
            clock.advance(by: .seconds(seconds))
            for key in 0..<50 { _ = breakers[seconds * 100 + key] }
            #expect(breakers.values[-1] != nil)
        }
        clock.advance(by: .seconds(1))
        for key in 0..<50 { _ = breakers[key] }
        #expect(breakers.values[-1] == nil)
    }

    @Test("a breaker with a mode set by hand is never evicted")
    func byHand() {
        let breakers = registry()
        for (key, mode) in zip([-1, -2, -3], [CircuitBreaker.Mode.isolated, .disabled, .observing]) {
            breakers[key].setMode(mode)
        }
        clock.advance(by: .seconds(100_000))
        for key in 0..<1000 { _ = breakers[key] }
        #expect([-1, -2, -3].allSatisfy { breakers.values[$0] != nil })
    }

    @Test("a bulkhead or throttle with a limit set by hand is never evicted")
    func limitsByHand() {
        let bulkheads = BulkheadRegistry<Int>(capacity: 10, timeBase: clock) { [clock] _ in
            Bulkhead(limit: 1, timeBase: clock)
        }
        let throttles = ThrottleRegistry<Int>(capacity: 10, timeBase: clock) { [clock] _ in
            Throttle(limit: .perSecond(1), timeBase: clock)
        }
        bulkheads[-1].setLimit(5)
        throttles[-1].setRate(.perSecond(5))
        clock.advance(by: .seconds(100_000))
        for key in 0..<100 { _ = (bulkheads[key], throttles[key]) }
        #expect(bulkheads.values[-1]?.status.limit == 5 && throttles.values[-1] != nil)
    }

    @Test("the growth of an old break does not prevent eviction, and a pipeline is evicted with its breaker")
    func grown() async throws {
        let pipelines = PipelineRegistry<Int>(capacity: 10, evictingAfter: .seconds(60), timeBase: clock) {
            [clock] key in
            Pipeline {
                Retry(maxRetries: 0)
                CircuitBreaker(circuit: BackoffGate(tripping: .consecutiveFailures(1)), timeBase: clock)
                Timeout(limit: .seconds(5))
            }
        }
        for key in 0..<20 { await #expect(throws: Outage.self) { try await pipelines[key].run { throw Outage() } } }
        clock.advance(by: .seconds(89))
        for key in 20..<30 { _ = pipelines[key] }
        #expect((0..<20).allSatisfy { pipelines.values[$0] != nil })
        clock.advance(by: .seconds(1))
        for key in 30..<60 { _ = pipelines[key] }
        #expect((0..<20).allSatisfy { pipelines.values[$0] == nil })
    }

    @Test("a throttle is evicted long after its hold, but never while its rate is used up")
    func throttles() throws {
        let throttles = ThrottleRegistry<Int>(capacity: 10, timeBase: clock) { [clock] _ in
            Throttle(
                limit: .rate(1, per: .seconds(86_400)), holdOnThrottled: true,
                holdBackoff: .constant(.seconds(60)),
                timeBase: clock)
        }
        try throttles[-1].tryAcquire().complete(.success)
        for key in 0..<20 { throttles[key].hold(for: .seconds(60)) }
        clock.advance(by: .seconds(659))
        for key in 20..<30 { _ = throttles[key] }
        #expect((0..<20).allSatisfy { throttles.values[$0] != nil })
        clock.advance(by: .seconds(1))
        for key in 30..<60 { _ = throttles[key] }
        #expect((0..<20).allSatisfy { throttles.values[$0] == nil } && throttles.values[-1] != nil)
    }

    @Test("a throttle and a bulkhead that all keys share, and that are always in use, save no key from eviction (P39)")
    func shared() throws {
        let throttle = Throttle(limit: .rate(1, per: .seconds(3600), burst: 100), timeBase: clock)
        let bulkhead = Bulkhead(limit: 100, timeBase: clock)
        let pipelines = PipelineRegistry<Int>(capacity: 10, timeBase: clock) { _ in
            Pipeline {
                throttle
                bulkhead
            }
        }
        let permit = try bulkhead.tryAcquire()
        for key in 0..<50 { _ = pipelines[key] }
        try throttle.tryAcquire().complete(.success)
        clock.advance(by: .seconds(599))
        for key in 0..<50 { _ = pipelines[100 + key] }
        #expect(pipelines.count == 100)
        clock.advance(by: .seconds(1))
        try throttle.tryAcquire().complete(.success)
        for key in 0..<50 { _ = pipelines[200 + key] }
        #expect((0..<50).allSatisfy { pipelines.values[$0] == nil } && pipelines.count == 100)
        permit.complete(.success)
    }

    @Test("a negative age is rejected with a message that names it")
    func negative() {
        #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked {
                CircuitBreakerRegistry<Int>(evictingAfter: .seconds(-1)) { _ in CircuitBreaker() }
            }
        }
    }
}
