import Resilience
import ResilienceTesting
import TestSupport
import Testing

/// The default preset: the 5th failure in a row opens it, for 60 s, and one probe tests it.
@Suite struct CircuitBreakerTests {
    let clock = ManualClock()
    let breaker: CircuitBreaker
    let endpoint = ScriptedOperation<Void, Int>(fallback: .failure(Outage()))

    init() { breaker = CircuitBreaker("activities", timeBase: clock) }

    private func call() async throws -> Int { try await breaker.run { try await endpoint() } }

    private func fail(_ times: Int) async {
        for _ in 0..<times { await #expect(throws: Outage()) { try await call() } }
    }

    @Test("the preset opens on the 5th failure in a row, for 60 s, and is then half-open for one probe (A1)")
    func preset() async throws {
        #expect(breaker.state == .closed)
        await fail(5)
        #expect(breaker.state == .open && breaker.status.timeRemaining == .seconds(60))
        clock.advance(by: .seconds(60))
        #expect(breaker.state == .halfOpen)
        let probe = try breaker.tryAcquire()
        #expect(throws: CircuitOpen.self) { _ = try breaker.tryAcquire() }
        probe.complete(.success)
        #expect(breaker.state == .closed)
    }

    @Test("after four failures the circuit is closed, and the fifth failure opens it (A2)")
    func fifth() async {
        await fail(4)
        #expect(breaker.state == .closed && breaker.status.failureCount == 4)
        await fail(1)
        #expect(breaker.state == .open && breaker.status.failureCount == 5)
    }

    @Test("a success while closed resets the count to 0 (A2)")
    func countSetBack() async throws {
        await fail(4)
        endpoint.enqueue(.success(7))
        #expect(try await call() == 7)
        #expect(breaker.status.failureCount == 0)
        await fail(4)
        #expect(breaker.state == .closed)
    }

    @Test(
        "an open circuit rejects every call at once, no call reaches the endpoint, and the error has a retryAfter (A3)"
    )
    func rejects() async throws {
        await fail(5)
        clock.advance(by: .seconds(18))
        for _ in 0..<100 {
            let error = await #expect(throws: CircuitOpen.self) { try await call() }
            #expect(error == CircuitOpen(policy: "activities", retryAfter: .seconds(42)))
        }
        #expect(endpoint.callCount == 5 && clock.sleepers.isEmpty)
    }

    @Test(
        "the rejection's text says that the service is unavailable and in how many seconds to try again (A3)",
        arguments: [
            (.seconds(42), "in 42 seconds"), (.milliseconds(41_001), "in 42 seconds"), (.seconds(1), "in 1 second"),
            (.nanoseconds(1), "in 1 second"), (.zero, "in 1 second"), (nil, "later"),
            (.seconds(Int64.max), "in \(Int64.max) seconds"), (Duration(attoseconds: .max), "in \(Int64.max) seconds"),
        ] as [(Duration?, String)])
    func text(retryAfter: Duration?, advice: String) {
        let error = CircuitOpen(policy: "activities", retryAfter: retryAfter)
        let text = "Service temporarily unavailable due to repeated failures. Please try again \(advice)."
        #expect("\(error)" == text)
    }

    @Test("a successful probe closes a half-open circuit and clears everything (A4)")
    func probeSucceeds() async throws {
        await fail(5)
        clock.advance(by: .seconds(60))
        endpoint.enqueue(.success(7))
        #expect(try await call() == 7)
        #expect(breaker.status.timeless == CircuitBreakerStatus(state: .closed, failureCount: 0, failureLimit: 5))
        await fail(4)
        #expect(breaker.state == .closed)
    }

    @Test("a failed probe opens a half-open circuit again, and the wait begins anew (A4)")
    func probeFails() async {
        await fail(5)
        clock.advance(by: .seconds(95))
        await fail(1)
        #expect(breaker.state == .open && breaker.status.timeRemaining == .seconds(60))
        #expect(throws: CircuitOpen.self) { _ = try breaker.tryAcquire() }
    }

    @Test(
        "the status shows whether a call is allowed, the failure count, and, while open, the time until a probe (A6)"
    )
    func asked() async {
        #expect(
            breaker.status.isAllowed && !breaker.status.isTripped && breaker.status.timeRemaining == nil
                && breaker.status.failureCount == 0)
        await fail(5)
        #expect(!breaker.status.isAllowed && breaker.status.isTripped && breaker.status.timeRemaining == .seconds(60))
        clock.advance(by: .seconds(60))
        #expect(breaker.status.isAllowed && !breaker.status.isTripped && breaker.status.timeRemaining == nil)
        // While half-open, it counts the probes.
        #expect(breaker.status.failureCount == 0)
    }

    @Test("a caller can take a permit by hand, do the work elsewhere, and report the work's end (A7)")
    func byHand() throws {
        for _ in 0..<5 { try breaker.tryAcquire().complete(.transient) }
        let rejection = #expect(throws: CircuitOpen.self) { _ = try breaker.tryAcquire() }
        #expect(rejection?.retryAfter == .seconds(60))
        clock.advance(by: .seconds(60))
        try breaker.tryAcquire().complete(.success)
        #expect(breaker.state == .closed)
    }

    @Test("a permit dropped without a report counts as cancelled: no failure is counted, and a probe's place is free")
    func dropped() throws {
        do { _ = try breaker.tryAcquire() }
        #expect(breaker.status.failureCount == 0)
        for _ in 0..<5 { try breaker.tryAcquire().complete(.transient) }
        clock.advance(by: .seconds(60))
        do { _ = try breaker.tryAcquire() }
        #expect(breaker.state == .halfOpen)
        try breaker.tryAcquire().complete(.success)
        #expect(breaker.state == .closed)
    }

    @Test("a result that means failure counts, and is returned unchanged")
    func judgedResults() async throws {
        let pipeline = Pipeline { breaker }
        for _ in 0..<5 {
            let status = try await pipeline.run(judging: { $0 < 500 ? .success : .transient }) { _ in 503 }
            #expect(status == 503)
        }
        #expect(breaker.status.isTripped)
    }

    @Test("whether the circuit is closed or open, a call does not wait, and sets no timer (A12)")
    func noWaiting() async throws {
        endpoint.enqueue(.success(7))
        _ = try await call()
        await fail(5)
        _ = try? await call()
        #expect(clock.sleepers.isEmpty && clock.now == ManualClock().now)
    }

    @Test("a breaker uses the clock that it was given (P8)")
    func ownClock() async {
        await fail(5)
        clock.advance(by: .seconds(60) - .nanoseconds(1))
        #expect(breaker.status.isTripped && breaker.status.timeRemaining == .nanoseconds(1))
        clock.advance(by: .nanoseconds(1))
        #expect(!breaker.status.isTripped)
    }

    @Test("the description has its name, when it opens, and for how long")
    func description() {
        let rule = "opens on 5 in a row of transient+uncertain, for 60 s, then 1 probe at a time, closing on 1 success"
        #expect("\(breaker)" == "activities: \(rule)")
    }
}
