import ResilienceTesting
import Testing

@testable import Resilience

/// While a throttle is held, one rejection serves many calls.
@Suite struct HeldRejectionTests {
    let clock = ManualClock()

    private func wait(_ throttle: Throttle, cost: Int = 1) -> Duration? {
        do {
            try throttle.tryAcquire(options: RunOptions(cost: cost)).complete(.success)
            return nil
        } catch {
            return (error as? ThrottleExceeded)?.retryAfter ?? .infinite
        }
    }

    @Test("each call is told how much longer the hold lasts, and one goes when it is over")
    func countsDown() {
        let throttle = Throttle(limit: .perSecond(10, burst: 5), timeBase: clock)
        throttle.hold(for: .seconds(10))
        for left in [10, 9, 8] {
            for _ in 0..<2 { #expect(wait(throttle) == .seconds(left)) }
            clock.advance(by: .seconds(1))
        }
        clock.advance(by: .seconds(7))
        #expect(wait(throttle) == nil)
    }

    @Test("a longer hold, its end by hand, and another cost are told anew")
    func changes() {
        let throttle = Throttle(limit: .perSecond(10, burst: 5), timeBase: clock)
        throttle.hold(for: .seconds(10))
        for _ in 0..<2 { #expect(wait(throttle) == .seconds(10)) }
        // It can never go.
        #expect(wait(throttle, cost: 6) == .infinite && wait(throttle, cost: 5) == .seconds(10))
        throttle.hold(for: .seconds(20))
        for _ in 0..<2 { #expect(wait(throttle) == .seconds(20)) }
        throttle.endHold()
        #expect(wait(throttle) == nil && wait(throttle) == nil)
    }

    @Test("an early probe goes when its time has come, though calls were rejected until then")
    func earlyProbe() throws {
        let throttle = Throttle(
            limit: .unlimited, holdOnThrottled: true, maxHold: .seconds(3600), earlyProbe: .seconds(60), timeBase: clock
        )
        try throttle.tryAcquire().complete(.throttled(retryAfter: .seconds(1_000)))
        for _ in 0..<3 { #expect(wait(throttle) == .seconds(60)) }
        clock.advance(by: .seconds(59))
        for _ in 0..<2 { #expect(wait(throttle) == .seconds(1)) }
        clock.advance(by: .seconds(1))
        #expect(wait(throttle) == nil)
    }

    @Test("every rejection is told to observers, with its own wait")
    func observed() {
        let recorder = EventRecorder()
        let throttle = Throttle(limit: .unlimited, timeBase: clock, observers: PolicyObservers(recorder))
        throttle.hold(for: .seconds(3))
        for left in [3, 2, 1] {
            #expect(wait(throttle) == .seconds(left))
            #expect(recorder.count { $0 == Throttle.Event.rejected(retryAfter: .seconds(left)) } == 1)
            clock.advance(by: .seconds(1))
        }
    }
}
