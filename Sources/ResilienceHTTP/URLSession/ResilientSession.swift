#if canImport(Foundation)
    public import Foundation
    public import Resilience

    #if canImport(FoundationNetworking)
        public import FoundationNetworking
    #endif

    /// A `URLSession` whose requests go through a pipeline.
    ///
    /// ```swift
    /// let session = URLSession.shared.resilient(.http("catalog"))
    /// let (data, response) = try await session.data(from: url)
    /// ```
    ///
    /// Make it once, and keep it. It tells the policies about each request:
    ///
    /// - **The answer's verdict**, from status, fields and method, and from the body if you give a ``Remark``. When no
    ///   attempt is left, the last answer is returned, with its status.
    /// - **Whether it may be sent twice.** A `POST` without an `Idempotency-Key` that is lost, or ended by a
    ///   ``/Resilience/Timeout``, is uncertain and not repeated, regardless of the pipeline's other calls. The
    ///   pipeline's own classifier is asked first. You still catch the `URLError` itself. A request whose body is an
    ///   `httpBodyStream` is sent once, since a stream can't be read again: use `httpBody`, or
    ///   ``upload(for:from:options:)``.
    /// - **Its deadline.** The attempt's deadline ends the request, even in the middle of a body, and the call throws
    ///   ``/Resilience/TimedOut``. So the pipeline can use ``/Resilience/ClientTimeout``, which costs some 40 ns, while
    ///   ``/Resilience/Timeout`` costs a child task. The request's `timeoutInterval` is at most the time left.
    /// - **Whether a hedge may copy it.** A `Hedge` in the pipeline copies requests that may be sent twice.
    ///
    /// A request that is cancelled throws `CancellationError`. It can be cancelled at any moment, even on Linux: see
    /// `URLSession.response(to:uploading:until:)`.
    ///
    /// See <doc:HTTPClientsGuide>.
    public struct ResilientSession: Sendable {
        /// Returns the meaning of an answer by its body, beyond its status; nil for none.
        ///
        /// It is called once for each answer, even with status 200.
        public typealias Remark = @Sendable (HTTPURLResponse, Data) -> ServerRemark?
        /// Returns a request with new credentials to send after a 401; nil to keep the 401.
        public typealias Reauthorize = @Sendable (URLRequest) async throws -> URLRequest?

        /// The session that sends the requests.
        public let session: URLSession
        /// The pipeline that the requests go through.
        public let pipeline: Pipeline
        let dialect: RateLimitDialect
        let notesQuotas: Bool
        private let deadlineField: DeadlineField?
        private let originFields: OriginFields?
        let remark: Remark?
        let reauthorize: Reauthorize?
        /// The pipeline for requests that may be sent twice. For other requests, errors have their own verdicts.
        let repeatable: Pipeline

        init(
            _ session: URLSession, _ pipeline: Pipeline, dialect: RateLimitDialect, notesQuotas: Bool,
            deadlineField: DeadlineField?, originFields: OriginFields?, remark: Remark?, reauthorize: Reauthorize?
        ) {
            self.session = session
            self.pipeline = pipeline
            self.dialect = dialect
            self.notesQuotas = notesQuotas
            self.deadlineField = deadlineField
            self.originFields = originFields
            self.remark = remark
            self.reauthorize = reauthorize
            repeatable = pipeline.classifying(otherwise: .urlSession(for: RequestSemantics(method: "GET")))
        }

        /// Sends a request.
        ///
        /// - Parameters:
        ///   - request: An HTTP request.
        ///   - options: Options of this call, such as a deadline.
        /// - Returns: The body and the head of the last answer, whatever its status.
        /// - Throws: The `URLError` of the last attempt; `CancellationError`; an error of a policy or of the pipeline.
        ///   `URLError.unsupportedURL` if the URL is not of HTTP: such a request does not enter the pipeline.
        public nonisolated(nonsending) func data(
            for request: URLRequest, options: RunOptions = RunOptions()
        ) async throws -> (Data, HTTPURLResponse) {
            try await send(request, nil, options)
        }

        /// Sends a `GET` for a URL.
        ///
        /// - Parameters:
        ///   - url: An HTTP URL.
        ///   - options: Options of this call, such as a deadline.
        /// - Returns: The body and the head of the last answer, whatever its status.
        /// - Throws: As ``data(for:options:)``.
        public nonisolated(nonsending) func data(
            from url: URL, options: RunOptions = RunOptions()
        ) async throws -> (Data, HTTPURLResponse) {
            try await send(URLRequest(url: url), nil, options)
        }

        /// Sends a request with a body.
        ///
        /// - Parameters:
        ///   - request: An HTTP request. Its own body is not used.
        ///   - body: The body. It is kept until the call ends, since each attempt sends it.
        ///   - options: Options of this call, such as a deadline.
        /// - Returns: The body and the head of the last answer, whatever its status.
        /// - Throws: As ``data(for:options:)``.
        public nonisolated(nonsending) func upload(
            for request: URLRequest, from body: Data, options: RunOptions = RunOptions()
        ) async throws -> (Data, HTTPURLResponse) {
            var request = request
            request.httpBodyStream = nil
            return try await send(request, body, options)
        }

        #if !canImport(FoundationNetworking)
            /// Sends a request, and returns its answer as soon as the head arrives.
            ///
            /// The call ends with the head: policies neither see nor end the body, and a bulkhead's permit is free
            /// again. So a `Hedge` makes no copies. To keep a permit for the body, use `Pipeline.acquire(options:)`.
            /// - Parameters:
            ///   - request: An HTTP request.
            ///   - options: Options of this call, such as a deadline.
            /// - Returns: The bytes and the head of the last answer, whatever its status.
            /// - Throws: As ``data(for:options:)``.
            public nonisolated(nonsending) func bytes(
                for request: URLRequest, options: RunOptions = RunOptions()
            ) async throws -> (URLSession.AsyncBytes, HTTPURLResponse) {
                let call = try SessionCall(self, request, options)
                return try await call.pipeline.run(options: call.options, judging: { call.judge($0.1, Data()) }) {
                    attempt in
                    try await call.answer(attempt) { request, _ in
                        let (bytes, response) = try await session.bytes(for: request)
                        call.ended(bytes.task)
                        return (bytes, response)
                    }
                }
            }
        #endif

        private nonisolated(nonsending) func send(
            _ request: URLRequest, _ body: Data?, _ options: RunOptions
        ) async throws -> (Data, HTTPURLResponse) {
            let call = try SessionCall(self, request, options)
            let answer: @Sendable (CallAttempt) async throws -> (Data, HTTPURLResponse) = { attempt in
                try await call.answer(attempt) { request, attempt in
                    try await session.response(
                        to: request, uploading: body,
                        until: CallDeadline(at: attempt.deadline, on: pipeline.timeBase), ended: call.ended)
                }
            }
            guard call.mayBeCopied else {
                return try await call.pipeline.run(options: call.options, judging: { call.judge($0.1, $0.0) }, answer)
            }
            return try await call.pipeline.runHedged(
                options: call.options, judging: { call.judge($0.1, $0.0) }, answer)
        }

        /// The request for an attempt: it ends by the attempt's deadline, and its fields describe the attempt.
        func limited(
            _ request: URLRequest, by attempt: CallAttempt, _ options: RunOptions = RunOptions()
        ) throws -> URLRequest {
            var request = request
            let fields = attempt.fields(deadlineField, originFields, options, on: pipeline.timeBase) {
                request.value(forHTTPHeaderField: $0)
            }
            guard let fields else { throw URLError(.timedOut) }
            for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
            if attempt.deadline != .distantFuture {
                request.limitSilence(
                    to: attempt.remaining(on: pipeline.timeBase), session.configuration.timeoutIntervalForRequest)
            }
            return request
        }
    }

    extension URLSession {
        /// Returns this session with a pipeline in front of it.
        ///
        /// ```swift
        /// let session = URLSession.shared.resilient(.http("catalog"))
        /// let (data, response) = try await session.data(for: request)
        /// ```
        /// - Parameters:
        ///   - pipeline: The pipeline that the requests go through.
        ///   - dialect: The format in which the server states its limits.
        ///   - notesQuotas: Whether the remaining quota in a successful answer holds the pipeline's throttles: see
        ///     `Pipeline.note(_:)`. False by default, since the limit may be about other calls.
        ///   - deadlineField: The field that tells the server how long the attempt may take; nil, the default, for
        ///     none: only your own services can use a deadline, and others need not know your timeouts.
        ///   - originFields: The fields that tell the server the call's priority and the number of the attempt, unless
        ///     the request has them; nil, the default, for none.
        ///   - remark: Returns the meaning of an answer by its body, such as a 200 with an error inside.
        ///   - reauthorize: Renews the credentials of a request that was answered with 401. It is called at most once
        ///     for a call, and its request is sent in the same attempt and in later ones. Concurrent calls call it
        ///     concurrently. If it throws, the attempt fails with its error.
        /// - Returns: The session with the pipeline.
        public func resilient(
            _ pipeline: Pipeline, dialect: RateLimitDialect = .automatic, notesQuotas: Bool = false,
            deadlineField: DeadlineField? = nil, originFields: OriginFields? = nil,
            remark: ResilientSession.Remark? = nil,
            reauthorize: ResilientSession.Reauthorize? = nil
        ) -> ResilientSession {
            ResilientSession(
                self, pipeline, dialect: dialect, notesQuotas: notesQuotas, deadlineField: deadlineField,
                originFields: originFields, remark: remark, reauthorize: reauthorize)
        }
    }

    extension URLRequest {
        /// Lets the server be silent for at most this time, rounded up to whole seconds: on Linux fractions of a second
        /// are cut off, and the number must not be too large for an integer.
        ///
        /// The request and the session each have such a limit, and it is unknown which of the two counts.
        fileprivate mutating func limitSilence(to time: Duration, _ ofSession: TimeInterval) {
            let seconds = TimeInterval(time.wholeSecondsRoundedUp)
            if seconds < timeoutInterval, seconds < ofSession { timeoutInterval = seconds }
        }
    }
#endif
