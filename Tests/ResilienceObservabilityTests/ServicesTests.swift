#if Logging && Metrics && ServiceLifecycle
    import InMemoryLogging
    import Logging
    import MetricsTestKit
    import Resilience
    import ResilienceObservability
    import ResilienceTesting
    import ServiceLifecycle
    import ServiceLifecycleTestKit
    import TestSupport
    import Testing

    @Suite(.timeLimit(.minutes(20)), .responsive) struct ServicesTests {
        private struct Happened: PolicyEventDetail {
            let severity = PolicyEventSeverity.warning
            let description = "happened"
        }

        @Test("a logger writes its last summary at the services' shutdown")
        func logging() async throws {
            let handler = InMemoryLogHandler()
            let clock = ManualClock()
            let log = PolicyLogger(Logger(label: "test") { _ in handler }, lines: 1, timeBase: clock)
            let observers = PolicyObservers(log)
            await testGracefulShutdown { trigger in
                async let service: Void = LoggingService(log).run()
                for _ in 0..<3 {
                    observers.send(PolicyEvent(policy: "p", pipeline: nil, time: clock.now, detail: Happened()))
                }
                #expect(handler.entries.count == 1)
                trigger.triggerGracefulShutdown()
                await service
            }
            #expect(handler.entries.count == 2)
        }

        @Test("gauges are read until the services' shutdown, and once more then")
        func metrics() async throws {
            let backend = TestMetrics()
            let metrics = ResilienceMetrics(factory: backend)
            let clock = ManualClock()
            let bulkhead = Bulkhead("b", limit: 5, timeBase: clock)
            metrics.watch { Pipeline("p") { bulkhead } }
            let limit = {
                try backend.expectMeter("resilience_permits_limit", [("pipeline", "p"), ("policy", "b")]).lastValue
            }
            try await testGracefulShutdown { trigger in
                async let service: Void = MetricsService(metrics, on: clock).run()
                try await clock.waitForSleeper(dueIn: .seconds(10))
                #expect(try limit() == 5)
                bulkhead.setLimit(7)
                trigger.triggerGracefulShutdown()
                await service
            }
            #expect(try limit() == 7)
        }
    }
#endif
