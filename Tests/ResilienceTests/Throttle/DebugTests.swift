import Testing
@testable import Resilience
@Suite struct DebugTests {
    @Test func debug() {
        var m = ThrottleStateMachine(rate: .perSecond(3), burst: 9)
        let c = ContinuousClock()
        let n = 20000
        print(c.measure { for i in 0..<n { _ = m.ask(cost: 1, at: Instant(nanoseconds: Int64(i) * 400_000_000)) } } / n)
        print(c.measure { for i in 0..<n { _ = m.goAtOnce(cost: 1, at: Instant(nanoseconds: Int64(i) * 400_000_000 + 400_000_000 * Int64(n))) } } / n)
    }
}
