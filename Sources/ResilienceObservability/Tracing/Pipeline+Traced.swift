#if Tracing
    public import Resilience
    public import Tracing

    extension Pipeline {
        /// Returns this pipeline, with a span for each call, and a child span for each attempt.
        ///
        /// ```swift
        /// let pipeline = Pipeline("activities", isIdempotent: true) {
        ///     Retry()
        ///     breaker
        /// }.traced()
        /// ```
        ///
        /// The call's span has the pipeline's name, and contains the outcome, the number of attempts and the type of
        /// the error. Its context travels with the task, so spans of the operation or its HTTP client become its
        /// children, even inside of timeouts. A call that a policy rejects is a span without attempts, with an error.
        ///
        /// The policies are the same objects as before, and the pipeline has the same observers. Without a tracer, a
        /// call costs hardly more.
        ///
        /// If a call's task is cancelled, or its deadline has passed, before the call begins, the call has no span.
        /// Work that was admitted with `acquire()` has no span either: begin a span of your own around it.
        ///
        /// - Parameters:
        ///   - tracer: Makes the spans; nil, the default, for the tracer that is current when the call begins.
        ///   - kind: The kind of the attempts' spans. `.internal` by default; `.client` if your client begins no spans
        ///     of its own.
        /// - Returns: The pipeline.
        public func traced(by tracer: (any Tracer)? = nil, attemptKind kind: SpanKind = .internal) -> Pipeline {
            let verdict: @Sendable (any Error) -> Verdict = { [self] in self.verdict(for: $0) }
            let pipeline = TracedPipeline()
            let calls = TracedCalls(tracer: tracer, pipeline: pipeline, verdict: verdict)
            return surrounded(
                by: calls, andOperationBy: TracedAttempts(kind: kind, pipeline: pipeline, verdict: verdict),
                unless: { calls.isIdle })
        }
    }
#endif
