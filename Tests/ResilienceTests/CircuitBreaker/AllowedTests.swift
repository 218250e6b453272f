import Resilience
import ResilienceTesting
import Testing

@Suite struct AllowedTests {
    @Test("a call is allowed exactly when it would be let through: not while open, nor while all probes are out")
    func allowed() throws {
        let clock = ManualClock()
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        #expect(breaker.status.isAllowed)
        try breaker.tryAcquire().complete(.transient)
        #expect(!breaker.status.isAllowed)
        clock.advance(by: .seconds(60))
        #expect(breaker.status.isAllowed && breaker.state == .halfOpen)
        let probe = try breaker.tryAcquire()
        #expect(!breaker.status.isAllowed && breaker.state == .halfOpen)
        clock.advance(by: .seconds(60))
        #expect(breaker.status.isAllowed)
        probe.complete(.success)
        #expect(breaker.status.isAllowed && breaker.state == .closed)
    }
}
