import Resilience
import ResilienceTesting
import TestSupport
import Testing

/// A breaker among other policies: the order of policies, and what counts.
@Suite struct BreakerFlowTests {
    let clock = ManualClock()
    let breaker: CircuitBreaker
    let request = ScriptedOperation<Void, Int>(fallback: .failure(Outage()))

    init() { breaker = CircuitBreaker(tripping: .consecutiveFailures(3), timeBase: clock) }

    private let retry = Retry(maxRetries: 2, backoff: .none)

    private func trip() { for _ in 0..<3 { try? breaker.tryAcquire().complete(.transient) } }

    @Test("with the breaker outside the retry, an exhausted retry counts as one failure (A8)")
    func outside() async {
        let pipeline = Pipeline {
            breaker
            retry
        }
        await #expect(throws: Outage()) { try await pipeline.run { try await request() } }
        #expect(request.callCount == 3 && breaker.status.failureCount == 1)
    }

    @Test("with the breaker inside the retry, every attempt counts (A8)")
    func inside() async {
        let pipeline = Pipeline {
            retry
            breaker
        }
        await #expect(throws: Outage()) { try await pipeline.run { try await request() } }
        #expect(request.callCount == 3 && breaker.status.failureCount == 3 && breaker.status.isTripped)
    }

    @Test(
        "if the circuit opens between two attempts, the retry stops, and the call throws the last attempt's error (P41)"
    )
    func opensInBetween() async {
        let pipeline = Pipeline {
            Retry(maxRetries: 100, backoff: .none)
            breaker
        }
        await #expect(throws: Outage()) { try await pipeline.run { try await request() } }
        #expect(request.callCount == 3 && breaker.state == .open)
    }

    @Test("an open circuit rejects without a retry or a wait, whichever policy is outside (A8, P19)")
    func openNotRetried() async {
        trip()
        let recorder = EventRecorder()
        breaker.observers.add(recorder)
        let orders: [Pipeline] = [
            Pipeline {
                Retry()
                breaker
            },
            Pipeline {
                breaker
                Retry()
            },
        ]
        for pipeline in orders {
            await #expect(throws: CircuitOpen.self) { try await pipeline.run { try await request() } }
        }
        #expect(request.callCount == 0 && clock.sleepers.isEmpty)
        #expect(
            recorder.events(of: CircuitBreaker.Event.self) == [
                .rejected(retryAfter: .seconds(60)), .rejected(retryAfter: .seconds(60)),
            ])
    }

    @Test("a call passes the breaker once, then the throttle once, and then makes all its attempts (A8)")
    func flow() async throws {
        let journal = Journal()
        let throttle = Throttle(limit: .perSecond(1, burst: 1), timeBase: clock)
        let pipeline = Pipeline {
            ScriptedPolicy("before breaker", journal)
            breaker
            ScriptedPolicy("before throttle", journal)
            throttle
            Retry(maxRetries: 1, backoff: .none)
        }
        let request = ScriptedOperation<Void, Int>([.failure(Outage()), .success(7)])
        let value = try await pipeline.run {
            journal.note("request")
            return try await request()
        }
        #expect(value == 7)
        #expect(
            journal.lines == [
                "before breaker in", "before throttle in", "request", "request", "before throttle out success round 1",
                "before breaker out success round 1",
            ])
        // Two attempts, but one call: one permit of the throttle, and no failure for the breaker.
        #expect(breaker.status.failureCount == 0)
    }

    @Test("an open circuit takes no permit of the throttle behind it (A8)")
    func throttleUntouched() async throws {
        let throttle = Throttle(limit: .perMinute(1, burst: 1), timeBase: clock)
        let pipeline = Pipeline {
            breaker
            throttle
        }
        trip()
        for _ in 0..<10 { await #expect(throws: CircuitOpen.self) { try await pipeline.run {} } }
        breaker.reset()
        try await pipeline.run {}
        await #expect(throws: ThrottleExceeded.self) { try await pipeline.run {} }
    }

    @Test("rejections by inner policies never count as the endpoint's failures (P10)")
    func ownRejections() async throws {
        let throttle = Throttle(limit: .perMinute(1, burst: 1), timeBase: clock)
        let pipeline = Pipeline {
            breaker
            throttle
        }
        try await pipeline.run {}
        for _ in 0..<10 { await #expect(throws: ThrottleExceeded.self) { try await pipeline.run {} } }
        #expect(breaker.state == .closed && breaker.status.failureCount == 0)
    }

    @Test("a probe rejected by an inner policy does not close the circuit, and gives the probe's place back")
    func rejectedProbe() async throws {
        let throttle = Throttle(limit: .perMinute(1, burst: 1), timeBase: clock)
        let pipeline = Pipeline {
            breaker
            throttle
        }
        trip()
        clock.advance(by: .seconds(60))
        try throttle.tryAcquire().complete(.success)
        await #expect(throws: ThrottleExceeded.self) { try await pipeline.run {} }
        #expect(breaker.state == .halfOpen)
        clock.advance(by: .seconds(60))
        try await pipeline.run {}
        #expect(breaker.state == .closed)
    }
}
