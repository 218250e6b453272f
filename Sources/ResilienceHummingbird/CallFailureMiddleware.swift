#if Hummingbird
    public import Hummingbird
    public import Resilience
    public import ResilienceHTTP

    /// Answers a request for which a call to another service was needed, and failed, with the status that tells so: 502,
    /// 503 or 504, and `Retry-After`.
    ///
    /// ```swift
    /// router.add(middleware: CallFailureMiddleware())
    /// router.get("products") { request, context in
    ///     try await catalog.run { try await client.products() }
    /// }
    /// ```
    ///
    /// Without it, Hummingbird answers 500 to all of them. It translates the errors of pipelines and policies, an
    /// `HTTPStatusError`, `URLError`, and any error that is `VerdictConvertible` or an `UpstreamError`, as
    /// ``/ResilienceHTTP/FailureResponse/init(upstream:)`` says; with ResilienceAsyncHTTPClient, those of its client too. If the
    /// task is cancelled, any error is a 499. It leaves alone what has a response of its own, such as `HTTPError`, and what it
    /// does not know: your own bug stays a 500.
    public struct CallFailureMiddleware<Context: RequestContext>: RouterMiddleware {
        private let isUpstream: @Sendable (any Error) -> Bool
        private let change: FailureResponseChange

        /// Creates the middleware.
        /// - Parameters:
        ///   - context: The type of the requests' context. You can leave it out.
        ///   - isUpstream: Whether an error that it does not know is that of a call to another service: then it
        ///     becomes a 502. By default none is.
        ///   - response: Changes the response. By default it stays as it is.
        public init(
            context: Context.Type = Context.self, isUpstream: @escaping @Sendable (any Error) -> Bool = { _ in false },
            response: @escaping FailureResponseChange = { $1 }
        ) {
            self.isUpstream = isUpstream
            change = response
        }

        /// Answers a request, as Hummingbird calls it.
        /// - Parameters:
        ///   - request: The request.
        ///   - context: The request's context.
        ///   - next: What comes further in, and the handler.
        /// - Returns: The response.
        /// - Throws: What the inside threw, or a ``FailedRequest``.
        @concurrent public func handle(
            _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
        ) async throws -> Response {
            do {
                return try await next(request, context)
            } catch {
                guard let failure = failure(error) else { throw error }
                throw FailedRequest(failure, answer: change(failure, FailureResponse(upstream: failure)))
            }
        }

        /// Returns what the error says of a call; nil if it is not that of a call.
        private func failure(_ error: any Error) -> CallFailure? {
            switch error {
            case is any HTTPResponseError: nil
            // Whatever the error: each client has one of its own for this.
            case _ where Task.isCancelled: .cancelled(error)
            // Made up by the handler.
            case is CancellationError: nil
            case let error as any UpstreamError where error.isUpstream: CallFailure(error)
            case is any PolicyError, is any VerdictConvertible: CallFailure(error)
            default: isUpstream(error) ? CallFailure(error) : nil
            }
        }
    }
#endif
