#if AsyncHTTPClient
    public import AsyncHTTPClient
    import NIOCore
    import Resilience

    extension HTTPClient.Configuration {
        /// The default configuration, but without the repetitions and limits that a pipeline does better.
        ///
        /// ```swift
        /// let client = HTTPClient(configuration: .forPipelines())
        /// ```
        ///
        /// - The client does not try again by itself if nothing listens: the attempt fails at once, the pipeline
        ///   repeats it, and its circuit breaker learns of it. By default the client tries until its connect timeout,
        ///   which is longer than most attempts, and the call seems to have timed out.
        /// - A connection attempt is given up after half of an attempt, and after 3 seconds: the request was not
        ///   sent, so that any may be repeated.
        /// - The bulkhead limits the requests. The client has a connection for each; by default it has 8 for each
        ///   host, and a request's wait for one of these is part of its attempt.
        ///
        /// - Parameters:
        ///   - attempt: How long an attempt may take; above 0. 10 seconds by default, as in `Pipeline.http`.
        ///   - concurrency: How many connections of HTTP/1 there may be to each host; 1 or more. 1,000 by default, as the
        ///     bulkhead of `Pipeline.http`. It should not be below the limit of any pipeline's bulkhead.
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
