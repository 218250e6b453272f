import ResilienceTesting
import Testing

@testable import Resilience

/// A throttle's calls step by step: they leave nothing behind, and a slot keeps no old state.
@Suite struct ThrottleStepsTests {
    let clock = ManualClock()

    private var nobodyIsParked: (Throttle) -> Bool { { $0.state.withLock { $0.waiters.isEmpty } } }

    @Test("a call that waited leaves nothing behind, whether it went or timed out")
    func leavesNothing() throws {
        let throttle = Throttle(limit: .perSecond(1), maxWait: .seconds(2), timeBase: clock)
        try throttle.tryAcquire().complete(.success)
        var (first, second) = (PolicySlot(), PolicySlot())
        _ = (throttle.enter(&first, on: clock), throttle.enter(&second, on: clock))
        #expect(!nobodyIsParked(throttle) && throttle.queued == 2)
        clock.advance(by: .seconds(1))
        #expect(throttle.enter(&first, on: clock) == nil)
        clock.advance(by: .seconds(10))
        #expect(throttle.enter(&second, on: clock) == nil)
        #expect(nobodyIsParked(throttle) && throttle.queued == 0)
    }

    @Test("a call that was rejected after its wait, and is tried again, may wait for the full maxWait again")
    func comesAgain() throws {
        let throttle = Throttle(limit: .perSecond(1), maxWait: .seconds(5), timeBase: clock)
        var slot = PolicySlot()
        throttle.hold(for: .seconds(1))
        #expect(throttle.enter(&slot, on: clock) == clock.now + .seconds(1))
        throttle.hold(for: .seconds(100))
        clock.advance(by: .seconds(1))
        #expect(throttle.enter(&slot, on: clock) == nil && throttle.queued == 0)
        clock.advance(by: .seconds(97))
        #expect(throttle.enter(&slot, on: clock) == clock.now + .seconds(2) && throttle.queued == 1)
    }

    @Test("a gate with queue zero admits its probe")
    func nobodyWaits() throws {
        let throttle = Throttle("gate", limit: .unlimited, queue: 0, holdOnThrottled: true, timeBase: clock)
        throttle.hold(for: .seconds(1))
        #expect(throws: ThrottleExceeded.self) { _ = try throttle.tryAcquire() }
        clock.advance(by: .seconds(1))
        try throttle.tryAcquire().complete(.success)
        #expect(!throttle.status.isProbing && throttle.heldUntil == nil)
    }

    @Test("tryAcquire reports how long the wait would be")
    func turn() throws {
        let throttle = Throttle("pace", limit: .perSecond(1), maxWait: .seconds(5), timeBase: clock)
        try throttle.tryAcquire().complete(.success)
        clock.advance(by: .milliseconds(400))
        #expect(throws: WouldWait(policy: "pace", retryAfter: .milliseconds(600))) { _ = try throttle.tryAcquire() }
    }

    @Test("a negative Retry-After counts as zero")
    func negativeWait() throws {
        var statuses: [ThrottleStatus] = []
        for seconds in [0, -5] {
            let throttle = Throttle("gate", limit: .unlimited, holdOnThrottled: true, timeBase: clock)
            try throttle.tryAcquire().complete(.throttled(retryAfter: .seconds(seconds)))
            statuses.append(throttle.status)
        }
        #expect(statuses[0] == statuses[1])
    }

    @Test("a permit taken after a rate change can be refunded")
    func givenBackAfterAChange() throws {
        let throttle = Throttle(limit: .perSecond(3, burst: 3), timeBase: clock)
        throttle.setRate(.perSecond(7), burst: 3)
        clock.advance(by: .seconds(10))
        try throttle.tryAcquire().complete(.rejected)
        #expect(throttle.status.available == 3)
    }

    @Test("every initializer has the same defaults")
    func defaults() {
        let backoff = Backoff.exponential(from: .seconds(1), cap: .seconds(60), jitter: .none)
        let window = ThrottleLimit.slidingWindow(5, per: .seconds(1))
        let rates = [
            Throttle("throttle", limit: .perSecond(1), holdOnThrottled: true),
            Throttle(limit: .perSecond(1), holdOnThrottled: true),
            Throttle(
                "throttle", limit: .perSecond(1, burst: 1), maxWait: .zero, queue: 10_000, holdOnThrottled: true,
                holdBackoff: backoff, maxHold: .seconds(3600), ramp: .zero),
        ]
        let windows = [
            Throttle("throttle", limit: window, holdOnThrottled: true), Throttle(limit: window, holdOnThrottled: true),
            Throttle(
                "throttle", limit: window, maxWait: .zero, queue: 10_000, holdOnThrottled: true,
                holdBackoff: backoff,
                maxHold: .seconds(3600), ramp: .zero),
        ]
        let gates = [
            Throttle("gate", limit: .unlimited, holdOnThrottled: true),
            Throttle(
                "gate", limit: .unlimited, maxWait: .zero, queue: 10_000, holdOnThrottled: true,
                holdBackoff: backoff, maxHold: .seconds(3600), ramp: .zero),
        ]
        for alike in [rates, windows, gates] {
            for one in alike {
                #expect(one.canBeReconfigured(like: alike[0]) && one.description == alike[0].description)
                #expect(one.description.hasSuffix(", rejects at once, held by 429"))
            }
        }
        for plain in [Throttle(limit: .perSecond(1)), Throttle("throttle", limit: .perSecond(1))] {
            #expect(plain.description == "throttle: \(ThrottleRate.perSecond(1)), burst 1, rejects at once")
        }
        for plain in [Throttle(limit: window), Throttle("throttle", limit: window)] {
            #expect(plain.description == "throttle: \(window), rejects at once")
        }
    }

    @Test("given its own settings a throttle keeps changes by hand, and it takes no incompatible settings")
    func reconfigured() {
        let throttle = Throttle(limit: .perSecond(1), timeBase: clock)
        throttle.setRate(.perSecond(9))
        #expect(
            throttle.reconfigured(like: throttle) === throttle
                && throttle.description.contains("\(ThrottleRate.perSecond(9))"))
        #expect(
            throttle.reconfigured(like: Throttle(limit: .perSecond(1), maxWait: .seconds(1), timeBase: clock)) == nil)
        #expect(!throttle.isAtRest)
    }
}
