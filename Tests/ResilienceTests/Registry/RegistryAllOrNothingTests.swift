import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

@Suite struct RegistryAllOrNothingTests {
    let clock = ManualClock()

    private func pipeline(
        rate: Int, limit: Int = 1, _ rule: some TripRule = .consecutiveFailures(2), on base: ManualClock? = nil
    ) -> Pipeline {
        let base = base ?? clock
        return Pipeline {
            Throttle(limit: .perSecond(rate), timeBase: base)
            Bulkhead(limit: limit, timeBase: base)
            CircuitBreaker(tripping: rule, timeBase: base)
        }
    }

    @Test("a pipeline that can't take new settings keeps all old settings: none of its policies changes (P37)")
    func rejected() {
        let pipelines = PipelineRegistry<String> { _ in pipeline(rate: 1) }
        let before = pipelines["/a"].elements.map { "\($0)" }
        let kept = pipelines.reconfigure { _ in pipeline(rate: 9, limit: 9, .anyOf(.consecutiveFailures(2))) }
        #expect(kept == ["/a"] && pipelines["/a"].elements.map { "\($0)" } == before)
        let elsewhere = ManualClock()
        #expect(pipelines.reconfigure { _ in pipeline(rate: 9, on: elsewhere) } == ["/a"])
        #expect(pipelines["/a"].elements.map { "\($0)" } == before)
        #expect(pipelines.reconfigure { _ in pipeline(rate: 9, limit: 9, .consecutiveFailures(9)) } == [])
        #expect(zip(pipelines["/a"].elements.map { "\($0)" }, before).allSatisfy { $0 != $1 })
    }

    @Test("a reconfigured pipeline takes the new name, observers and classifier")
    func news() async {
        let (old, new) = (EventRecorder(), EventRecorder())
        let pipelines = PipelineRegistry<String> { [clock] _ in
            Pipeline("old", observers: PolicyObservers(old)) {
                CircuitBreaker(tripping: .consecutiveFailures(2), timeBase: clock)
            }
        }
        let breaker = pipelines["/a"].circuitBreakers[0]
        let kept = pipelines.reconfigure { [clock] _ in
            Pipeline("new", classifier: Classifier { _ in .permanent }, observers: PolicyObservers(new)) {
                CircuitBreaker(tripping: .consecutiveFailures(2), timeBase: clock)
            }
        }
        let pipeline = pipelines["/a"]
        #expect(kept == [] && pipeline.name == "new" && pipeline.verdict(for: Outage()) == .permanent)
        await #expect(throws: Outage.self) { try await pipeline.run { throw Outage() } }
        #expect(pipeline.circuitBreakers[0] === breaker && breaker.status.failureCount == 0)
        #expect(old.events.isEmpty && new.events.contains { $0.pipeline == "new" })
    }

    @Test("a policy shared by keys is not reconfigured to its own settings: changes by hand stay")
    func shared() throws {
        let throttle = Throttle(limit: .perSecond(1, burst: 2), timeBase: clock)
        let bulkhead = Bulkhead(limit: 1, timeBase: clock)
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        let shared: @Sendable (Int) -> Pipeline = { retries in
            Pipeline {
                Retry(maxRetries: retries)
                throttle
                bulkhead
                breaker
            }
        }
        let pipelines = PipelineRegistry<String> { _ in shared(1) }
        for key in ["/a", "/b"] { _ = pipelines[key] }
        throttle.setRate(.perSecond(7), burst: 5)
        bulkhead.setLimit(7)
        breaker.trip()
        clock.advance(by: .seconds(60))
        let probe = try breaker.tryAcquire()
        #expect(pipelines.reconfigure { _ in shared(2) } == [])
        #expect("\(throttle)".contains("7 per 1 s, burst 5") && bulkhead.status.limit == 7)
        #expect(throws: CircuitOpen.self) { _ = try breaker.tryAcquire() }
        probe.complete(.success)
        #expect(breaker.state == .closed)
    }

    // MARK: Settings from outside

    /// Entries that are reconfigured from outside; a limit of 0 is invalid.
    private func bulkheads() -> BulkheadRegistry<String> {
        let bulkheads = BulkheadRegistry<String> { [clock] _ in Bulkhead(limit: 3, timeBase: clock) }
        for key in ["/a", "/b", "/c"] { _ = bulkheads[key] }
        return bulkheads
    }

    private func limits(_ bulkheads: BulkheadRegistry<String>) -> [Int] {
        ["/a", "/b", "/c", "/new"].map { bulkheads[$0].status.limit }
    }

