#if Tracing
    import Resilience
    import Tracing

    /// Runs a whole call in a span.
    struct TracedCalls: AroundPolicy {
        let tracer: (any Tracer)?
        let verdict: @Sendable (any Error) -> Verdict

        var name: String { "trace" }
        var description: String { "trace: a span for each call" }

        func around(
            _ call: inout PolicyCall, isolation: isolated (any Actor)?,
            _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
        ) async throws -> Verdict {
            let tracer = self.tracer ?? InstrumentationSystem.tracer
            let deadline = call.deadline
            if tracer is NoOpTracer { return try await inside(deadline) }
            let name = (call.pipeline ?? "call").onOneLine
            let trace = CallTrace(tracer.startSpan(name, ofKind: .internal), by: tracer)
            let span = trace.span
            defer { span.end() }
            var context = span.context
            context[CallTraceKey.self] = trace
            func note(_ ending: CallEnding, _ call: borrowing PolicyCall) {
                var ending = ending
                ending.failure = ending.failure ?? call.failure
                span.note(ending) { attributes in
                    attributes["resilience.pipeline"] = name
                    attributes["resilience.attempts"] = trace.attempts
                }
            }
            do {
                let verdict = try await ServiceContext.$current.withValue(context) { try await inside(deadline) }
                note(CallEnding(verdict, hasBegun: trace.attempts > 0), call)
                return verdict
            } catch {
                note(CallEnding(error, of: &call, verdict(error), hasBegun: trace.attempts > 0), call)
                throw error
            }
        }
    }

    /// Runs each attempt of a call in a span of its own, inside of the call's.
    struct TracedAttempts: AroundPolicy {
        let kind: SpanKind
        let verdict: @Sendable (any Error) -> Verdict

        var name: String { "trace" }
        var description: String { "trace: a span for each attempt" }

        func around(
            _ call: inout PolicyCall, isolation: isolated (any Actor)?,
            _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
        ) async throws -> Verdict {
            let deadline = call.deadline
            // The call's own: without a tracer there is none, which is quicker to see than that there is no tracer.
            guard let trace = CallTrace.current else { return try await inside(deadline) }
            trace.attemptBegins()
            let number = call.attempt
            let span: any Span = trace.tracer.startSpan("\((call.pipeline ?? "call").onOneLine) attempt", ofKind: kind)
            defer { span.end() }
            func note(_ ending: CallEnding, _ call: borrowing PolicyCall) {
                var ending = ending
                ending.failure = ending.failure ?? call.failure
                span.note(ending) { attributes in
                    attributes["resilience.attempt"] = number
                    if number > 1 { attributes["http.request.resend_count"] = number - 1 }
                }
            }
            do {
                let verdict = try await ServiceContext.$current.withValue(span.context) { try await inside(deadline) }
                note(CallEnding(verdict, hasBegun: true), call)
                return verdict
            } catch {
                note(CallEnding(error, of: &call, verdict(error), hasBegun: true), call)
                throw error
            }
        }
    }
#endif
