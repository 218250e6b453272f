import Resilience
import ResilienceTesting
import TestSupport
import Testing

@Suite struct CircuitBreakerRegistryTests {
    let clock = ManualClock()
    let breakers: CircuitBreakerRegistry<String>

    /// A slow endpoint has a higher threshold, and a longer break.
    init() {
        breakers = CircuitBreakerRegistry { [clock] endpoint in
            CircuitBreaker(
                endpoint, tripping: .consecutiveFailures(endpoint == "/slow" ? 10 : 5),
                openFor: .constant(.seconds(endpoint == "/slow" ? 300 : 60)), timeBase: clock)
        }
    }

    private func fail(_ endpoint: String, _ times: Int) {
        for _ in 0..<times { try? breakers[endpoint].tryAcquire().complete(.transient) }
    }

    @Test("each key has its own circuit: if one circuit opens, the other circuits stay closed (A5)")
    func independent() async throws {
        fail("/a", 5)
        #expect(breakers["/a"].status.isTripped && !breakers["/b"].status.isTripped)
        await #expect(throws: CircuitOpen.self) { try await breakers["/a"].run {} }
        try await breakers["/b"].run {}
        #expect(breakers["/b"].status.failureCount == 0)
    }

    @Test("thresholds and waits can differ by key (A5, A10)")
    func different() {
        fail("/fast", 5)
        fail("/slow", 9)
        #expect(breakers["/fast"].status.timeRemaining == .seconds(60) && !breakers["/slow"].status.isTripped)
        fail("/slow", 1)
        #expect(breakers["/slow"].status.timeRemaining == .seconds(300))
    }

    @Test("isAllowed is true for an unknown key, and makes no breaker")
    func asking() {
        #expect(breakers.isAllowed("/new") && breakers.existing("/new") == nil && breakers.count == 0)
        breakers.reset("/new")
        #expect(breakers.count == 0)
    }

    @Test("each key's status shows whether a call is allowed, its state, its count and the time remaining (A6)")
    func asked() {
        fail("/a", 5)
        #expect(!breakers.isAllowed("/a"))
        let expected = CircuitBreakerStatus(state: .open, failureCount: 5, failureLimit: 5, timeRemaining: .seconds(60))
        #expect(breakers.existing("/a")?.status.timeless == expected)
    }

    @Test("one key can be reset without affecting other keys (A6)")
    func resetOne() {
        fail("/a", 5)
        fail("/b", 5)
        breakers.reset("/a")
        #expect(breakers.isAllowed("/a") && !breakers.isAllowed("/b"))
    }

    @Test("all keys can be reset at once (A6)")
    func resetAll() {
        for endpoint in ["/a", "/b", "/slow"] { fail(endpoint, 10) }
        breakers.resetAll()
        #expect(breakers.statuses.values.allSatisfy { $0.state == .closed && $0.failureCount == 0 })
        #expect(breakers.count == 3)
    }

    @Test("every key's state can be listed (A11)")
    func statusUpdates() {
        fail("/a", 5)
        fail("/slow", 3)
        #expect(
            breakers.statuses.mapValues(\.timeless) == [
                "/a": CircuitBreakerStatus(state: .open, failureCount: 5, failureLimit: 5, timeRemaining: .seconds(60)),
                "/slow": CircuitBreakerStatus(state: .closed, failureCount: 3, failureLimit: 10),
            ])
        clock.advance(by: .seconds(60))
        #expect(breakers.statuses["/a"]?.state == .halfOpen)
    }

    @Test("one observer given to each breaker sees every key's changes of state (A11)")
    func watched() {
        let recorder = EventRecorder()
        let breakers = CircuitBreakerRegistry<String> { [clock] in
            CircuitBreaker($0, tripping: .consecutiveFailures(1), timeBase: clock, observers: PolicyObservers(recorder))
        }
        for endpoint in ["/a", "/b"] { try? breakers[endpoint].tryAcquire().complete(.transient) }
        let opened = recorder.events.filter {
            ($0.detail as? CircuitBreaker.Event) == .opened(1, of: 1, for: .seconds(60))
        }
        #expect(opened.map(\.policy) == ["/a", "/b"])
    }

    @Test("making a breaker may use the registry itself (P7)")
    func reentrant() {
        let registry = Box<CircuitBreakerRegistry<String>?>(nil)
        let breakers = CircuitBreakerRegistry<String> { [clock] key in
            if key != "/parent" { _ = registry.value?["/parent"] }
            return CircuitBreaker(key, timeBase: clock)
        }
        registry.value = breakers
        _ = breakers["/child"]
        #expect(Set(breakers.statuses.keys) == ["/parent", "/child"])
    }
}
