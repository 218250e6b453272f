#if Logging && Metrics && Tracing
    import CoreMetrics
    import Foundation
    import InMemoryLogging
    import InMemoryTracing
    import Logging
    import MetricsTestKit
    import Resilience
    import ResilienceObservability
    import ResilienceTesting
    import TestSupport
    import Testing
    import Tracing

    private struct StoreError: Error { let number = 7 }

    extension StoreError: FailureDescribing {
        var failureDetail: FailureDetail { FailureDetail("StoreError", code: "\(number)") }
    }

    /// The code of the guide and of the module's landing page.
    @Suite struct LogsMetricsTracesGuideExamples {
        private let breaker = CircuitBreaker("breaker")

        @Test("the guide's log stays empty without trouble") func logs() async throws {
            let handler = InMemoryLogHandler()
            let logger = Logger(label: "app") { _ in handler }
            let log = PolicyLogger(logger)
            let pipeline = Pipeline("activities", isIdempotent: true, observers: PolicyObservers(log)) {
                Retry()
                breaker
            }
            try await pipeline.run {}
            #expect(handler.entries.isEmpty)
        }

        @Test("the guide's error shows its code") func failures() {
            #expect("\(FailureDetail(of: StoreError()))" == "StoreError 7")
        }

        @Test("the guide's closure sets levels") func levels() {
            let logger = Logger(label: "app") { _ in InMemoryLogHandler() }
            let log = PolicyLogger(logger) { event in
                switch event.detail.kind {
                case "opened": .error
                case "allowed": nil
                default: PolicyLogger.standardLevel(of: event)
                }
            }
            log.flush()
        }

        @Test("the guide's metrics count a call") func metrics() async throws {
            let backend = TestMetrics()
            try await withMetricsFactory(backend) {
                let metrics = ResilienceMetrics()
                let pipeline = Pipeline("activities", isIdempotent: true, observers: PolicyObservers(metrics)) {
                    Retry()
                    breaker
                }
                metrics.watch { pipeline }
                let sampling = Task { await metrics.run(every: .seconds(10)) }
                try await pipeline.run {}
                sampling.cancel()
                await sampling.value
            }
            #expect(backend.counterTotal(label: "resilience_calls_total") == 1)
        }

        @Test("the guide's tracing makes two spans") func traces() async throws {
            let tracer = InMemoryTracer()
            try await withTracer(tracer) {
                let pipeline = Pipeline("activities", isIdempotent: true, observers: PolicyObservers(SpanEvents())) {
                    Retry()
                    breaker
                }.traced()
                try await pipeline.run {}
            }
            #expect(tracer.finishedSpans.count == 2)
        }

        @Test("the lines of Integrations.md for swift-log and swift-distributed-tracing") func readme() async throws {
            let (handler, tracer) = (InMemoryLogHandler(), InMemoryTracer())
            var logger = Logger(label: "app") { _ in handler }
            logger.logLevel = .trace
            let observers = PolicyObservers(PolicyLogger(logger))
            let pipeline = Pipeline("activities", observers: observers) { breaker }
            try await withTracer(tracer) {
                let traced = pipeline.traced()
                try await traced.run {}
            }
            #expect(!handler.entries.isEmpty)
            #expect(tracer.finishedSpans.count == 2)
        }

        @Test("these tests contain the guide's code", arguments: ["LogsMetricsTracesGuide", "ResilienceObservability"])
        func compiled(page: String) throws {
            let folder = repository.appending(path: "Sources/ResilienceObservability/ResilienceObservability.docc")
            let text = try String(contentsOf: folder.appending(path: "\(page).md"), encoding: .utf8)
            let own = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
            let compiled = Set(own.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) })
            let blocks = text.components(separatedBy: "```swift\n").dropFirst()
            let lines = blocks.flatMap { $0.components(separatedBy: "\n```")[0].split(separator: "\n") }
                .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty && !$0.hasPrefix("//") }
            #expect(!lines.isEmpty)
            for line in lines { #expect(compiled.contains(line), "\(line)") }
        }
    }
#endif
