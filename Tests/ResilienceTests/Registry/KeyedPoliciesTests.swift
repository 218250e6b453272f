import ResilienceTesting
import Testing

@testable import Resilience

@Suite struct KeyedPoliciesTests {
    let clock = ManualClock()

    @Test("each key's throttle has its own rate, and a new rate for all keys takes effect at once")
    func throttles() throws {
        let throttles = ThrottleRegistry<String>(capacity: 2) { [clock] key in
            Throttle(key, limit: .perSecond(1, burst: 2), timeBase: clock)
        }
        for _ in 0..<2 { try throttles["a"].tryAcquire().complete(.success) }
        #expect(throws: ThrottleExceeded.self) { _ = try throttles["a"].tryAcquire() }
        try throttles["b"].tryAcquire().complete(.success)
        let kept = throttles.reconfigure { [clock] key in
            Throttle(key, limit: .perSecond(10, burst: 2), timeBase: clock)
        }
        #expect(kept == [])
        clock.advance(by: .milliseconds(100))
        try throttles["a"].tryAcquire().complete(.success)
        #expect(throws: ThrottleExceeded.self) { _ = try throttles["a"].tryAcquire() }
        throttles.reset("a")
        for _ in 0..<2 { try throttles["a"].tryAcquire().complete(.success) }
    }

    @Test("a throttle that is in use or held is not evicted; a throttle with a full bucket is evicted")
    func throttlesForgotten() throws {
        let throttles = ThrottleRegistry<Int>(capacity: 2) { [clock] key in
            Throttle("\(key)", limit: .perSecond(1, burst: 2), timeBase: clock)
        }
        try throttles[-1].tryAcquire().complete(.success)
        throttles[-2].hold(for: .seconds(60))
        for key in 0..<50 { _ = throttles[key] }
        #expect(throttles.existing(-1) != nil && throttles.existing(-2) != nil && throttles.count <= 3)
        clock.advance(by: .seconds(2))
        for key in 0..<50 { _ = throttles[key] }
        #expect(throttles.existing(-1) == nil && throttles.existing(-2) != nil)
    }

    @Test("new limits for each key's bulkhead keep permits in use, and a bulkhead in use is not evicted (P24)")
    func bulkheads() throws {
        let bulkheads = BulkheadRegistry<Int>(capacity: 2) { [clock] key in
            Bulkhead("\(key)", limit: 1, timeBase: clock)
        }
        let permit = try bulkheads[-1].tryAcquire()
        let kept = bulkheads.reconfigure { [clock] key in Bulkhead("\(key)", limit: 2, timeBase: clock) }
        #expect(kept == [])
        let other = try bulkheads[-1].tryAcquire()
        #expect(throws: BulkheadFull.self) { _ = try bulkheads[-1].tryAcquire() }
        for key in 0..<50 { _ = bulkheads[key] }
        #expect(bulkheads.existing(-1)?.inUse == 2)
        permit.complete(.success)
        other.complete(.success)
        for key in 0..<50 { _ = bulkheads[key] }
        #expect(bulkheads.existing(-1) == nil && bulkheads[-1].status.limit == 2)
    }
}
