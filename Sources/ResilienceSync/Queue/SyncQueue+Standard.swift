public import Resilience

extension Pipeline {
    /// A pipeline for the requests of a ``SyncQueue``, which does its own pacing and retries.
    ///
    /// Outermost first:
    ///
    /// - `CircuitBreaker`, by the pipeline's name: opens at 5 failures in a row, for 5 s, doubling up to 300 s. While
    ///   it is open, the queue pauses, so an outage costs one request now and then instead of every mutation in turn.
    /// - `Timeout` "request": 30 s. A request that hangs would hold up its entity, and `clear()` and `stop()`. The
    ///   breaker outside of it counts a timeout.
    ///
    /// ```swift
    /// let queue = SyncQueue(
    ///     "outbox", store: store, pipeline: .sync("outbox")
    /// ) { mutation in
    ///     try await client.post(mutation.payload)
    /// }
    /// ```
    ///
    /// It has no retry: the queue sends a mutation again under its own backoff, even after a restart. It has no
    /// throttle: the queue pauses on a 429, and finds the rate that the server allows (`SyncQueueConfiguration.maxRate`
    /// limits it). And it has no bulkhead: see `SyncQueueConfiguration.maxInFlight`.
    ///
    /// - Parameters:
    ///   - name: The name of the pipeline, and of its circuit breaker. "sync" by default.
    ///   - limit: How long a request may take; above 0. 30 seconds by default.
    ///   - classifier: Decides what an error means.
    ///   - observers: The observers of the policies' events; nil for none at first.
    ///   - timeBase: The clock of the pipeline, of its policies and of the queue.
    /// - Returns: The pipeline, with its own policies.
    public static func sync(
        _ name: String = "sync", limit: Duration = .seconds(30), classifier: Classifier = .standard,
        observers: PolicyObservers? = nil, timeBase: any TimeBase = .system
    ) -> Pipeline {
        Pipeline(name, timeBase: timeBase, classifier: classifier, observers: observers) {
            CircuitBreaker(
                name, tripping: .consecutiveFailures(5),
                openFor: .exponential(from: .seconds(5), maxMultiplier: 60, cap: .seconds(300)), timeBase: timeBase)
            Timeout("request", limit: limit)
        }
    }
}
