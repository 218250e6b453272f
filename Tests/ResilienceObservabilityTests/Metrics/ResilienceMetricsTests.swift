#if Metrics
    import CoreMetrics
    import MetricsTestKit
    import Resilience
    @testable import ResilienceObservability
    import ResilienceSync
    import ResilienceTesting
    import TestSupport
    import Testing

    @Suite struct ResilienceMetricsTests {
        private let backend = TestMetrics()
        private let clock = ManualClock()

        private func event(_ detail: some PolicyEventDetail, policy: String = "p", pipeline: String? = "x")
            -> PolicyEvent
        {
            PolicyEvent(policy: policy, pipeline: pipeline, time: clock.now, detail: detail)
        }

        @Test("calls, attempts and waits of an outage are counted and measured")
        func calls() throws {
            let metrics = ResilienceMetrics(factory: backend)
            let pipeline = Pipeline("x", timeBase: clock, observers: PolicyObservers(metrics)) {
                Retry(maxRetries: 2, backoff: .constant(.seconds(2)))
            }
            let fetch = ScriptedOperation<Void, Int>([.failure(Outage())], fallback: .success(7))
            _ = try clock.run { try await pipeline.run { try await fetch() } }
            let success = [("pipeline", "x"), ("outcome", "success")]
            let transient = [("pipeline", "x"), ("outcome", "transient")]
            #expect(try backend.expectCounter("resilience_calls_total", success).totalValue == 1)
            #expect(try backend.expectTimer("resilience_call_duration_seconds", success).values == [2_000_000_000])
            #expect(try backend.expectRecorder("resilience_call_attempts", success).values == [2])
            #expect(try backend.expectCounter("resilience_attempts_total", success).totalValue == 1)
            #expect(try backend.expectCounter("resilience_attempts_total", transient).totalValue == 1)
            #expect(
                try backend.expectTimer("resilience_wait_duration_seconds", [("pipeline", "x"), ("policy", "retry")])
                    .values
                    == [2_000_000_000])
            #expect(
                try backend.expectCounter(
                    "resilience_events_total", [("pipeline", "x"), ("policy", "retry"), ("event", "retrying")]
                ).totalValue == 1)
        }

        @Test("each end of a call has an outcome")
        func outcomes() {
            let metrics = ResilienceMetrics(factory: backend)
            let ends: [Pipeline.Event] = [
                .succeeded(took: .zero, attempts: 1), .rejected(took: .zero, attempts: 0),
                .cancelled(took: .zero, attempts: 1), .failed(.transient, took: .zero, attempts: 1),
                .failed(.throttled(retryAfter: .seconds(3)), took: .zero, attempts: 1),
                .failed(.uncertain, took: .zero, attempts: 1), .failed(.permanent, took: .zero, attempts: 1),
                .failed(.rejected, took: .zero, attempts: 1),
            ]
            for end in ends { metrics.receive(event(end, policy: "call")) }
            let found = backend.counters(label: "resilience_calls_total").compactMap { $0.dimensions.last?.1 }
            #expect(Set(found) == Set(CallOutcome.allCases.map(\.rawValue)))
        }

        @Test("an event of several mutations counts them, and a policy without a pipeline gets the label value none")
        func several() throws {
            let metrics = ResilienceMetrics(factory: backend)
            metrics.receive(event(SyncEvent.enqueued(40), policy: "sync", pipeline: nil))
            metrics.receive(event(SyncEvent.enqueued(2), policy: "sync", pipeline: nil))
            let names = [("pipeline", "none"), ("policy", "sync"), ("event", "enqueued")]
            #expect(try backend.expectCounter("resilience_events_total", names).totalValue == 42)
        }

        @Test("handles are made once, not for each event")
        func cached() {
            let factory = CountingFactory()
            let metrics = ResilienceMetrics(factory: factory)
            for _ in 0..<100 {
                metrics.receive(event(CircuitBreaker.Event.recovered))
                metrics.receive(event(Pipeline.Event.succeeded(took: .zero, attempts: 1), policy: "call"))
            }
            #expect(factory.made.withLock { $0 } == 4)
        }

        @Test("an unbounded number of names makes a bounded number of series, without loss")
        func bounded() {
            let metrics = ResilienceMetrics(factory: backend, maxNames: 10)
            for number in 0..<1_000 {
                metrics.receive(event(CircuitBreaker.Event.recovered, policy: "\(number)"))
                metrics.receive(event(Pipeline.Event.succeeded(took: .zero, attempts: 1), pipeline: "\(number)"))
            }
            #expect(backend.counters.count == 12)
            #expect(backend.counterTotal(label: "resilience_events_total") == 1_000)
            #expect(backend.counterTotal(label: "resilience_calls_total") == 1_000)
            let others = backend.counters(label: "resilience_calls_total", dimensions: [("pipeline", "other")])
            #expect(others.map(\.totalValue) == [995] && others.first?.dimensions.last?.1 == "success")
        }

        private struct Custom: PolicyEventDetail {
            let kind: String
            var description: String { kind }
        }

        @Test("a policy that invents kinds of data has a bounded number of them")
        func kinds() {
            let metrics = ResilienceMetrics(factory: backend)
            for number in 0..<1_000 { metrics.receive(event(Custom(kind: "\(number)"))) }
            #expect(backend.counters.count == SeriesNames.kindLimit + 1)
            #expect(backend.counterTotal(label: "resilience_events_total") == 1_000)
        }

        @Test("a name from outside never breaks a label")
        func hostile() {
            let metrics = ResilienceMetrics(factory: backend)
            metrics.receive(event(CircuitBreaker.Event.recovered, policy: "a\"} 1\n", pipeline: "<script>\\"))
            #expect(backend.counters.first?.dimensions.map(\.1) == ["<script>_", "a_} 1_", "recovered"])
        }

        @Test("in a burst from many threads, every event is counted")
        func volley() async {
            let metrics = ResilienceMetrics(factory: backend, maxNames: 5)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        for number in 0..<200 {
                            metrics.receive(event(CircuitBreaker.Event.recovered, policy: "\(number % 9)"))
                        }
                    }
                }
            }
            #expect(backend.counterTotal(label: "resilience_events_total") == 1_600)
            #expect(backend.counters.count == 6)
        }

        @Test("an observer that is added twice counts each event twice")
        func twice() {
            let metrics = ResilienceMetrics(factory: backend)
            PolicyObservers(metrics, metrics).send(event(CircuitBreaker.Event.recovered))
            #expect(backend.counterTotal(label: "resilience_events_total") == 2)
        }

        @Test("every metric has the labels of its name")
        func labels() async throws {
            let observer = ResilienceMetrics(factory: backend)
            observer.receive(event(CircuitBreaker.Event.recovered))
            observer.receive(event(Pipeline.Event.attemptSucceeded(1, took: .zero), policy: "call"))
            let waits = [PolicyWait(policy: "retry", duration: .seconds(1))]
            observer.receive(event(Pipeline.Event.succeeded(took: .zero, attempts: 1, waits: waits), policy: "call"))
            let all =
                backend.counters.map { ($0.label, $0.dimensions) } + backend.timers.map { ($0.label, $0.dimensions) }
                + backend.recorders.map { ($0.label, $0.dimensions) }
            let metrics: [Metric] = [
                .calls, .callDuration, .callAttempts, .attempts, .attemptDuration, .waitDuration, .events,
            ]
            let labels = Dictionary(all) { first, _ in first }.mapValues { $0.map(\.0) }
            #expect(labels == Dictionary(uniqueKeysWithValues: metrics.map { ($0.name, $0.labels) }))
        }
    }

    /// Counts how many handlers it makes.
    private final class CountingFactory: MetricsFactory {
        let made = Locked(0)

        func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
            made(NOOPMetricsHandler.instance)
        }
        func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
            made(NOOPMetricsHandler.instance)
        }
        func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
            made(NOOPMetricsHandler.instance)
        }
        func destroyCounter(_ handler: any CounterHandler) {}
        func destroyRecorder(_ handler: any RecorderHandler) {}
        func destroyTimer(_ handler: any TimerHandler) {}

        private func made(_ handler: NOOPMetricsHandler) -> NOOPMetricsHandler {
            made.withLock { $0 += 1 }
            return handler
        }
    }
#endif
