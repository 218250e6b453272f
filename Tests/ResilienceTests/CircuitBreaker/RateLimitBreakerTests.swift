import Resilience
import ResilienceTesting
import Testing

/// A sync engine's breaker: a gate that three 429s in a row shut.
@Suite struct RateLimitBreakerTests {
    let clock = ManualClock()
    let breaker: CircuitBreaker

    init() { breaker = CircuitBreaker("sync", circuit: BackoffGate(), timeBase: clock) }

    private func end(_ verdicts: Verdict...) throws {
        for verdict in verdicts { try breaker.tryAcquire().complete(verdict) }
    }

    @Test("only 429s count: three 429s in a row trip the gate (B1)")
    func trips() throws {
        try end(.throttled, .throttled)
        #expect(!breaker.status.isTripped)
        try end(.throttled)
        #expect(breaker.status.isTripped)
    }

    @Test(
        "no number of other failures trips the gate, and other failures do not interrupt a series of 429s (B1)",
        arguments: [.transient, .uncertain, .permanent, .rejected, .cancelled] as [Verdict])
    func others(verdict: Verdict) throws {
        for _ in 0..<50 { try end(verdict) }
        #expect(!breaker.status.isTripped && breaker.status.failureCount == 0)
        try end(.throttled, verdict, .throttled, verdict, .throttled)
        #expect(breaker.status.isTripped)
    }

    @Test("isTripped becomes false when the backoff has passed, even without a call (B2)")
    func byItself() throws {
        try end(.throttled, .throttled, .throttled)
        clock.advance(by: .seconds(30) - .nanoseconds(1))
        #expect(breaker.status.isTripped)
        clock.advance(by: .nanoseconds(1))
        #expect(!breaker.status.isTripped)
    }

    @Test("while the gate is tripped, none of a thousand calls reaches the network (B3)")
    func noCalls() async throws {
        try end(.throttled, .throttled, .throttled)
        let network = ScriptedOperation<Void, Int>(fallback: .success(7))
        for _ in 0..<1000 {
            await #expect(throws: CircuitOpen.self) { try await breaker.run { try await network() } }
        }
        #expect(network.callCount == 0)
    }

    @Test("trips in a row back off for 30, 60, 120, 240, then 300 s and no more (A10, B4)")
    func growth() throws {
        var backoffs: [Duration?] = []
        try end(.throttled, .throttled)
        for _ in 0..<7 {
            try end(.throttled)
            backoffs.append(breaker.status.timeRemaining)
            clock.advance(by: breaker.status.timeRemaining ?? .zero)
        }
        #expect(backoffs == [30, 60, 120, 240, 300, 300, 300].map { .seconds($0) })
    }

    @Test("two 429s, a success, two 429s: no trip (B5)")
    func successInBetween() throws {
        try end(.throttled, .throttled, .success, .throttled, .throttled)
        #expect(!breaker.status.isTripped && breaker.status.failureCount == 2)
    }

    @Test("the gate's state and remaining backoff can be read, and the gate can be reset by hand (B6)")
    func readAndReset() throws {
        #expect(breaker.status.timeRemaining == nil)
        try end(.throttled, .throttled, .throttled)
        clock.advance(by: .seconds(12))
        #expect(breaker.status.isTripped && breaker.status.timeRemaining == .seconds(18))
        breaker.reset()
        #expect(!breaker.status.isTripped && breaker.status.timeRemaining == nil && breaker.status.failureCount == 0)
        try end(.success)
    }
}
