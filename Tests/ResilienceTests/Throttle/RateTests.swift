@testable import Resilience
import ResilienceTesting
import Testing

@Suite struct RateTests {
    @Test(
        "a rate is exact, even if the time between two calls is not a whole number of nanoseconds (P42)",
        arguments: [(3, 3), (7, 7), (999, 40), (1, 1), (1_000_000_007, 9)])
    func exact(calls: Int, burst: Int) {
        var machine = ThrottleStateMachine(rate: .perSecond(calls), burst: burst)
        let start = MonotonicInstant(nanoseconds: 12_345)
        #expect(machine.allowed(asks: burst + 1, at: start) == burst)
        // The whole burst is available again after the time of that many calls, rounded up once.
        let (whole, rest) = (Int64(burst) * 1_000_000_000).quotientAndRemainder(dividingBy: Int64(calls))
        let full = start + .nanoseconds(rest == 0 ? whole : whole + 1)
        #expect(machine.available(at: full + .nanoseconds(-1)) == burst - 1)
        #expect(machine.allowed(asks: burst + 1, at: full) == burst)
    }
}
