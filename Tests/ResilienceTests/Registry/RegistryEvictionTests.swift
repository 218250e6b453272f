import Resilience
import ResilienceTesting
import TestSupport
import Testing

@Suite struct RegistryEvictionTests {
    let clock = ManualClock()

    /// Keeps ten breakers, which open on the 2nd failure.
    private func registry(_ capacity: Int = 10) -> CircuitBreakerRegistry<Int> {
        CircuitBreakerRegistry(capacity: capacity) { [clock] key in
            CircuitBreaker("\(key)", tripping: .consecutiveFailures(2), timeBase: clock)
        }
    }

    @Test("a registry asked for endless new keys does not grow without limit (P29)")
    func bounded() {
        let breakers = registry()
        for key in 0..<10_000 {
            _ = breakers[key]
            #expect(breakers.count <= 10)
        }
    }

    @Test("an open circuit is not evicted, however many keys follow (P31)")
    func openStays() {
        let breakers = registry()
        for _ in 0..<2 { try? breakers[-1].tryAcquire().complete(.transient) }
        for key in 0..<1000 { _ = breakers[key] }
        #expect(!breakers.isAllowed(-1))
        clock.advance(by: .seconds(60))
        for key in 0..<1000 { _ = breakers[key] }
        #expect(breakers.existing(-1)?.state == .halfOpen)
    }

    @Test("an open circuit inside another policy is also not evicted")
    func insideStays() async {
        let pipelines = PipelineRegistry<Int>(capacity: 10, evictingAfter: .zero, timeBase: clock) { [clock] key in
            Pipeline(timeBase: clock) {
                AroundBreaker(breaker: CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock))
            }
        }
        _ = try? await pipelines[-1].run { throw Outage() }
        _ = try? await pipelines[-2].run { throw Outage() }
        pipelines[-2].circuitBreakers[0].reset()
        for key in 0..<1000 { _ = pipelines[key] }
        #expect(pipelines.existing(-1)?.circuitBreakers[0].state == .open && pipelines.existing(-2) == nil)
    }

    @Test("a half-open circuit, and a circuit with a counted failure, are also not evicted")
    func countedStays() throws {
        let breakers = registry()
        try breakers[-1].tryAcquire().complete(.transient)
        for _ in 0..<2 { try breakers[-2].tryAcquire().complete(.transient) }
        clock.advance(by: .seconds(60))
        try breakers[-2].tryAcquire().complete(.cancelled)
        for key in 0..<1000 { _ = breakers[key] }
        #expect(breakers.existing(-1)?.status.failureCount == 1 && breakers.existing(-2)?.state == .halfOpen)
    }

    @Test("a held breaker is not evicted: its key does not get a second breaker")
    func heldStays() {
        let breakers = registry()
        let held = breakers[-1]
        for key in 0..<1000 { _ = breakers[key] }
        #expect(breakers[-1] === held)
    }

    @Test("a recovered circuit may be evicted")
    func recovered() throws {
        let breakers = registry()
        for key in 0..<10 { for _ in 0..<2 { try breakers[key].tryAcquire().complete(.transient) } }
        for key in 10..<30 { _ = breakers[key] }
        #expect((0..<10).allSatisfy { breakers.existing($0) != nil })
        breakers.resetAll()
        for key in 30..<1000 { _ = breakers[key] }
        #expect((0..<10).allSatisfy { breakers.existing($0) == nil })
    }
}
