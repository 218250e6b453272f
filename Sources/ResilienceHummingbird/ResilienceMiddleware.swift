#if Hummingbird
    public import Hummingbird
    public import Resilience
    import ResilienceHTTP

    /// Guards the handlers of a server by a pipeline: limits how many requests are served concurrently, how many wait,
    /// and for how long.
    ///
    /// ```swift
    /// let serving = Pipeline("serving") {
    ///     Bulkhead(limit: 64, queue: 256, maxWait: .seconds(2))
    /// }
    /// router.add(middleware: ResilienceMiddleware(serving))
    /// ```
    ///
    /// A request that a policy rejects is answered with 503, 504 or 429, and `Retry-After`; the handler does not run.
    ///
    /// A request holds its permits until **its response's body has been written**, or its client has disconnected: a
    /// handler returns long before a large file or a stream of events is sent. A client that reads slowly holds its
    /// permit until then; `bodyLimit` limits that time.
    ///
    /// The policies see a response of 500 or above as a failure, and any other as a success, even a 404. They don't
    /// count a request whose client disconnects, or whose deadline from an outer ``CallDeadlineMiddleware`` passes: a
    /// client can ask for too little time.
    ///
    /// A ``/Resilience/Timeout`` of the pipeline cancels the handler, and the request is answered with 504. If it is
    /// the pipeline's first policy, its limit includes the wait for the other policies; further in, it limits only the
    /// handler. A retry has no effect: a request's body can be read only once. The deadline of
    /// [ClientTimeout](<doc:/Resilience/ClientTimeout>) travels with the handler's task, to the handler's pipelines.
    public struct ResilienceMiddleware<Context: RequestContext>: RouterMiddleware {
        private let choose: @Sendable (Request, Context) -> ServingPipeline?
        private let options: @Sendable (Request, Context) -> RunOptions
        private let judge: @Sendable (Response) -> Verdict
        private let bodyLimit: Duration?
        private let limitsClient: Bool
        private let change: FailureResponseChange

        /// Creates middleware that guards all requests by one pipeline.
        ///
        /// A throttle of the pipeline limits the whole service, so its rejections are answered with 503. To limit each
        /// client, use ``ThrottleMiddleware``, or a pipeline for each client.
        /// - Parameters:
        ///   - pipeline: The pipeline.
        ///   - bodyLimit: How long writing a response's body may take, above 0; then the connection is closed. nil, the
        ///     default, for no limit.
        ///   - options: Returns the options for a request, such as its priority. By default none.
        ///   - judge: Returns the verdict of a response for the policies. By default 500 and above is transient, any
        ///     other status a success.
        ///   - response: Changes the response to a rejected request. Unchanged by default.
        public init(
            _ pipeline: Pipeline, bodyLimit: Duration? = nil,
            options: @escaping @Sendable (Request, Context) -> RunOptions = { _, _ in RunOptions() },
            judging judge: @escaping @Sendable (Response) -> Verdict = { $0.status.code < 500 ? .success : .transient },
            response: @escaping FailureResponseChange = { $1 }
        ) {
            let serving = ServingPipeline(pipeline)
            self.init(bodyLimit, options, judge, response, limitsClient: false) { _, _ in serving }
        }

        /// Creates middleware that guards each request by the pipeline of its client, tenant or route, from a registry.
        ///
        /// ```swift
        /// ResilienceMiddleware { request, context in tenants[context.tenant] }
        /// ```
        ///
        /// A throttle's rejections in such a pipeline are answered with 429. A registry keeps every key in use: see
        /// <doc:ResilienceHummingbird> before you let clients choose the keys.
        /// - Parameters:
        ///   - bodyLimit: How long writing a response's body may take, above 0; then the connection is closed. nil, the
        ///     default, for no limit.
        ///   - options: Returns the options for a request, such as its priority. By default none.
        ///   - judge: Returns the verdict of a response for the policies. By default 500 and above is transient, any
        ///     other status a success.
        ///   - response: Changes the response to a rejected request. Unchanged by default.
        ///   - pipeline: Returns the pipeline of a request; nil if the handler runs unguarded.
        public init(
            bodyLimit: Duration? = nil,
            options: @escaping @Sendable (Request, Context) -> RunOptions = { _, _ in RunOptions() },
            judging judge: @escaping @Sendable (Response) -> Verdict = { $0.status.code < 500 ? .success : .transient },
            response: @escaping FailureResponseChange = { $1 },
            pipeline: @escaping @Sendable (Request, Context) -> Pipeline?
        ) {
            self.init(bodyLimit, options, judge, response, limitsClient: true) { request, context in
                pipeline(request, context).map(ServingPipeline.init)
            }
        }

        private init(
            _ bodyLimit: Duration?, _ options: @escaping @Sendable (Request, Context) -> RunOptions,
            _ judge: @escaping @Sendable (Response) -> Verdict, _ change: @escaping FailureResponseChange,
            limitsClient: Bool, choose: @escaping @Sendable (Request, Context) -> ServingPipeline?
        ) {
            let checks = SettingChecks("ResilienceMiddleware")
            self.bodyLimit = bodyLimit.map { checks.aboveZero($0, "bodyLimit") }
            self.options = options
            self.judge = judge
            self.change = change
            self.limitsClient = limitsClient
            self.choose = choose
        }

        /// Answers a request, as Hummingbird calls it.
        ///
        /// - Parameters:
        ///   - request: The request.
        ///   - context: The request's context.
        ///   - next: The inner middleware and the handler.
        /// - Returns: The response.
        /// - Throws: The error of the inner middleware or the handler, or a ``FailedRequest``.
        @concurrent public func handle(
            _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
        ) async throws -> Response {
            guard let serving = choose(request, context) else { return try await next(request, context) }
            return try await ClientWatch.run(for: context) { try await serve(request, context, serving, next) }
        }

        private func serve(
            _ request: Request, _ context: Context, _ serving: ServingPipeline,
            _ next: @concurrent (Request, Context) async throws -> Response
        ) async throws -> Response {
            let stay = Stay()
            do {
                var response = try await serving.serve(stay, options(request, context)) {
                    try await next(request, context)
                }
                let verdict = judge(response)
                let failure = verdict.kind == .success ? nil : response.failureDetail
                if request.method == .head || response.body.contentLength == 0 {
                    stay.end(verdict, failure: failure)
                } else {
                    let limit = bodyLimit.map { serving.limit(ofBody: $0) }
                    response.body = response.body.holding(
                        stay, verdict: verdict, failure: failure, in: serving.pipeline, limit: limit,
                        connection: ClientWatch.connection(of: context))
                }
                return response
            } catch let error as HandlerError {
                stay.end(CallFailure.verdict(of: error.base, in: serving.pipeline), error: error.base)
                throw error.base
            } catch {
                let isDeadline = CallFailure.isDeadline(error)
                stay.end(isDeadline ? .cancelled : serving.pipeline.verdict(for: error), error: error)
                let failure = CallFailure(error)
                let answer = FailureResponse(rejecting: failure, limitsClient: limitsClient)
                throw FailedRequest(failure, answer: change(failure, answer))
            }
        }
    }

    /// Wraps the handler's error, so that it is not mistaken for a rejection.
    struct HandlerError: Error {
        let base: any Error
    }
#endif
