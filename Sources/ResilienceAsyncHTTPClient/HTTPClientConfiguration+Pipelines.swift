#if AsyncHTTPClient
    public import AsyncHTTPClient
    import NIOCore
    import Resilience

    extension HTTPClient.Configuration {
        /// The default configuration, without the retries and limits that a pipeline handles better.
        ///
        /// ```swift
        /// let client = HTTPClient(configuration: .forPipelines())
        /// ```
        ///
        /// - If nothing listens, the client does not retry: the attempt fails at once, the pipeline repeats it, and its
        ///   circuit breaker counts it. By default the client retries until its connect timeout, which is longer than
        ///   most attempts, and the call seems to have timed out.
        /// - Connecting fails after half of an attempt's time, or 3 seconds if that is shorter: nothing was sent, so
        ///   any request may be repeated.
        /// - The bulkhead limits the requests. The client has a connection for each. By default it has 8 for each host,
        ///   and the wait for a connection is part of an attempt.
        ///
        /// - Parameters:
        ///   - attempt: How long an attempt may take; above 0. 10 seconds by default, as in `Pipeline.http`.
        ///   - concurrency: The largest number of HTTP/1 connections to each host; 1 or more. 1,000 by default, like
        ///     the bulkhead of `Pipeline.http`. It should not be below the limit of any pipeline's bulkhead.
        /// - Returns: The configuration. Change it as you like.
        public static func forPipelines(
            attempt: Duration = .seconds(10), concurrency: Int = 1_000
        ) -> HTTPClient.Configuration {
            let checks = SettingChecks("HTTPClient.Configuration")
            let longest = min(.seconds(3), checks.aboveZero(attempt, "attempt") / 2)
            var configuration = HTTPClient.Configuration()
            configuration.timeout.connect = .nanoseconds(max(1, longest.saturatedNanoseconds))
            configuration.connectionPool.retryConnectionEstablishment = false
            configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
                checks.atLeast(1, concurrency, "concurrency")
            return configuration
        }
    }
#endif
