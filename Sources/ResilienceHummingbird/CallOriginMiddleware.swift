#if Hummingbird
    public import Hummingbird
    public import Resilience
    public import ResilienceHTTP

    /// Reads a request's priority and attempt from its fields.
    ///
    /// They travel with its task to the handler's calls through pipelines, and to the bulkhead of an inner
    /// ``ResilienceMiddleware``.
    ///
    /// ```swift
    /// router.add(middleware: CallOriginMiddleware(highest: .high))
    /// router.add(middleware: CallFailureMiddleware())
    /// ```
    ///
    /// So a handler repeats no call for a request that is itself a retry, and tells the client not to retry after its
    /// own retries failed: see ``/Resilience/CallOrigin``.
    public struct CallOriginMiddleware<Context: RequestContext>: RouterMiddleware {
        private let fields: OriginFields
        private let highest: CallPriority

        /// Creates the middleware.
        ///
        /// - Parameters:
        ///   - fields: The names of the fields.
        ///   - highest: The highest priority that a client may ask for; normal by default. A bulkhead gives each
        ///     priority a share, so a client with a lower priority may wait less if few other clients have that
        ///     priority. If strangers could exploit that, read no priority: `OriginFields(priority: nil)`.
        ///   - context: The type of the requests' context. You can leave it out.
        public init(
            fields: OriginFields = .standard, highest: CallPriority = .normal, context: Context.Type = Context.self
        ) {
            self.fields = fields
            self.highest = highest
        }

        /// Answers a request, as Hummingbird calls it.
        ///
        /// - Parameters:
        ///   - request: The request.
        ///   - context: The request's context.
        ///   - next: The inner middleware and the handler.
        /// - Returns: The response.
        /// - Throws: The error of the inner middleware or the handler.
        @concurrent public func handle(
            _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
        ) async throws -> Response {
            let origin = fields.origin(of: request.headers, atMost: highest)
            return try await origin.run { try await next(request, context) }
        }
    }
#endif
