#if Hummingbird
    public import Hummingbird
    import Logging
    import NIOCore
    public import Resilience
    public import ResilienceHTTP

    /// If a request's call to another service failed, answers with the matching status: 502, 503 or 504, and
    /// `Retry-After`.
    ///
    /// ```swift
    /// router.add(middleware: CallFailureMiddleware())
    /// router.get("products") { request, context in
    ///     try await catalog.run { try await client.products() }
    /// }
    /// ```
    ///
    /// Without it, Hummingbird answers all such requests with 500. It translates the errors of pipelines and policies,
    /// an `HTTPStatusError`, `URLError`, and any error that is `VerdictConvertible` or an `UpstreamError`, as
    /// ``/ResilienceHTTP/FailureResponse/init(upstream:)`` does; with ResilienceAsyncHTTPClient, also its client's
    /// errors. A `CancellationError`, and any error in a cancelled task, is a 499. It does not change errors with a
    /// response of their own, such as `HTTPError`, or unknown errors: your own bug stays a 500.
    ///
    /// For a `RetriesExhausted` the error of its last attempt counts.
    ///
    /// If a `GET` or a `HEAD` fails with `NIOTooManyBytesError`, the body of another service was too large: that is a
    /// 502. For other methods it may be the client's body, and Hummingbird answers 413.
    ///
    /// If another service failed, the request's logger logs the answer and the error's `FailureDetail` at `info`. The
    /// error's text, which may contain addresses and keys, is logged at `debug`.
    public struct CallFailureMiddleware<Context: RequestContext>: RouterMiddleware {
        private let isUpstream: @Sendable (any Error) -> Bool
        private let change: FailureResponseChange

        /// Creates the middleware.
        ///
        /// - Parameters:
        ///   - context: The type of the requests' context. You can leave it out.
        ///   - isUpstream: Returns whether an unknown error is from a call to another service, and so becomes a 502. By
        ///     default false.
        ///   - response: Changes the response. Unchanged by default.
        public init(
            context: Context.Type = Context.self, isUpstream: @escaping @Sendable (any Error) -> Bool = { _ in false },
            response: @escaping FailureResponseChange = { $1 }
        ) {
            self.isUpstream = isUpstream
            change = response
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
            try await ClientWatch.run(for: context) { try await answer(request, context, next) }
        }

        private func answer(
            _ request: Request, _ context: Context, _ next: @concurrent (Request, Context) async throws -> Response
        ) async throws -> Response {
            do {
                return try await next(request, context)
            } catch {
                let plain = error.withoutFields
                let inner = (plain as? RetriesExhausted)?.lastCause ?? plain
                let isBodyOfOther = request.method == .get || request.method == .head || plain is RetriesExhausted
                guard translates(inner, isBodyOfOther: isBodyOfOther) else {
                    throw plain is RetriesExhausted && inner is any HTTPResponseError ? inner : error
                }
                let failure = Task.isCancelled ? CallFailure.cancelled(plain) : CallFailure(plain)
                let answer = change(failure, FailureResponse(upstream: failure))
                if failure.isOfOther(inner) {
                    context.logger.info("answering \(answer.status): \(answer.reason) (\(FailureDetail(of: inner)))")
                }
                context.logger.debug("answering \(answer.status): \(failure)")
                throw FailedRequest(failure, answer: answer)
            }
        }

        /// Whether the error is from a call, or from a request whose client has disconnected.
        private func translates(_ error: any Error, isBodyOfOther: Bool) -> Bool {
            switch error {
            case is NIOTooManyBytesError where isBodyOfOther: true
            case is any HTTPResponseError: false
            // Any error: each client has its own error for a cancellation.
            case _ where Task.isCancelled: true
            // Even without a cancelled task: see Hummingbird's `consumeWithCancellationOnInboundClose`.
            case is CancellationError, is any PolicyError: true
            default:
                CallFailure.upstreamError(error)?.isUpstream ?? (error is any VerdictConvertible || isUpstream(error))
            }
        }
    }

    extension RetriesExhausted {
        /// The error of the last attempt, even of a retry within the retry.
        fileprivate var lastCause: any Error { (lastError as? RetriesExhausted)?.lastCause ?? lastError }
    }

    extension CallFailure {
        /// Whether another service failed: not for a rejection by this service's policies, or a cancellation.
        fileprivate func isOfOther(_ cause: any Error) -> Bool {
            switch self {
            case .rejected, .cancelled: false
            case .ended, .operation: Classifier.standard.verdict(for: cause).kind != .rejected
            }
        }
    }
#endif
