import Resilience
import Testing

@testable import ResilienceFleet

struct ThrottleShareTests {
    @Test("a part of a limit allows at least one call, and all parts together do not exceed the limit in the long run")
    func parts() {
        #expect(ThrottleLimit.perSecond(100, burst: 20).share(of: 8) == .rate(100, per: .seconds(8), burst: 2))
        #expect(ThrottleLimit.slidingWindow(100, per: .seconds(1)).share(of: 8) == .slidingWindow(12, per: .seconds(1)))
        #expect(ThrottleLimit.slidingWindow(3, per: .seconds(1)).share(of: 8) == .slidingWindow(1, per: .seconds(3)))
        #expect(ThrottleLimit.unlimited.share(of: 8) == .unlimited)
    }

    @Test("the single limit that stands for several limits admits no call that one of them would reject")
    func keepingAll() {
        let hour = Duration.seconds(3_600)
        #expect(ThrottleLimit.keepingAll(of: [.fixedWindow(7, per: hour)]) == .fixedWindow(7, per: hour))
        #expect(
            ThrottleLimit.keepingAll(of: [.perSecond(10, burst: 20), .slidingWindow(1_000, per: hour)])
                == .rate(981, per: hour, burst: 20))
        #expect(
            ThrottleLimit.keepingAll(of: [.perSecond(10, burst: 20), .fixedWindow(1, per: hour)])
                == .rate(1, per: hour, burst: 1))
        #expect(
            ThrottleLimit.keepingAll(of: [.perSecond(10, burst: 20), .perMinute(60, burst: 30)])
                == .perMinute(60, burst: 20))
        for first in 1...40 {
            for second in 1...40 {
                let limits: [ThrottleLimit] = [
                    .slidingWindow(first, per: .seconds(1)), .slidingWindow(second, per: .seconds(7)),
                ]
                guard case .rate(let rate, let burst) = ThrottleLimit.keepingAll(of: limits).kind else {
                    Issue.record("no rate")
                    continue
                }
                for (calls, seconds) in [(first, 1), (second, 7)] {
                    // The burst, plus one at the end of each interval that ends before the window does.
                    let period = Int(rate.period / .seconds(1))
                    #expect(burst + (rate.calls * seconds - 1) / period <= calls)
                }
            }
        }
    }

    @Test(
        "nothing traps, whatever the length of a period and the number of members",
        arguments: [1, 8, 1_000, .max])
    func longest(members: Int) {
        let period = Duration.seconds(Int64.max)
        _ = ThrottleLimit.rate(1, per: period, burst: 1).share(of: members)
        let window = ThrottleLimit.slidingWindow(1, per: period).share(of: members)
        _ = ThrottleLimit.keepingAll(of: [window, .rate(.max, per: .nanoseconds(1), burst: .max)])
    }
}
