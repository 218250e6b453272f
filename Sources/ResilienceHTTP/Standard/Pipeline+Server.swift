public import Resilience

extension Pipeline {
    /// A pipeline for the requests that a server handles, which protects it from overload.
    ///
    /// Outermost first:
    ///
    /// | policy | default | why there, and with this default |
    /// |---|---|---|
    /// | ``/Resilience/Timeout`` "request" | 30 s | the request with its wait: behind most proxies, nobody waits longer |
    /// | ``/Resilience/Throttle``, if there is a rate | none | outside the bulkhead, so that an excess request takes no place in its queue. No request waits for the throttle |
    /// | ``/Resilience/Bulkhead`` | 256 at a time, 256 in the queue for up to 1 s, by priority | an excess request is rejected while its client still waits, and is told when to retry. Among equals the oldest is first |
    ///
    /// ```swift
    /// let requests = Pipeline.server("api")
    /// let response = try await requests.run { try await handle(request) }
    /// ```
    ///
    /// It has no retry, since the client decides that, and no circuit breaker, since a breaker guards a service that
    /// you call: see
    /// ``http(_:total:attempt:maxRetries:budget:rate:concurrency:timeoutsEnforcedBy:classifier:observers:timeBase:)``.
    /// Pipelines inside a handler share its request's deadline, if any: see ``DeadlineField``.
    ///
    /// `concurrency` is the server's highest requests per second times their duration in seconds (Little's law):
    /// measure it, and add some.
    ///
    /// - Parameters:
    ///   - name: The name of the pipeline. "server" by default.
    ///   - limit: How long a request may take, with its wait; above 0. 30 seconds by default.
    ///   - rate: The rate limit on requests; nil, the default, for no limit.
    ///   - concurrency: How many requests are handled at a time; 1 or more. 256 by default.
    ///   - queue: How many requests may wait; 0 or more. 256 by default.
    ///   - maxWait: How long a request may wait; 0 or more. 1 second by default.
    ///   - classifier: Returns the verdict of an error.
    ///   - observers: The observers of the policies' events; nil for none at first.
    ///   - timeBase: The clock of the pipeline and of its policies.
    /// - Returns: The pipeline, with policies of its own.
    public static func server(
        _ name: String = "server", limit: Duration = .seconds(30), rate: ThrottleLimit? = nil, concurrency: Int = 256,
        queue: Int = 256, maxWait: Duration = .seconds(1), classifier: Classifier = .standard,
        observers: PolicyObservers? = nil, timeBase: any TimeBase = .system
    ) -> Pipeline {
        Pipeline(name, timeBase: timeBase, classifier: classifier, observers: observers) {
            Timeout("request", limit: limit)
            if let rate { Throttle(limit: rate, timeBase: timeBase) }
            Bulkhead(limit: concurrency, queue: queue, order: .byPriority, maxWait: maxWait, timeBase: timeBase)
        }
    }
}
