import ResilienceTesting
import Testing

@testable import Resilience

/// Successes that are counted beside the lock.
@Suite struct TallyTests {
    let clock = ManualClock()

    private func end(_ breaker: CircuitBreaker, _ verdict: Verdict, times: Int = 1) throws {
        for _ in 0..<times { try breaker.tryAcquire().complete(verdict) }
    }

    @Test("successes counted beside the lock count before the failure that comes after them")
    func order() throws {
        let breaker = CircuitBreaker(tripping: .failureRatio(0.5, over: .calls(4), minimumCalls: 4), timeBase: clock)
        try end(breaker, .transient, times: 2)
        try end(breaker, .success, times: 3)
        // Of the last four one has failed; told late, the successes would have made it three.
        try end(breaker, .transient)
        #expect(breaker.status == CircuitBreakerStatus(state: .closed, failureCount: 1, callCount: 4))
    }

    @Test("in a window of time a success counts in the stretch of time it came in")
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

    @Test("what was counted beside the lock is in a snapshot, and goes on under new settings")
    func handedOver() throws {
        let breaker = CircuitBreaker(tripping: .failureRatio(0.5, over: .calls(9), minimumCalls: 9), timeBase: clock)
        try end(breaker, .success, times: 5)
        #expect(breaker.snapshot()?.memory.counted == [2, 0, 0, 0, 0, 0])
        try end(breaker, .success, times: 2)
        #expect(breaker.reconfigure(tripping: .failureRatio(0.5, over: .calls(100))) && breaker.status.callCount == 7)
    }

    @Test("nothing is counted while the breaker is disabled or isolated")
    func modes() throws {
        let breaker = CircuitBreaker(tripping: .failureRatio(0.5, over: .calls(9), minimumCalls: 9), timeBase: clock)
        try end(breaker, .success, times: 2)
        breaker.setMode(.disabled)
        try end(breaker, .success, times: 3)
        breaker.setMode(.automatic)
        #expect(breaker.status.callCount == 2)
    }
}
