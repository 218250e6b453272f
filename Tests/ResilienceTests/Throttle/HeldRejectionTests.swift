import ResilienceTesting
import Testing

@testable import Resilience

/// While a throttle is held, one stored rejection serves many calls.
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

    @Test("each rejected call gets the rest of the hold as its wait, and a call goes when the hold is over")
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

    @Test("a longer hold, a hold's end by hand, and another cost each change the rejection")
    func changes() {
        let throttle = Throttle(limit: .perSecond(10, burst: 5), timeBase: clock)
        throttle.hold(for: .seconds(10))
        for _ in 0..<2 { #expect(wait(throttle) == .seconds(10)) }
        // A call of this cost can never go.
        #expect(wait(throttle, cost: 6) == .infinite && wait(throttle, cost: 5) == .seconds(10))
        throttle.hold(for: .seconds(20))
        for _ in 0..<2 { #expect(wait(throttle) == .seconds(20)) }
        throttle.endHold()
        #expect(wait(throttle) == nil && wait(throttle) == nil)
    }

    @Test("an early probe goes at its time, even if calls were rejected until then")
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

    @Test("whatever happens between two calls, each call gets the answer that a forecast gives")
    func likeForecasts() {
        let limits: [ThrottleLimit] = [
            .unlimited, .perSecond(10, burst: 3), .slidingWindow(4, per: .seconds(10)),
            .fixedWindow(4, per: .seconds(10)),
        ]
        let verdicts: [Verdict] = [
            .success, .success, .transient, .throttled(retryAfter: .seconds(5)), .throttled(retryAfter: nil),
            .throttled(retryAfter: .seconds(20)), .cancelled, .rejected,
        ]
        for seed in 0..<200 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let throttle = Throttle(
                limit: limits[Int(seed % 4)], holdOnThrottled: true, earlyProbe: .seconds(seed % 3 * 3),
                ramp: .seconds(seed % 2 * 4), timeBase: clock)
            let pipeline = Pipeline(timeBase: clock) { throttle }
            let permits = HeldPermits()
            for step in 0..<200 {
                switch Int.random(in: 0..<16, using: &random) {
                case 0..<9:
                    let options = RunOptions(cost: [0, 1, 1, 1, 1, 2, 7].randomElement(using: &random) ?? 1)
                    let told: CallForecast.Outcome
                    let forecast = pipeline.forecast(options: options).outcome
                    do {
                        permits.add(try throttle.tryAcquire(options: options))
                        told = .begins
                    } catch {
                        told = .isRejected(retryAfter: (error as? ThrottleExceeded)?.retryAfter)
                    }
                    #expect(told == forecast, "seed \(seed), step \(step)")
                case 9..<12: permits.completeFirst(verdicts.randomElement(using: &random) ?? .success)
                case 12, 13: clock.advance(by: .milliseconds(Int.random(in: 0..<3_000, using: &random)))
                case 14: throttle.hold(for: .seconds(Int.random(in: 0...8, using: &random)))
                default: if Bool.random(using: &random) { throttle.endHold() } else { clock.advance(by: .seconds(60)) }
                }
            }
            permits.completeAll(.cancelled)
        }
    }

    @Test("observers get every rejection, with its own wait")
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
