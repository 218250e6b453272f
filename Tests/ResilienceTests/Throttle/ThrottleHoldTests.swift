import Resilience
import ResilienceTesting
import Testing

@Suite struct ThrottleHoldTests {
    private let clock = ManualClock()

    @Test("an absurd Retry-After holds all calls for maxHold and no longer (P15)")
    func ceiling() async throws {
        let throttle = Throttle(
            "gate", limit: .unlimited, holdOnThrottled: true, maxHold: .seconds(60), timeBase: clock)
        try throttle.tryAcquire().complete(.throttled(retryAfter: .seconds(1_000_000_000)))
        #expect(throttle.heldUntil == clock.now + .seconds(60))
    }

    @Test("a hold can be ended by hand: the next call is the probe, and other calls are rejected meanwhile")
    func endedByHand() throws {
        let throttle = Throttle("gate", limit: .unlimited, holdOnThrottled: true, timeBase: clock)
        throttle.hold(for: .seconds(60))
        throttle.endHold()
        let probe = try throttle.tryAcquire()
        #expect(throws: ThrottleExceeded.self) { try throttle.tryAcquire().complete(.success) }
        probe.complete(.success)
        try throttle.tryAcquire().complete(.success)
    }

    @Test("a call rejected in an endless hold gets no retryAfter")
    func endlessHold() async {
        let throttle = Throttle(limit: .unlimited)
        throttle.hold(until: .distantFuture)
        let error = await #expect(throws: ThrottleExceeded.self) { try await throttle.run {} }
        #expect(error?.retryAfter == nil)
        #expect(throttle.endHold())
    }
}
