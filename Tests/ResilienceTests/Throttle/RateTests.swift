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
}
