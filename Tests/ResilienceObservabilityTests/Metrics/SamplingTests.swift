#if Metrics
    import CoreMetrics
    import MetricsTestKit
    import Resilience
    import ResilienceTraffic
    @testable import ResilienceObservability
    import ResilienceSync
    import ResilienceTesting
    import TestSupport
    import Testing

    #if canImport(FoundationEssentials)
        import FoundationEssentials
    #else
        import Foundation
    #endif

    @Suite struct SamplingTests {
        private let backend = TestMetrics()
        private let clock = ManualClock()

        private func gauge(_ name: String, _ dimensions: (String, String)...) throws -> Double? {
            try backend.expectMeter(name, dimensions).lastValue
        }

        private func circuit(_ state: String, _ policy: String = "breaker", in pipeline: String = "x") throws -> Double?
        {
            try gauge("resilience_circuits", ("pipeline", pipeline), ("policy", policy), ("state", state))
        }

        @Test("a sample shows a pipeline's circuit, permits, queue, rate and retry budget")
        func pipeline() async throws {
            let breaker = CircuitBreaker("breaker", tripping: .consecutiveFailures(1), timeBase: clock)
            let bulkhead = Bulkhead("bulkhead", limit: 2, timeBase: clock)
            let pipeline = Pipeline("x") {
                Retry(budget: .tokens(capacity: 28, cost: 14))
                breaker
                Throttle("throttle", limit: .perSecond(1, burst: 5), timeBase: clock)
                bulkhead
            }
            let metrics = ResilienceMetrics(factory: backend)
            metrics.watch { pipeline }
            let permit = try bulkhead.tryAcquire()
            await metrics.sample()
            #expect(try circuit("closed") == 1 && circuit("open") == 0 && circuit("half_open") == 0)
            #expect(try gauge("resilience_permits_in_use", ("pipeline", "x"), ("policy", "bulkhead")) == 1)
            #expect(try gauge("resilience_permits_limit", ("pipeline", "x"), ("policy", "bulkhead")) == 2)
            #expect(try gauge("resilience_queue_length", ("pipeline", "x"), ("policy", "bulkhead")) == 0)
            #expect(try gauge("resilience_throttle_available", ("pipeline", "x"), ("policy", "throttle")) == 5)
            #expect(try gauge("resilience_retries_left", ("pipeline", "x"), ("policy", "retry")) == 2)
            permit.complete(.success)
            try breaker.tryAcquire().complete(.transient)
            await metrics.sample()
            #expect(try circuit("closed") == 0 && circuit("open") == 1)
            #expect(try gauge("resilience_permits_in_use", ("pipeline", "x"), ("policy", "bulkhead")) == 0)
        }

        @Test("a cache shows its entries and its loads, and a single flight its flights")
        func cache() async throws {
            let cache = CallCache<String, Int>(
                lifetime: CacheLifetime(freshFor: .seconds(1)), maxCost: 9, costOf: { $0 }, timeBase: clock)
            let flights = SingleFlight<String, Int>("own", timeBase: clock)
            let metrics = ResilienceMetrics(factory: backend)
            metrics.watch { cache }
            metrics.watch { flights }
            cache.store(2, for: "a")
            cache.store(5, for: "b")
            let of: (String, String) = ("pipeline", "none")
            _ = try await flights.run(for: "a") {
                await metrics.sample()
                return 1
            }
            #expect(try gauge("resilience_flights", of, ("policy", "own")) == 1)
            #expect(try gauge("resilience_flights_waiting", of, ("policy", "own")) == 1)
            #expect(try gauge("resilience_flights_abandoned", of, ("policy", "own")) == 0)
            #expect(try gauge("resilience_flights", of, ("policy", "cache")) == 0)
            #expect(try gauge("resilience_cache_entries", of, ("policy", "cache")) == 2)
            #expect(try gauge("resilience_cache_cost", of, ("policy", "cache")) == 7)
        }

        @Test("a registry shows all its keys, even later ones, and reading it does not count as use")
        func registry() async throws {
            let clock = clock
            let pipelines = PipelineRegistry<String>(timeBase: clock) { key in
                Pipeline(key) { CircuitBreaker("breaker", timeBase: clock) }
            }
            let breakers = CircuitBreakerRegistry<String>(timeBase: clock) { CircuitBreaker($0, timeBase: clock) }
            let metrics = ResilienceMetrics(factory: backend)
            metrics.watch { pipelines }
            metrics.watch { breakers }
            metrics.watch { CircuitBreaker("alone", timeBase: clock) }
            await metrics.sample()
            #expect(backend.meters(label: "resilience_circuits").count == 3)
            _ = (pipelines["/a"], breakers["/b"])
            await metrics.sample()
            #expect(try circuit("closed", in: "/a") == 1)
            #expect(try circuit("closed", "/b", in: "none") == 1)
        }

        @Test("policies with the same names are summed: the gauge is the number of circuits")
        func same() async throws {
            let metrics = ResilienceMetrics(factory: backend)
            for _ in 0..<3 { metrics.watch { CircuitBreaker("breaker", timeBase: clock) } }
            await metrics.sample()
            #expect(try circuit("closed", in: "none") == 3)
        }

        private struct Own: StatusReporting {
            struct Status: PolicyStatusDetail {
                var help = "Its numbers."
                var name = "own"
                var states: [String?] = [nil]

                static var kind: String { "own" }
                var isAllowed: Bool { true }
                func readings(at now: MonotonicInstant) -> [StatusReading] {
                    states.map { StatusReading(name, help, 1, state: $0) }
                }
            }

            let name = "own"
            let status: Status
            var presentTime: MonotonicInstant { MonotonicInstant(nanoseconds: 0) }
        }

        @Test("readings of two policies with one name are summed, even if their explanations differ")
        func otherHelp() async throws {
            let metrics = ResilienceMetrics(factory: backend)
            for help in ["One.", "Two.", "Three."] { metrics.watch { Own(status: Own.Status(help: help)) } }
            await metrics.sample()
            #expect(backend.meters.count == 1)
            #expect(try gauge("resilience_own", ("pipeline", "none"), ("policy", "own")) == 3)
        }

        @Test(
            "gauges with one name have the same labels, and none has a counter's name: otherwise a backend may trap")
        func collisions() async throws {
            let metrics = ResilienceMetrics(factory: backend)
            for name in ["calls_total", "call_duration_seconds_count", "status_known", "component_status"] {
                metrics.watch { Own(status: Own.Status(name: name)) }
            }
            metrics.watch { Own(status: Own.Status(states: [nil, "a", "b"])) }
            await metrics.sample()
            #expect(backend.meters.map(\.label) == ["resilience_own"])
            // This also holds later: the backend remembers the labels.
            let changing = Changing()
            metrics.watch { changing }
            await metrics.sample()
            changing.state.withLock { $0.states = [nil] }
            await metrics.sample()
            #expect(backend.meters.map(\.label) == ["resilience_own"])
        }

        private final class Changing: StatusReporting {
            let state = Locked(Own.Status(name: "late", states: ["a"]))
            let name = "changing"
            var status: Own.Status { state.withLock { $0 } }
            var presentTime: MonotonicInstant { MonotonicInstant(nanoseconds: 0) }
        }

        private static func circuit(_ policy: String) -> HealthComponent {
            let status = PolicyStatus(policy: policy, detail: CircuitBreakerStatus(state: .open, failureCount: 5))
            return HealthComponent(
                id: "", name: "x", pipeline: "x",
                policies: [PolicyHealth(status, at: MonotonicInstant(nanoseconds: 0))])
        }

        @Test("a gauge is removed with its component, so that an evicted circuit does not stay open for ever")
        func gone() async throws {
            let breakers = CircuitBreakerRegistry<String>(capacity: 1, timeBase: clock) {
                CircuitBreaker($0, timeBase: clock)
            }
            let metrics = ResilienceMetrics(factory: backend)
            metrics.watch { breakers }
            // When a component comes back, the backend has its gauges again.
            for key in ["a", "b", "a"] {
                _ = breakers[key]
                await metrics.sample()
                #expect(try backend.meters.count == 4 && circuit("closed", key, in: "none") == 1, "\(key)")
            }
        }

        @Test("an unbounded number of names makes a bounded number of gauges; the rest is summed")
        func bounded() throws {
            var readings = GaugeReadings()
            for number in 100..<200 { readings.add(Self.circuit("\(number)")) }
            let known: Set<[String]> = [["x", "150"], ["x", "199"]]
            let bounded = readings.bounded(to: 3, preferring: known)
            #expect(
                Set(bounded.keys.map(\.names)) == [["x", "150"], ["x", "199"], ["x", "100"], ["other", "other"]])
            let others = Dictionary(
                uniqueKeysWithValues: bounded.filter { $0.key.names == ["other", "other"] }
                    .map { ("\($0.key.metric.name) \($0.key.state ?? "")", $0.value) })
            #expect(others["resilience_circuits open"] == 97 && others["resilience_circuit_failures "] == 97 * 5)
        }

        @Test("a sync queue shows its depth, age and rate")
        func queue() async throws {
            let date = Locked(Date(timeIntervalSince1970: 1_000))
            let queue = SyncQueue(
                "outbox", store: MemoryStore(), pipeline: Pipeline(timeBase: clock) {},
                wallClock: { date.withLock { $0 } }, send: { _ in })
            try await queue.enqueue(
                Mutation(entity: "e", kind: "create", payload: Data(), createdAt: date.withLock { $0 }))
            date.withLock { $0 += 30 }
            clock.advance(by: .seconds(30))
            let metrics = ResilienceMetrics(factory: backend)
            metrics.watch { queue }
            await metrics.sample()
            #expect(try gauge("resilience_sync_pending", ("pipeline", "none"), ("policy", "outbox")) == 1)
            #expect(try gauge("resilience_sync_oldest_age_seconds", ("pipeline", "none"), ("policy", "outbox")) == 30)
            #expect(try gauge("resilience_sync_dead", ("pipeline", "none"), ("policy", "outbox")) == 0)
            // The rate is unknown before a 429.
            #expect(backend.meters(label: "resilience_sync_rate").isEmpty)
        }

        @Test("the loop samples at once, after each interval, and not after its cancellation")
        func loop() throws {
            let clock = clock
            let counted = Counted()
            let metrics = ResilienceMetrics(factory: backend)
            metrics.watch { counted }
            try clock.run {
                let task = Task { await metrics.run(every: .seconds(10), on: clock) }
                await clock.runUntilIdle()
                #expect(counted.readings.withLock { $0 } == 1)
                try await clock.sleep(for: .seconds(25))
                #expect(counted.readings.withLock { $0 } == 3)
                task.cancel()
                await task.value
                try await clock.sleep(for: .seconds(100))
            }
            #expect(counted.readings.withLock { $0 } == 3)
        }

        private final class Counted: Policy, StatusReporting {
            let readings = Locked(0)
            var status: ChaosStatus {
                readings.withLock { $0 += 1 }
                return ChaosStatus(isOn: false)
            }
        }

        @Test("many concurrent samples all finish, and show the state")
        func together() async throws {
            let metrics = ResilienceMetrics(factory: backend)
            metrics.watch { CircuitBreaker("breaker", timeBase: clock) }
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<16 { group.addTask { await metrics.sample() } }
            }
            #expect(try circuit("closed", in: "none") == 1)
        }

        @Test("a budget reports its remaining retries, and reports none exactly when it is exhausted")
        func retriesLeft() throws {
            let clock = clock
            let budgets: [(RetryBudget, Int)] = [
                (.tokens(capacity: 30, cost: 14), 2), (.tokens(capacity: 0), 0),
                (.ratio(0.5, reserve: 1, window: .seconds(4), timeBase: clock), 4), (.throttling(maxTokens: 10), 5),
                (.throttling(maxTokens: 1), 1),
            ]
            for (budget, left) in budgets {
                #expect(budget.retriesLeft == left, "\(budget)")
                let pipeline = Pipeline(timeBase: clock) { Retry(maxRetries: 1, backoff: .none, budget: budget) }
                for _ in 0..<12 {
                    try clock.run { _ = try? await pipeline.run { throw Outage() } }
                    #expect((budget.retriesLeft == 0) == budget.isExhausted, "\(budget)")
                    #expect(budget.retriesLeft >= 0)
                }
                #expect(budget.retriesLeft <= left + 1)
            }
        }
    }
#endif
