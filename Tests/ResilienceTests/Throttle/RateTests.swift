@testable import Resilience
import ResilienceTesting
import Testing

@Suite struct RateTests {
    @Test(
        "a rate is exact, also where no whole number of nanoseconds lies between two calls (P42)",
        arguments: [(3, 3), (7, 7), (999, 40), (1, 1), (1_000_000_007, 9)])
    func exact(calls: Int, burst: Int) {
        var machine = ThrottleStateMachine(rate: .perSecond(calls), burst: burst)
        let start = MonotonicInstant(nanoseconds: 12_345)
        #expect(machine.allowed(asks: burst + 1, at: start) == burst)
        // All of the burst is back after as many calls' time, rounded up once.
        let (whole, rest) = (Int64(burst) * 1_000_000_000).quotientAndRemainder(dividingBy: Int64(calls))
        let full = start + .nanoseconds(rest == 0 ? whole : whole + 1)
        #expect(machine.available(at: full + .nanoseconds(-1)) == burst - 1)
        #expect(machine.allowed(asks: burst + 1, at: full) == burst)
    }

    @Test("rates below one call or over no time are rejected, and the message says so")
    func badConfiguration() async {
        let calls = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ThrottleRate(0, per: .seconds(1))
        }
        #expect(text(calls).contains("calls is 0"))
        let period = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ThrottleRate(1, per: .zero)
        }
        #expect(text(period).contains("period is 0"))
    }

    @Test("a throttle without a burst or with negative limits is rejected, and the message says so")
    func badThrottle() async {
        let burst = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Throttle(limit: .perSecond(1, burst: 0))
        }
        #expect(text(burst).contains("burst is 0"))
        let wait = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Throttle(limit: .perSecond(1), maxWait: .seconds(-1))
        }
        #expect(text(wait).contains("maxWait is -1"))
        let waiting = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Throttle(limit: .perSecond(1), queue: -1)
        }
        #expect(text(waiting).contains("queue is -1"))
        let ramp = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Throttle("gate", limit: .unlimited, holdOnThrottled: true, ramp: .seconds(-1))
        }
        #expect(text(ramp).contains("ramp is -1"))
        let rate = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Throttle("still", limit: .unlimited, holdOnThrottled: true).setRate(.perSecond(1))
        }
        #expect(text(rate).contains("\"still\" has none"))
    }

    @Test("a window of no calls or of no time is rejected, and the message says so")
    func nonsense() async {
        let calls = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ThrottleLimit.slidingWindow(0, per: .seconds(1))
        }
        #expect(text(calls).contains("calls is 0"))
        let period = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ThrottleLimit.fixedWindow(1, per: .zero)
        }
        #expect(text(period).contains("period is 0"))
    }
}