    @Test("if one key's new settings are invalid, they are thrown, and no key changes (P40)")
    func invalid() {
        let bulkheads = bulkheads()
        #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked {
                bulkheads.reconfigure { [clock] key in Bulkhead(limit: key == "/b" ? 0 : 9, timeBase: clock) }
            }
        }
        #expect(limits(bulkheads) == [3, 3, 3, 3])
    }

    @Test("after invalid settings an idle entry is at rest as before, and a new key gets the old settings (P40)")
    func atRestAfterInvalid() {
        let bulkheads = bulkheads()
        let throttles = ThrottleRegistry<String> { [clock] _ in Throttle(limit: .perSecond(1), timeBase: clock) }
        let guarded: @Sendable (Int, Int) -> Pipeline = { [clock] retries, limit in
            Pipeline {
                Retry(maxRetries: retries)
                Bulkhead(limit: limit, timeBase: clock)
            }
        }
        let pipelines = PipelineRegistry<String> { _ in guarded(1, 3) }
        let before = (throttles["/a"].description, pipelines["/a"].elements.map { "\($0)" })
        let reconfigurations: [() -> Void] = [
            { [clock] in bulkheads.reconfigure { _ in Bulkhead(limit: 0, queue: 5, timeBase: clock) } },
            { [clock] in throttles.reconfigure { _ in Throttle(limit: .perSecond(9, burst: 0), timeBase: clock) } },
            { pipelines.reconfigure { _ in guarded(-1, 9) } },
        ]
        for reconfigure in reconfigurations {
            #expect(throws: InvalidSettings.self) { try PolicySettings.checked(reconfigure) }
        }
        #expect(limits(bulkheads) == [3, 3, 3, 3] && bulkheads.values.values.allSatisfy(\.isAtRest))
        for key in ["/a", "/new"] {
            #expect(throttles[key].description == before.0 && throttles[key].isAtRest)
            #expect(pipelines[key].elements.map { "\($0)" } == before.1 && pipelines[key].isAtRest)
        }
    }

    @Test("within a failing settings check a bulkhead can't take another bulkhead's settings, and stays at rest (P40)")
    func bulkheadWithinFailingCheck() {
        let live = Bulkhead(limit: 3, timeBase: clock)
        #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked { [clock] in
                #expect(live.reconfigured(like: Bulkhead(limit: 0, queue: 5, timeBase: clock)) == nil)
            }
        }
        #expect(live.status.limit == 3 && live.isAtRest && live.canBeEvicted(unusedFor: .zero))
    }

    @Test("valid settings reach keys without an override, and keys that can't take them are returned")
    func valid() throws {
        let bulkheads = bulkheads()
        let isDone = try PolicySettings.checked {
            bulkheads.setOverride("/a") { [clock] in Bulkhead(limit: 1, timeBase: clock) }
        }
        let kept = try PolicySettings.checked {
            bulkheads.reconfigure { [clock] key in
                // A key with an override ignores this closure.
                Bulkhead(
                    limit: key == "/a" ? 0 : 9, order: key == "/c" ? .byPriority : .firstInFirstOut, timeBase: clock)
            }
        }
        #expect(isDone && kept == ["/c"] && limits(bulkheads) == [1, 9, 3, 9])
    }

    @Test("a key that is added while new settings are tried is also tried (P40)")
    func validMeanwhile() {
        let bulkheads = bulkheads()
        #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked {
                bulkheads.reconfigure { [clock] key in
                    if key == "/c" { _ = bulkheads["/late"] }
                    return Bulkhead(limit: key == "/late" ? 0 : 9, timeBase: clock)
                }
            }
        }
        #expect(limits(bulkheads) == [3, 3, 3, 3] && bulkheads["/late"].status.limit == 3)
    }

    @Test("an invalid override is thrown, and the key keeps its settings (P40)")
    func invalidOverride() {
        let bulkheads = bulkheads()
        for key in ["/a", "/none"] {
            #expect(throws: InvalidSettings.self) {
                try PolicySettings.checked {
                    bulkheads.setOverride(key) { [clock] in Bulkhead(limit: 0, timeBase: clock) }
                }
            }
            #expect(bulkheads[key].status.limit == 3)
        }
    }

    @Test("within a check an override is not removed if the key's settings without it are invalid (P40)")
    func invalidWithoutOverride() throws {
        let limit = Box(3)
        let bulkheads = BulkheadRegistry<String> { [clock] _ in Bulkhead(limit: limit.value, timeBase: clock) }
        bulkheads.setOverride("/a") { [clock] in Bulkhead(limit: 5, timeBase: clock) }
        _ = bulkheads["/a"]
        limit.value = 0
        #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked { bulkheads.setOverride("/a", make: nil) }
        }
        limit.value = 3
        let other = bulkheads["/other"]
        #expect(bulkheads["/a"].status.limit == 5 && other.status.limit == 3)
        bulkheads.reconfigure { [clock] _ in Bulkhead(limit: 4, timeBase: clock) }
        #expect(bulkheads["/a"].status.limit == 5 && other.status.limit == 4)
    }

    @Test("nothing changes if anything else in the same check is invalid (P40)")
    func invalidBefore() {
        let bulkheads = bulkheads()
        #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked {
                _ = Timeout(limit: .zero)
                bulkheads.reconfigure { [clock] _ in Bulkhead(limit: 9, timeBase: clock) }
                bulkheads.setOverride("/a") { [clock] in Bulkhead(limit: 9, timeBase: clock) }
                bulkheads.setOverride("/b", make: nil)
            }
        }
        #expect(limits(bulkheads) == [3, 3, 3, 3])
    }

    @Test("a new key with an invalid setting, looked up within a check, throws, and is not added (P40)")
    func invalidLookup() {
        let limit = Box(0)
        let bulkheads = BulkheadRegistry<String> { [clock] _ in Bulkhead(limit: limit.value, timeBase: clock) }
        #expect(throws: InvalidSettings.self) { try PolicySettings.checked { bulkheads["/a"] } }
        #expect(bulkheads.count == 0)
        limit.value = 5
        #expect(bulkheads["/a"].status.limit == 5)
    }

    @Test("a `make` that checks its own settings can return a fallback for a key with invalid settings (P40)")
    func checkedInside() {
        let bulkheads = BulkheadRegistry<Int> { [clock] limit in
            (try? PolicySettings.checked { Bulkhead(limit: limit, timeBase: clock) })
                ?? Bulkhead(limit: 16, timeBase: clock)
        }
        #expect(bulkheads[0].status.limit == 16 && bulkheads[3].status.limit == 3)
    }
}
