import ResilienceTesting
import Testing

@testable import Resilience

@Suite struct GrowthTests {
    private let clock = ManualClock()

    private func tripped() throws -> CircuitBreaker {
        let breaker = CircuitBreaker(
            tripping: .consecutiveFailures(1), openFor: .exponential(from: .seconds(30)), timeBase: clock)
        try breaker.tryAcquire().complete(.transient)
        return breaker
    }

    @Test("a reset that keeps the growth lets the next break be longer, and the breaker is not at rest meanwhile (B6)")
    func kept() throws {
        let breaker = try tripped()
        breaker.reset(keepingGrowth: true)
        #expect(!breaker.isAtRest)
        try breaker.tryAcquire().complete(.transient)
        #expect(breaker.status.timeRemaining == .seconds(60))
    }

    @Test("a reset forgets the growth, and so does a success")
    func forgotten() throws {
        let breaker = try tripped()
        breaker.reset()
        try breaker.tryAcquire().complete(.transient)
        #expect(breaker.status.timeRemaining == .seconds(30))
        breaker.reset(keepingGrowth: true)
        try breaker.tryAcquire().complete(.success)
        #expect(breaker.isAtRest)
    }
}
