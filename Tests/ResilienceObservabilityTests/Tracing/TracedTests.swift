#if Tracing
    import InMemoryTracing
    import Resilience
    @testable import ResilienceObservability
    import ResilienceTesting
    import TestSupport
    import Testing
    import Tracing

    @Suite struct TracedTests {
        private let tracer = InMemoryTracer()
        private let clock = ManualClock()

        private func text(_ key: String, _ span: FinishedInMemorySpan) -> String? {
            switch span.attributes[key]?.toSpanAttribute() {
            case .string(let text)?: text
            case .int64(let number)?: "\(number)"
            case .int32(let number)?: "\(number)"
            case let other?: "\(other)"
            case nil: nil
            }
        }

        private var call: FinishedInMemorySpan? { tracer.finishedSpans.last { !$0.operationName.hasSuffix("attempt") } }
        private var attempts: [FinishedInMemorySpan] {
            tracer.finishedSpans.filter { $0.operationName.hasSuffix("attempt") }
        }

        @Test("a call is a span, and each of its attempts is a child span; later attempts have their number")
        func retried() throws {
            let pipeline = Pipeline("x", timeBase: clock) { Retry(backoff: .constant(.seconds(1))) }.traced(by: tracer)
            let fetch = ScriptedOperation<Void, Int>([.failure(Outage()), .failure(Outage())], fallback: .success(7))
            #expect(try clock.run { try await pipeline.run { try await fetch() } } == 7)
            let call = try #require(call)
            #expect(call.operationName == "x" && call.status == nil && call.errors.isEmpty)
            #expect(text("resilience.pipeline", call) == "x" && text("resilience.attempts", call) == "3")
            #expect(text("resilience.outcome", call) == "succeeded" && text("error.type", call) == nil)
            #expect(attempts.map(\.operationName) == ["x attempt", "x attempt", "x attempt"])
            #expect(attempts.allSatisfy { $0.parentSpanID == call.spanID && $0.traceID == call.traceID })
            #expect(attempts.map { text("http.request.resend_count", $0) } == [nil, "1", "2"])
            #expect(attempts.map { text("error.type", $0) } == ["Outage", "Outage", nil])
            #expect(attempts.map { $0.status?.code } == [.error, .error, nil])
        }

        @Test("a call that an open circuit rejects is a span with an error and without attempts")
        func rejected() async throws {
            let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
            try breaker.tryAcquire().complete(.transient)
            let pipeline = Pipeline("x") { breaker }.traced(by: tracer)
            await #expect(throws: CircuitOpen.self) { try await pipeline.run { 1 } }
            let call = try #require(call)
            #expect(attempts.isEmpty && text("resilience.attempts", call) == "0")
            #expect(text("resilience.outcome", call) == "rejected" && text("error.type", call) == "CircuitOpen")
            #expect(call.status?.code == .error && call.errors.count == 1)
        }

        @Test("a result that means failure is a failed call, with its verdict")
        func judged() async throws {
            let pipeline = Pipeline("x", timeBase: clock) {}.traced(by: tracer)
            _ = try await pipeline.run(judging: { _ in .permanent }) { 404 }
            let call = try #require(call)
            #expect(text("resilience.outcome", call) == "failed" && text("error.type", call) == "permanent")
            #expect(call.status?.code == .error && call.errors.isEmpty)
        }

        @Test("the pipeline's classifier decides the meaning of an error")
        func classified() async throws {
            let pipeline = Pipeline("x", classifier: Classifier { $0 is Outage ? .cancelled : nil }) {}.traced(
                by: tracer)
            await #expect(throws: Outage.self) { try await pipeline.run { throw Outage() } }
            let call = try #require(call)
            #expect(text("resilience.outcome", call) == "cancelled" && call.status == nil && call.errors.isEmpty)
        }

        @Test("the context reaches the operation through a timeout's task, and the caller's span is the parent")
        func context() async throws {
            let pipeline = Pipeline("x") {
                Timeout(limit: .seconds(60))
                Retry()
                Timeout(limit: .seconds(60))
            }.traced(by: tracer)
            let tracer = tracer
            let (inner, outer) = try await tracer.withSpan("request") { request in
                let inner = try await pipeline.run { tracer.withSpan("query") { $0.spanContext } }
                return (inner, request.spanContext)
            }
            let call = try #require(tracer.finishedSpans.first { $0.operationName == "x" })
            let attempt = try #require(attempts.first)
            #expect(inner.parentSpanID == attempt.spanID && attempt.parentSpanID == call.spanID)
            #expect(call.parentSpanID == outer.spanID && inner.traceID == outer.traceID)
        }

        @Test("a call that ends at its deadline has failed, and was not cancelled")
        func deadline() throws {
            let clock = clock
            let classifier = Classifier { $0 is CancellationError ? .cancelled : nil }
            let pipeline = Pipeline("x", timeBase: clock, classifier: classifier) {}.traced(by: tracer)
            #expect(throws: TimedOut.self) {
                try clock.run {
                    try await pipeline.run(options: RunOptions(deadline: clock.now + .seconds(5))) {
                        try await clock.sleep(for: .seconds(60))
                    }
                }
            }
            let call = try #require(call)
            #expect(text("resilience.outcome", call) == "failed" && text("error.type", call) == "TimedOut")
        }

        @Test("a call that times out has the timeout's error in its span")
        func timedOut() throws {
            let clock = clock
            let pipeline = Pipeline("x", timeBase: clock) { Timeout(limit: .seconds(5)) }.traced(by: tracer)
            #expect(throws: TimedOut.self) {
                try clock.run { try await pipeline.run { try await clock.sleep(for: .seconds(60)) } }
            }
            #expect(call.flatMap { text("error.type", $0) } == "TimedOut")
            #expect(tracer.activeSpans.isEmpty)
        }

        @Test("a cancelled call is marked as cancelled, and not as an error")
        func cancelled() throws {
            let clock = clock
            let pipeline = Pipeline("x", timeBase: clock) { Retry() }.traced(by: tracer)
            try clock.run {
                let task = Task { try await pipeline.run { try await clock.sleep(for: .seconds(60)) } }
                await clock.runUntilIdle()
                task.cancel()
                _ = try? await task.value
            }
            let call = try #require(call)
            #expect(text("resilience.outcome", call) == "cancelled" && call.status == nil && call.errors.isEmpty)
            #expect(tracer.activeSpans.isEmpty)
        }

        @Test("without a tracer there is no span; a task's tracer is used")
        func ambient() async throws {
            let pipeline = Pipeline("x") { Retry() }.traced()
            #expect(try await pipeline.run { 1 } == 1)
            #expect(try await withTracer(tracer) { try await pipeline.run { 2 } } == 2)
            #expect(tracer.finishedSpans.count == 2)
        }

        @Test("an inner pipeline without a tracer counts nothing into its caller's span")
        func nested() async throws {
            let inner = Pipeline("inner") {}.traced()
            try await Pipeline("outer") {}.traced(by: tracer).run {
                for _ in 0..<2 {
                    try await inner.open { _ in
                    } holding: {
                        $1.complete(.success)
                    }
                    try await inner.runHedged {}
                }
            }
            #expect(tracer.finishedSpans.map(\.operationName) == ["outer attempt", "outer"])
            let call = try #require(call)
            #expect(text("resilience.attempts", call) == "1")
        }

        @Test("a traced pipeline has the same policies and observers, and can be traced twice")
        func same() async throws {
            let recorder = EventRecorder()
            let breaker = CircuitBreaker(timeBase: clock)
            let plain = Pipeline("x", observers: PolicyObservers(recorder)) { breaker }
            let traced = plain.traced(by: tracer).traced(by: tracer)
            #expect(traced.circuitBreakers.first === breaker && traced.warnings.isEmpty && traced.name == "x")
            #expect(traced.observers === plain.observers && traced.timeBase === clock)
            _ = try await traced.run { 1 }
            #expect(recorder.count(Pipeline.Event.self) == 2)
            #expect(tracer.finishedSpans.count == 4)
        }

        @Test("the operation runs in the caller's isolation")
        @MainActor func isolation() async throws {
            var count = 0
            let pipeline = Pipeline("x") {}.traced(by: tracer)
            try await pipeline.run {
                MainActor.assertIsolated()
                count += 1
            }
            #expect(count == 1)
        }

        @Test("an attempt number continues from an earlier call, and the kind of attempts can be chosen")
        func resumed() async throws {
            let pipeline = Pipeline("x") { Retry() }.traced(by: tracer, attemptKind: .client)
            try await pipeline.run(options: RunOptions(firstAttempt: 3)) {}
            let attempt = try #require(attempts.first)
            #expect(text("http.request.resend_count", attempt) == "2" && attempt.kind == .client)
        }

        @Test("in a burst, each attempt belongs to its own call")
        func volley() async throws {
            let pipeline = Pipeline("x") { Retry(backoff: .none) }.traced(by: tracer)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        let first = Locked(true)
                        try? await pipeline.run { if first.withLock({ $0.exchange(false) }) { throw Outage() } }
                    }
                }
            }
            let parents = Dictionary(grouping: attempts, by: \.parentSpanID)
            #expect(parents.count == 50 && parents.values.allSatisfy { $0.count == 2 })
        }

        @Test("a name from outside never breaks a span")
        func hostile() async throws {
            try await Pipeline("a\nb") {}.traced(by: tracer).run {}
            #expect(call?.operationName == "a\\nb")
        }

        @Test("policies' events appear in the call's span, except those that the spans already show")
        func events() throws {
            let pipeline = Pipeline("x", timeBase: clock, observers: PolicyObservers(SpanEvents())) {
                Retry(maxRetries: 1, backoff: .constant(.seconds(2)))
                CircuitBreaker("breaker", tripping: .consecutiveFailures(2), timeBase: clock)
            }.traced(by: tracer)
            try clock.run { _ = try? await pipeline.run { throw Outage() } }
            let events = try #require(call).events
            #expect(
                events.map(\.name) == [
                    "breaker.failure", "retry.retrying", "breaker.failure", "breaker.opened", "retry.gaveUp",
                ])
            #expect(events[1].attributes["resilience.wait_ms"]?.toSpanAttribute() == .double(2_000))
            #expect(events[1].attributes["resilience.policy"]?.toSpanAttribute() == .string("retry"))
        }

        @Test("outside a traced call, events have no span")
        func outside() async throws {
            let pipeline = Pipeline("x", observers: PolicyObservers(SpanEvents())) { Retry() }
            try await withTracer(tracer) { try await pipeline.run {} }
            #expect(tracer.finishedSpans.isEmpty)
        }
    }

    extension Bool {
        fileprivate mutating func exchange(_ new: Bool) -> Bool {
            defer { self = new }
            return self
        }
    }
#endif
