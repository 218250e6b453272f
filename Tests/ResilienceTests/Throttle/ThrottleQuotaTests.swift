import Resilience
import ResilienceTesting
import Testing

@Suite struct ThrottleQuotaTests {
    private let clock = ManualClock()

    @Test(
        "a quota's limit is given for a whole number of seconds",
        arguments: [
            (ThrottleLimit.perMinute(100, burst: 20), 100, 60), (.perSecond(10), 10, 1),
            (.perSecond(10, burst: 20), 20, 2),
            (.perSecond(10, burst: 25), 30, 3), (.rate(1, per: .milliseconds(1500), burst: 1), 1, 2),
            (.rate(7, per: .milliseconds(500), burst: 2), 14, 1), (.slidingWindow(100, per: .seconds(60)), 100, 60),
            (.fixedWindow(5, per: .milliseconds(250)), 20, 1),
        ])
    func wholeSeconds(limit: ThrottleLimit, calls: Int, seconds: Int) {
        let quota = Throttle("api", limit: limit, timeBase: clock).quota
        #expect(quota?.limit == calls && quota?.window == .seconds(seconds) && quota?.name == "api")
    }

    @Test("each call reduces the remaining quota; when none remains, the quota reports when the next call may go")
    func left() throws {
        let throttle = Throttle("api", limit: .perMinute(6, burst: 2), timeBase: clock)
        #expect(throttle.quota?.remaining == 2 && throttle.quota?.resetsAfter == nil)
        for left in [1, 0] {
            try throttle.tryAcquire().complete(.success)
            #expect(throttle.quota?.remaining == left)
        }
        #expect(throttle.quota?.resetsAfter == .seconds(10) && throttle.quota?.wait == .seconds(10))
        clock.advance(by: .seconds(10))
        #expect(throttle.quota?.remaining == 1 && throttle.quota?.resetsAfter == nil)
    }

    @Test("a held throttle has nothing remaining, and a throttle without a limit has no quota")
    func held() {
        let throttle = Throttle(limit: .perSecond(10, burst: 5), timeBase: clock)
        throttle.hold(for: .seconds(30))
        #expect(throttle.quota?.remaining == 0 && throttle.quota?.resetsAfter == .seconds(30))
        #expect(Throttle(limit: .unlimited, timeBase: clock).quota == nil)
    }

    @Test("extreme limits also have a quota")
    func extremes() {
        let limits: [ThrottleLimit] = [
            .rate(.max, per: .nanoseconds(1), burst: .max), .rate(1, per: .seconds(Int64.max), burst: .max),
            .rate(.max, per: .seconds(Int64.max), burst: 1), .slidingWindow(.max, per: .nanoseconds(1)),
            .fixedWindow(1, per: .seconds(Int64.max)),
        ]
        for limit in limits {
            let quota = Throttle(limit: limit, timeBase: clock).quota
            #expect((quota?.window ?? .zero) >= .seconds(1) && quota?.remaining != nil, "\(limit)")
        }
    }
}
