#if AsyncHTTPClient
    public import AsyncHTTPClient
    public import Logging
    public import NIOCore
    import NIOHTTP1
    public import Resilience
    import ResilienceHTTP

    extension HTTPClient {
        /// Returns a client that sends each request through a pipeline.
        ///
        /// ```swift
        /// let client = HTTPClient.shared.resilient(pipeline)
        /// let request = HTTPClientRequest(url: "https://example.com/activities")
        /// let response = try await client.execute(request, timeout: .seconds(5))
        /// ```
        ///
        /// - Parameters:
        ///   - pipeline: The policies.
        ///   - settings: Further settings of the client; by default none.
        /// - Returns: The client. It is a value: make one where you need it, or keep it.
        public func resilient(
            _ pipeline: Pipeline, settings: ResilientHTTPClient.Settings = ResilientHTTPClient.Settings()
        ) -> ResilientHTTPClient {
            ResilientHTTPClient(self, pipeline: pipeline, settings: settings)
        }
    }

    /// An `HTTPClient` that sends each request through a pipeline.
    ///
    /// Use it like the client itself:
    ///
    /// ```swift
    /// let client = HTTPClient.shared.resilient(pipeline)
    /// let request = HTTPClientRequest(url: "https://example.com/activities")
    /// let response = try await client.execute(request, timeout: .seconds(5))
    /// ```
    ///
    /// - After an error or a failure response, the pipeline decides whether to repeat the request. When attempts run
    ///   out, the last response is returned, or the last error thrown.
    /// - A request that may have had an effect is repeated only if its method is idempotent, or it has an
    ///   `Idempotency-Key` field.
    /// - A request whose body can be read only once is not repeated after it was sent: see
    ///   ``execute(_:deadline:options:body:logger:)``.
    /// - A `Hedge` in the pipeline copies requests that may be repeated; losing copies are cancelled, and their
    ///   connections are closed.
    /// - A call keeps its place in the pipeline's bulkheads until the body of its response has ended.
    /// - A pipeline that admits more calls than the client has connections for a host reports that once, as a
    ///   ``ConnectionPoolEvent``: see `HTTPClient.Configuration.forPipelines(attempt:concurrency:)`.
    /// - The deadline of a call reaches the client, so a `ClientTimeout` in the pipeline suffices; a `Timeout` would
    ///   cost a child task.
    ///
    /// See <doc:AsyncHTTPClientGuide>.
    public struct ResilientHTTPClient: Sendable {
        /// The client that sends the requests.
        public let client: HTTPClient
        /// The policies.
        public let pipeline: Pipeline
        /// The client's further settings.
        public let settings: Settings
        /// Ends the reading of a body at its deadline.
        let reading: BodyTimer

        /// Creates a client.
        ///
        /// - Parameters:
        ///   - client: The client that sends the requests. You shut it down.
        ///   - pipeline: The policies.
        ///   - settings: Further settings of the client; by default none.
        public init(_ client: HTTPClient, pipeline: Pipeline, settings: Settings = Settings()) {
            self.client = client
            self.pipeline = pipeline
            self.settings = settings
            reading = BodyTimer.on(pipeline.timeBase)
            ConnectionPoolCheck.tell(client, pipeline)
        }

        /// Sends a request through the pipeline, within a time.
        ///
        /// - Parameters:
        ///   - request: The request.
        ///   - timeout: How long the call may take, with all its attempts and waits; see
        ///     ``Settings/endsBodyAtDeadline`` for the body. A call with a timeout of 0 or less is rejected.
        ///   - options: The options of the call.
        ///   - body: Makes the body of each attempt, in place of the request's; nil, the default, for the request's
        ///     own.
        ///   - logger: The logger of the request.
        /// - Returns: The response of the last attempt.
        /// - Throws: As ``execute(_:deadline:options:body:logger:)``.
        public nonisolated(nonsending) func execute(
            _ request: HTTPClientRequest, timeout: TimeAmount, options: RunOptions = RunOptions(),
            body: (@Sendable () throws -> HTTPClientRequest.Body)? = nil, logger: Logger? = nil
        ) async throws -> HTTPClientResponse {
            try await execute(request, deadline: .now() + timeout, options: options, body: body, logger: logger)
        }

        /// Sends a request through the pipeline, until a deadline.
        ///
        /// The earliest deadline counts: this one, the one in `options`, or the `CallDeadline` that travels with the
        /// task.
        ///
        /// A body made from a `ByteBuffer`, or from a collection of at most 4 MB, is sent again with each attempt. A
        /// streamed body can be read only once: after an attempt that may have read it, nothing is repeated, and its
        /// response is returned or its error is thrown. Attempts that did not reach the server are still repeated. To
        /// repeat a streamed body, make it for each attempt:
        ///
        /// ```swift
        /// let response = try await client.execute(
        ///     request, timeout: .seconds(30), body: { .stream(file.chunks(), length: .unknown) })
        /// ```
        ///
        /// - Parameters:
        ///   - request: The request.
        ///   - deadline: When the call must have ended, with all its attempts and waits; none by default. See
        ///     ``Settings/endsBodyAtDeadline`` for the body. A call whose deadline has come is rejected.
        ///   - options: The options of the call.
        ///   - body: Makes the body of each attempt, in place of the request's; nil, the default, for the request's
        ///     own.
        ///   - logger: The logger of the request.
        /// - Returns: The response of the last attempt. Read its body, or release it: the connection and the call's
        ///   place in the policies are kept until then.
        /// - Throws: The client's error in the last attempt, or an ``ExchangeFailed`` if the error is not the
        ///   client's own and the body is not streamed; an error of a policy or of the pipeline, such as `CircuitOpen`
        ///   or `TimedOut`; ``NoFreeConnection``; `DeadlinePassed` if the deadline comes before the first attempt;
        ///   `CancellationError` if the task is cancelled.
        public nonisolated(nonsending) func execute(
            _ request: HTTPClientRequest, deadline: NIODeadline = .distantFuture, options: RunOptions = RunOptions(),
            body: (@Sendable () throws -> HTTPClientRequest.Body)? = nil, logger: Logger? = nil
        ) async throws -> HTTPClientResponse {
            var options = options
            options.deadline = min(options.deadline, pipeline.timeBase.instant(deadline))
            let call = ClientCall(self, request, options, makeBody: body, logger)
            let (judge, settings) = (call.judge, settings)
            let exchange = try await pipeline.openHedged(
                copying: call.mayBeCopied, options: call.options, judging: { $0.verdict },
                judgingErrors: { call.verdict(for: $0) },
                describing: { FailureDetail(of: $0).at(HTTPClientRequest.host(of: request.url)) },
                { attempt in try await call.exchange(attempt) },
                holding: { exchange, permit in exchange.held(by: permit, judge, settings) })
            return exchange.response
        }
    }
#endif
