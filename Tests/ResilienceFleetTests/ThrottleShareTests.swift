import Resilience
import Testing

@testable import ResilienceFleet

struct ThrottleShareTests {
    @Test("a part of a limit allows at least a call, and all parts together no more than the limit in the long run")
    func parts() {
        #expect(ThrottleLimit.perSecond(100, burst: 20).share(of: 8) == .rate(100, per: .seconds(8), burst: 2))
        #expect(ThrottleLimit.slidingWindow(100, per: .seconds(1)).share(of: 8) == .slidingWindow(12, per: .seconds(1)))
        #expect(ThrottleLimit.slidingWindow(3, per: .seconds(1)).share(of: 8) == .slidingWindow(1, per: .seconds(3)))
        #expect(ThrottleLimit.unlimited.share(of: 8) == .unlimited)
    }

    @Test(
        "a period may be as long as it likes, and an engine may tell any number of members",
        arguments: [1, 8, 1_000, .max])
    func longest(members: Int) {
        let period = Duration.seconds(Int64.max)
        _ = ThrottleLimit.rate(1, per: period, burst: 1).share(of: members)
        _ = ThrottleLimit.slidingWindow(1, per: period).share(of: members)
    }
}
