#if Tracing
    import Resilience
    import Tracing

    /// Runs a whole call in a span.
    struct TracedCalls: AroundPolicy {
        let tracer: (any Tracer)?
        let pipeline: TracedPipeline
        let verdict: @Sendable (any Error) -> Verdict

        var name: String { "trace" }
        var description: String { "trace: a span for each call" }

        private var current: any Tracer { tracer ?? InstrumentationSystem.tracer }
        var isIdle: Bool { current is NoOpTracer }

        func around(
            _ call: inout PolicyCall, isolation: isolated (any Actor)?,
            _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
        ) async throws -> Verdict {
            let tracer = current
            if tracer is NoOpTracer { return try await inside(call.deadline) }
            let name = (call.pipeline ?? "call").onOneLine
            let trace = CallTrace(tracer.startSpan(name, ofKind: .internal), by: tracer, of: pipeline)
            var context = trace.span.context
            context[CallTraceKey.self] = trace
            return try await trace.span.run(in: context, &call, verdict, hasBegun: { trace.attempts > 0 }, inside) {
                $0["resilience.pipeline"] = name
                $0["resilience.attempts"] = trace.attempts
            }
        }
    }

    /// Runs each attempt of a call in a span of its own, inside of the call's span.
    struct TracedAttempts: AroundPolicy {
        let kind: SpanKind
        let pipeline: TracedPipeline
        let verdict: @Sendable (any Error) -> Verdict

        var name: String { "trace" }
        var description: String { "trace: a span for each attempt" }

        func around(
            _ call: inout PolicyCall, isolation: isolated (any Actor)?,
            _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
        ) async throws -> Verdict {
            let deadline = call.deadline
            // The trace of this call. Without a tracer there is none; this check is quicker than looking for the
            // tracer.
            guard let trace = CallTrace.current(of: pipeline) else { return try await inside(deadline) }
            trace.attemptBegins()
            let number = call.attempt
            let span: any Span = trace.tracer.startSpan("\((call.pipeline ?? "call").onOneLine) attempt", ofKind: kind)
            return try await span.run(in: span.context, &call, verdict, hasBegun: { true }, inside) {
                $0["resilience.attempt"] = number
                if number > 1 { $0["http.request.resend_count"] = number - 1 }
            }
        }
    }

    extension Span {
        /// Runs the span's work, and notes its end.
        fileprivate nonisolated(nonsending) func run(
            in context: ServiceContext, _ call: inout PolicyCall, _ verdict: (any Error) -> Verdict,
            hasBegun: () -> Bool,
            _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict,
            _ attributes: (inout SpanAttributes) -> Void
        ) async throws -> Verdict {
            defer { end() }
            let deadline = call.deadline
            do {
                let verdict = try await ServiceContext.$current.withValue(context) { try await inside(deadline) }
                note(CallEnding(verdict, hasBegun: hasBegun()), call.failure, attributes)
                return verdict
            } catch {
                note(CallEnding(error, of: &call, verdict(error), hasBegun: hasBegun()), call.failure, attributes)
                throw error
            }
        }
    }
#endif
