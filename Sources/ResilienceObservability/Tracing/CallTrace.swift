#if Tracing
    import Resilience
    import Synchronization
    import Tracing

    /// The span of one call, for events inside of the call. It travels with the task, in the service context.
    final class CallTrace: Sendable {
        let tracer: any Tracer
        let span: any Span
        private let pipeline: TracedPipeline
        /// The trace of the enclosing traced pipeline.
        private let outer = CallTrace.current
        private let begun = Atomic(0)

        init(_ span: any Span, by tracer: any Tracer, of pipeline: TracedPipeline) {
            self.tracer = tracer
            self.span = span
            self.pipeline = pipeline
        }

        /// How often the operation has begun.
        var attempts: Int { begun.load(ordering: .relaxed) }

        func attemptBegins() { begun.add(1, ordering: .relaxed) }

        /// The trace of the innermost traced pipeline around this task; nil if there is none.
        static var current: CallTrace? { ServiceContext.current?[CallTraceKey.self] }

        /// The trace of this pipeline's call; nil if the call is not traced.
        static func current(of pipeline: TracedPipeline) -> CallTrace? {
            var trace = current
            while let one = trace, one.pipeline !== pipeline { trace = one.outer }
            return trace
        }
    }

    /// Identifies the pipeline whose calls and attempts are traced.
    final class TracedPipeline: Sendable {}

    enum CallTraceKey: ServiceContextKey {
        typealias Value = CallTrace

        static var nameOverride: String? { "resilience-call" }
    }

    extension SpanAttributes {
        mutating func set(_ fields: EventFields) {
            for field in fields {
                switch field.written {
                case .text(let text): self[field.key] = text
                case .integer(let number): self[field.key] = number
                case .double(let number): self[field.key] = number
                }
            }
        }
    }

    extension Span {
        /// Notes the end of the span's work.
        /// - Parameter failure: The policies' description of the failure, used if the ending has none.
        func note(_ ending: CallEnding, _ failure: FailureDetail?, _ more: (inout SpanAttributes) -> Void) {
            guard isRecording else { return }
            var attributes = self.attributes
            more(&attributes)
            attributes["resilience.outcome"] = ending.outcome
            if let verdict = ending.verdict { attributes["resilience.verdict"] = verdict }
            if let type = ending.errorType { attributes["error.type"] = type }
            if ending.isError, let failure = ending.failure ?? failure ?? ending.error.map({ FailureDetail(of: $0) }) {
                attributes.set(failure.fields)
            }
            self.attributes = attributes
            if let error = ending.error { recordError(error) }
            if ending.isError { setStatus(SpanStatus(code: .error)) }
        }
    }
#endif
