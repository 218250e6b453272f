import Resilience
import ResilienceTesting
import Testing

@Suite struct ServerQuotaTests {
    private let clock = ManualClock()

    @Test("a used-up quota holds a pipeline's throttles before the first 429")
    func holds() throws {
        let throttles = (1...2).map { Throttle("\($0)", limit: .unlimited, maxHold: .seconds(60), timeBase: clock) }
        let pipeline = Pipeline(timeBase: clock) { for throttle in throttles { throttle } }
        pipeline.note(ServerQuota(limit: 100, remaining: 0, resetsAfter: .seconds(30)))
        #expect(throttles.map(\.heldUntil) == [clock.now + .seconds(30), clock.now + .seconds(30)])
        #expect(throws: ThrottleExceeded.self) { try throttles[0].tryAcquire().complete(.success) }
        clock.advance(by: .seconds(30))
        try throttles[0].tryAcquire().complete(.success)
        #expect(throttles[0].heldUntil == nil)
    }

    @Test(
        "a quota that is not used up, or has no reset time, holds no call",
        arguments: [
            ServerQuota(), ServerQuota(remaining: 0), ServerQuota(remaining: 1, resetsAfter: .seconds(9)),
            ServerQuota(resetsAfter: .seconds(9)), ServerQuota(remaining: 0, resetsAfter: .zero),
            ServerQuota(remaining: 0, resetsAfter: .seconds(-9)),
        ])
    func leaves(quota: ServerQuota) {
        let throttle = Throttle(limit: .unlimited, timeBase: clock)
        throttle.note(quota)
        #expect(throttle.heldUntil == nil && quota.wait == nil)
    }

    @Test("an absurd reset time holds for maxHold, and a later quota with a nearer reset does not end that hold")
    func absurd() {
        let throttle = Throttle(limit: .unlimited, maxHold: .seconds(60), timeBase: clock)
        throttle.note(ServerQuota(remaining: 0, resetsAfter: .seconds(Int64.max)))
        throttle.note(ServerQuota(remaining: 0, resetsAfter: .seconds(1)))
        #expect(throttle.heldUntil == clock.now + .seconds(60))
    }

    @Test("holds for quotas don't lengthen the wait after a 429, even if the 429 comes during such a hold")
    func backoff() async throws {
        let throttle = Throttle(limit: .unlimited, holdOnThrottled: true, timeBase: clock)
        let pipeline = Pipeline(timeBase: clock) { throttle }
        for _ in 0..<7 {
            try await pipeline.run { pipeline.note(ServerQuota(remaining: 0, resetsAfter: .seconds(60))) }
            clock.advance(by: .seconds(60))
        }
        try throttle.tryAcquire().complete(.throttled)
        #expect(throttle.heldUntil == clock.now + .seconds(1))
        clock.advance(by: .seconds(1))
        let next = try throttle.tryAcquire()
        throttle.note(ServerQuota(remaining: 0, resetsAfter: .milliseconds(10)))
        // This 429 belongs to an earlier hold than the quota's, and is the second 429 in a row.
        next.complete(.throttled)
        #expect(throttle.heldUntil == clock.now + .seconds(2))
    }

    @Test("a throttle with maxHold zero ignores quotas")
    func noHold() throws {
        let throttle = Throttle(limit: .unlimited, maxHold: .zero, timeBase: clock)
        throttle.note(ServerQuota(remaining: 0, resetsAfter: .seconds(60)))
        let first = try throttle.tryAcquire()
        let second = try throttle.tryAcquire()
        first.complete(.success)
        second.complete(.success)
    }

    @Test("a quota's values are limited to valid ranges")
    func bounds() {
        let quota = ServerQuota(limit: -1, remaining: .min, resetsAfter: .seconds(Int64.max), window: .seconds(-1))
        #expect(quota.limit == 0 && quota.remaining == 0 && quota.window == .zero)
        #expect(quota.wait == .nanoseconds(Int64.max))
    }
}
