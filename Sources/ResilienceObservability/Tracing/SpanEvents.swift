#if Tracing
    public import Resilience
    import Tracing

    /// An observer that adds the actions of policies to the span of the call: the waits before retries, an open
    /// circuit, a queue.
    ///
    /// ```swift
    /// let pipeline = Pipeline("activities", isIdempotent: true, observers: PolicyObservers(SpanEvents())) {
    ///     Retry()
    ///     breaker
    /// }.traced()
    /// ```
    ///
    /// It adds nothing outside of a call of a traced pipeline. Each span event is named after the policy and the kind
    /// of event, such as `retry.retrying`, and has the same attributes as the metadata of `PolicyLogger`. Events that
    /// the spans already contain are left out: the ends of attempts and calls, and calls that a closed circuit
    /// admitted.
    public struct SpanEvents: PolicyObserver {
        /// Creates the observer.
        public init() {}

        public func receive(_ event: PolicyEvent) {
            if event.detail is Pipeline.Event { return }
            if case .allowed(.closed)? = event.detail as? CircuitBreaker.Event { return }
            guard let span = CallTrace.current?.span, span.isRecording else { return }
            var attributes: SpanAttributes = [:]
            attributes["resilience.policy"] = event.policy.onOneLine
            if let pipeline = event.pipeline { attributes["resilience.pipeline"] = pipeline.onOneLine }
            attributes.set(event.fields)
            span.addEvent(
                SpanEvent(name: "\(event.policy).\(event.detail.kind)".onOneLine, attributes: attributes))
        }
    }
#endif
