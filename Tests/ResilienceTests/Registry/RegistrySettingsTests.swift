import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

@Suite(.timeLimit(.minutes(20))) struct RegistrySettingsTests {
    let clock = ManualClock()
    let breakers: CircuitBreakerRegistry<String>

    /// Opens on the 2nd failure, for 60 s.
    init() {
        breakers = CircuitBreakerRegistry(capacity: 3) { [clock] key in
            CircuitBreaker(key, tripping: .consecutiveFailures(2), timeBase: clock)
        }
    }

    private func fail(_ key: String, times: Int = 1) {
        for _ in 0..<times { try? breakers[key].tryAcquire().complete(.transient) }
    }

    @Test("an override applies only to its key, even if the key exists, and after its eviction")
    func override() {
        fail("/search")
        let isDone = breakers.setOverride("/search") { [clock] in
            CircuitBreaker("/search", tripping: .consecutiveFailures(4), timeBase: clock)
        }
        #expect(isDone)
        #expect(breakers["/search"].status == CircuitBreakerStatus(state: .closed, failureCount: 1, failureLimit: 4))
        #expect(breakers["/a"].status.failureLimit == 2)
        breakers.reset("/search")
        for key in 0..<100 { _ = breakers["\(key)"] }
        #expect(breakers.existing("/search") == nil && breakers["/search"].status.failureLimit == 4)
        #expect(breakers.setOverride("/search", make: nil) && breakers["/search"].status.failureLimit == 2)
    }

    @Test("new settings reach every key, its state stays, and calls in flight keep their permits (P24)")
    func reconfigure() throws {
        fail("/open", times: 2)
        fail("/counted")
        let open = breakers["/open"]
        let permit = try breakers["/counted"].tryAcquire()
        clock.advance(by: .seconds(10))
        let kept = breakers.reconfigure { [clock] key in
            CircuitBreaker(
                key, tripping: .consecutiveFailures(3), openFor: .seconds(5), timeBase: clock)
        }
        #expect(kept == [])
        #expect(breakers["/open"] === open && open.status.timeRemaining == .seconds(50))
        permit.complete(.transient)
        #expect(breakers["/counted"].status == CircuitBreakerStatus(state: .closed, failureCount: 2, failureLimit: 3))
        fail("/counted")
        #expect(breakers["/counted"].status.timeRemaining == .seconds(5))
        #expect(breakers["/new"].status.failureLimit == 3)
    }

    @Test("one stream watches every key's circuit, even of later keys (A11)")
    func watched() async {
        fail("/early")
        let transitions = breakers.transitions()
        fail("/early")
        fail("/late", times: 2)
        breakers.resetAll()
        var seen: [String: [CircuitState]] = [:]
        var count = 0
        for await change in transitions {
            seen[change.key, default: []].append(change.transition.to)
            count += 1
            if count == 4 { break }
        }
        #expect(seen == ["/early": [.open, .closed], "/late": [.open, .closed]])
    }

    @Test("a stream without a reader leaves nothing behind")
    func unwatched() async {
        _ = breakers["/a"]
        let task = Task { [breakers] in
            for await _ in breakers.transitions() {}
        }
        task.cancel()
        await task.value
        #expect(breakers["/a"].inner.withLock { $0.extras?.watchers.isEmpty != false })
        #expect(breakers["/b"].inner.withLock { $0.extras?.watchers.isEmpty != false })
    }
}

@Suite struct PipelineRegistryTests {
    let clock = ManualClock()
    let pipelines: PipelineRegistry<String>

    init() {
        pipelines = PipelineRegistry(capacity: 3) { [clock] key in
            Pipeline(key) {
                Retry(maxRetries: 1, backoff: .none)
                CircuitBreaker(key, tripping: .consecutiveFailures(2), timeBase: clock)
            }
        }
    }

    private func breaker(_ key: String) -> CircuitBreaker { pipelines[key].circuitBreakers[0] }

    @Test("each key has its own pipeline, made once, with its own state")
    func each() async throws {
        await #expect(throws: Outage()) { try await pipelines["/a"].run { throw Outage() } }
        await #expect(throws: CircuitOpen.self) { try await pipelines["/a"].run {} }
        try await pipelines["/b"].run {}
        #expect(pipelines.count == 2 && breaker("/a").state == .open && breaker("/b").state == .closed)
        pipelines.resetAll()
        #expect(breaker("/a").state == .closed)
    }

    @Test("idle pipelines without holders are evicted; pipelines that are held, or have an open circuit, are not (P29)")
    func forgotten() async throws {
        await #expect(throws: Outage()) { try await pipelines["/open"].run { throw Outage() } }
        let held = pipelines["/held"]
        for key in 0..<100 { _ = pipelines["\(key)"] }
        #expect(pipelines.count <= 4 && breaker("/open").state == .open)
        #expect(pipelines["/held"].core === held.core)
    }

    @Test("new settings reach a pipeline's policies, their state stays, and the old pipeline has the same policies")
    func reconfigured() async throws {
        let held = pipelines["/a"]
        await #expect(throws: Outage()) { try await held.run { throw Outage() } }
        let kept = pipelines.reconfigure { [clock] key in
            Pipeline(key) {
                Retry(maxRetries: 4, backoff: .none)
                CircuitBreaker(key, tripping: .consecutiveFailures(7), timeBase: clock)
            }
        }
        #expect(kept == [] && breaker("/a") === held.circuitBreakers[0] && breaker("/a").state == .open)
        pipelines.resetAll()
        var attempts = 0
        await #expect(throws: Outage()) {
            try await pipelines["/a"].run {
                attempts += 1
                throw Outage()
            }
        }
        #expect(attempts == 5 && held.circuitBreakers[0].status.failureLimit == 7)
    }

    @Test("a pipeline's timeout takes its new limit, and its breaker keeps its state")
    func reconfiguredTimeout() async throws {
        let guarded: @Sendable (String, Duration) -> Pipeline = { [clock] key, limit in
            Pipeline(key) {
                Timeout(limit: limit)
                CircuitBreaker(key, tripping: .consecutiveFailures(1), timeBase: clock)
            }
        }
        let pipelines = PipelineRegistry<String> { guarded($0, .seconds(5)) }
        await #expect(throws: Outage()) { try await pipelines["/a"].run { throw Outage() } }
        let kept = pipelines.reconfigure { guarded($0, .seconds(7)) }
        #expect(kept == [] && pipelines["/a"].circuitBreakers[0].state == .open)
        #expect("\(pipelines["/a"])".contains("7 s"))

        let swapped = pipelines.reconfigure { [clock] key in
            Pipeline(key) {
                CircuitBreaker(key, tripping: .consecutiveFailures(1), timeBase: clock)
                Timeout(limit: .seconds(9))
            }
        }
        #expect(swapped == ["/a"] && "\(pipelines["/a"])".contains("7 s"))
    }
}
