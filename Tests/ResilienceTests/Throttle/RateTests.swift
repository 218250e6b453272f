@testable import Resilience
import ResilienceTesting
import Testing

@Suite struct RateTests {
    @Test(
        "the time between two calls is rounded up, never faster than asked",
        arguments: [
            (Rate.perSecond(1), 1_000_000_000),
            (.perSecond(3), 333_333_334),
            (.perSecond(7), 142_857_143),
            (.perSecond(1_000_000_000), 1),
            (.perSecond(.max), 1),
            (.perMinute(100), 600_000_000),
            (Rate(1, per: .nanoseconds(1)), 1),
            (Rate(1, per: .seconds(Int64.max)), .max),
        ] as [(Rate, Int64)])
    func interval(rate: Rate, nanoseconds: Int64) {
        #expect(rate.interval == nanoseconds)
    }

    @Test("rates below one call or over no time are refused, and the message says so")
    func badConfiguration() async {
        let calls = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Rate(0, per: .seconds(1))
        }
        #expect(text(calls).contains("calls is 0"))
        let period = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Rate(1, per: .zero)
        }
        #expect(text(period).contains("period is 0"))
    }

    @Test("a throttle without a burst or with negative limits is refused, and the message says so")
    func badThrottle() async {
        let burst = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Throttle(.perSecond(1), burst: 0)
        }
        #expect(text(burst).contains("burst is 0"))
        let wait = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Throttle(.perSecond(1), maxWait: .seconds(-1))
        }
        #expect(text(wait).contains("maxWait is -1"))
        let waiting = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Throttle(.perSecond(1), maxWaiting: -1)
        }
        #expect(text(waiting).contains("maxWaiting is -1"))
        let ramp = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Throttle.gate(ramp: .seconds(-1))
        }
        #expect(text(ramp).contains("ramp is -1"))
        let rate = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Throttle.gate("still").setRate(.perSecond(1))
        }
        #expect(text(rate).contains("still counts no rate"))
    }

    @Test("a window of no calls or of no time is refused, and the message says so")
    func nonsense() async {
        let calls = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Throttle.Window.slidingWindow(0, per: .seconds(1))
        }
        #expect(text(calls).contains("calls is 0"))
        let period = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Throttle.Window.fixedWindow(1, per: .zero)
        }
        #expect(text(period).contains("period is 0"))
    }
}
