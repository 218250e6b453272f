import ResilienceTesting
import Testing

@testable import Resilience

/// Batched successes.
@Suite struct TallyTests {
    let clock = ManualClock()

    private func end(_ breaker: CircuitBreaker, _ verdict: Verdict, times: Int = 1) throws {
        for _ in 0..<times { try breaker.tryAcquire().complete(verdict) }
    }

    @Test("batched successes count before the failure that follows them")
    func order() throws {
        let breaker = CircuitBreaker(tripping: .failureRatio(0.5, over: .calls(4), minimumCalls: 4), timeBase: clock)
        try end(breaker, .transient, times: 2)
        try end(breaker, .success, times: 3)
        // One of the last four calls failed. If the successes were delivered late, it would be three of four.
        try end(breaker, .transient)
        #expect(breaker.status == CircuitBreakerStatus(state: .closed, failureCount: 1, callCount: 4))
    }

    @Test("in a time window a success counts in the bucket in which it came")
    func stretches() throws {
        let breaker = CircuitBreaker(tripping: .failureRatio(0.5, over: .time(.seconds(10))), timeBase: clock)
        for _ in 0..<20 {
            try end(breaker, .success, times: 3)
            clock.advance(by: .seconds(1))
        }
        #expect(breaker.status.callCount == 27)
        clock.advance(by: .seconds(5))
        #expect(breaker.status.callCount == 12)
        clock.advance(by: .seconds(4))
        #expect(breaker.status.callCount == 0)
    }

    @Test("batched successes are in a snapshot, and count under new settings")
    func handedOver() throws {
        let breaker = CircuitBreaker(tripping: .failureRatio(0.5, over: .calls(9), minimumCalls: 9), timeBase: clock)
        try end(breaker, .success, times: 5)
        #expect(breaker.snapshot()?.memory.counted == [2, 0, 0, 0, 0, 0])
        try end(breaker, .success, times: 2)
        #expect(breaker.reconfigure(tripping: .failureRatio(0.5, over: .calls(100))) && breaker.status.callCount == 7)
    }

    @Test("no success is counted while the breaker is disabled")
    func modes() throws {
        let breaker = CircuitBreaker(tripping: .failureRatio(0.5, over: .calls(9), minimumCalls: 9), timeBase: clock)
        try end(breaker, .success, times: 2)
        breaker.setMode(.disabled)
        try end(breaker, .success, times: 3)
        breaker.setMode(.automatic)
        #expect(breaker.status.callCount == 2)
    }
}
