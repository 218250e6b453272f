#if Hummingbird
    public import HTTPTypes
    public import Hummingbird
    import NIOCore
    public import Resilience
    public import ResilienceHTTP

    /// Changes the default response to a failed request: its status, its text, or whether it has a body.
    ///
    /// ```swift
    /// ThrottleMiddleware(
    ///     limit: .perMinute(100),
    ///     response: { _, response in
    ///         var response = response
    ///         response.detail = "See https://example.com/limits"
    ///         return response
    ///     }
    /// ) { request, context in context.user?.id }
    /// ```
    public typealias FailureResponseChange = @Sendable (CallFailure, FailureResponse) -> FailureResponse

    /// A request that could not be served: this module's middleware throws it, and Hummingbird turns it into its
    /// response.
    ///
    /// It is an error for outer middleware: metrics count it, traces record it, and CORS adds its fields. Its
    /// description has the error's own text, for your log; the response does not.
    public struct FailedRequest: HTTPResponseError, VerdictConvertible, CustomStringConvertible {
        /// Why the request could not be served.
        public let failure: CallFailure
        /// The response to the client.
        public let answer: FailureResponse

        /// Creates the error.
        ///
        /// - Parameters:
        ///   - failure: Why the request could not be served.
        ///   - answer: The response to the client.
        public init(_ failure: CallFailure, answer: FailureResponse) {
            self.failure = failure
            self.answer = answer
        }

        public var status: HTTPResponse.Status { answer.httpStatus }

        /// The verdict of the failure, so that an outer pipeline does not count an inner pipeline's rejection.
        public var verdict: Verdict { Classifier.standard.verdict(for: failure.error) }

        public var description: String { "\(answer.status) \(answer.reason): \(failure)" }

        /// Returns the response.
        ///
        /// - Parameters:
        ///   - request: The request.
        ///   - context: The request's context.
        /// - Returns: The response.
        public func response(from request: Request, context: some RequestContext) -> Response {
            let problem = answer.problem
            var response = Response(
                status: status, headers: answer.httpFields,
                body: problem.isEmpty ? ResponseBody() : ResponseBody(byteBuffer: ByteBuffer(string: problem)))
            // HEAD gets the fields that another method gets with the body (RFC 9110 §9.3.2).
            if request.method == .head { response = response.createHeadResponse() }
            return response
        }
    }

    /// An error whose response has further fields.
    struct ErrorWithFields: HTTPResponseError, CustomStringConvertible {
        let base: any HTTPResponseError
        let fields: HTTPFields

        /// The error without any further fields.
        var origin: any HTTPResponseError { (base as? ErrorWithFields)?.origin ?? base }

        var status: HTTPResponse.Status { base.status }
        var description: String { "\(base)" }

        func response(from request: Request, context: some RequestContext) throws -> Response {
            var response = try base.response(from: request, context: context)
            response.headers.append(contentsOf: fields)
            return response
        }
    }

    extension CallFailure {
        /// Returns the verdict of a handler's error for a pipeline around it.
        static func verdict(of error: any Error, in pipeline: Pipeline) -> Verdict {
            if Task.isCancelled { return .cancelled }
            let error = error.withoutFields
            if isDeadline(error) { return .cancelled }
            if case .cancelled = (error as? FailedRequest)?.failure ?? CallFailure(error) { return .cancelled }
            if error is any VerdictConvertible { return pipeline.verdict(for: error) }
            guard let answer = error as? any HTTPResponseError else { return pipeline.verdict(for: error) }
            return answer.status.code < 500 ? .success : .transient
        }

        /// Whether an error means that the deadline that travels with the request has come. The client may have chosen
        /// that deadline, and must not be able to open a circuit with it.
        static func isDeadline(_ error: any Error) -> Bool {
            guard CallDeadline.current?.remaining == .zero else { return false }
            return ((error as? FailedRequest)?.failure.error ?? error).isTimeout
        }
    }

    extension Error {
        /// The error before a throttle added its fields, which do not change its meaning.
        var withoutFields: any Error { (self as? ErrorWithFields)?.origin ?? self }

        /// Whether a pipeline's or a client's time for a call ran out.
        var isTimeout: Bool { self is TimedOut || CallFailure.upstreamError(self)?.isTimeout == true }
    }
#endif
