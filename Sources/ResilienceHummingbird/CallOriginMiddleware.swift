#if Hummingbird
    public import Hummingbird
    public import Resilience
    public import ResilienceHTTP

    /// Takes a request's priority and the number of its attempt from its fields: they travel with its task to every call
    /// that the handler makes through a pipeline, and to the bulkhead of a ``ResilienceMiddleware`` further in.
    ///
    /// ```swift
    /// router.add(middleware: CallOriginMiddleware(highest: .high))
    /// router.add(middleware: CallFailureMiddleware())
    /// ```
    ///
    /// So a handler repeats no call for a request that is itself a retry, and a client is told not to try again where the
    /// handler has done so in vain: see ``/Resilience/CallOrigin``.
    public struct CallOriginMiddleware<Context: RequestContext>: RouterMiddleware {
        private let fields: OriginFields
        private let highest: CallPriority

        /// Creates the middleware.
        /// - Parameters:
        ///   - fields: The names of the fields.
        ///   - highest: The highest priority that a client may ask for; normal by default. A bulkhead gives each priority a
        ///     share. So who steps back may wait less, if hardly anybody else does. Where strangers would make use of that,
        ///     read no priority: `OriginFields(priority: nil)`.
        ///   - context: The type of the requests' context. You can leave it out.
        public init(
            fields: OriginFields = .standard, highest: CallPriority = .normal, context: Context.Type = Context.self
        ) {
            self.fields = fields
            self.highest = highest
        }

        /// Answers a request, as Hummingbird calls it.
        /// - Parameters:
        ///   - request: The request.
        ///   - context: The request's context.
        ///   - next: What comes further in, and the handler.
        /// - Returns: The response.
        /// - Throws: What the inside threw.
        @concurrent public func handle(
            _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
        ) async throws -> Response {
            let origin = fields.origin(of: request.headers, atMost: highest)
            return try await origin.run { try await next(request, context) }
        }
    }
#endif
