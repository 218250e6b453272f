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
    /// Make it once, and keep it. It takes from each request what the policies must know:
    ///
    /// - **What the answer means**, from status, fields and method, and from the body if you give a ``Remark``. When no
    ///   attempt is left, the last answer is returned, with its status.
    /// - **Whether it may be sent twice.** A lost `POST` without an `Idempotency-Key` is uncertain, and not repeated,
    ///   whatever the pipeline's other calls are; nor is one that a ``/Resilience/Timeout`` ended. The pipeline's own
    ///   classifier is asked first. You still catch the `URLError` itself. A request whose body is an `httpBodyStream`
    ///   is sent once, since a stream can't be read again: use `httpBody`, or ``upload(for:from:options:)``.
    /// - **When it must have ended.** The attempt's deadline ends the request, even in the middle of a body, and the call
    ///   throws ``/Resilience/TimedOut``. So the pipeline can use ``/Resilience/ClientTimeout``, which costs some 40 ns,
    ///   where ``/Resilience/Timeout`` costs a child task. The request's `timeoutInterval` becomes no longer than that.
    ///
    /// A request that is cancelled throws `CancellationError`. It can be cancelled at any moment, on Linux too: see
    /// `URLSession.response(to:uploading:until:)`.
    ///
    /// See <doc:HTTPClientsGuide>.
    public struct ResilientSession: Sendable {
        /// Returns what an answer says in its body, where the status alone does not tell; nil for nothing.
        ///
        /// It is called once for each answer, also for those with status 200.
        public typealias Remark = @Sendable (HTTPURLResponse, Data) -> ServerRemark?
        /// Returns the request to send instead of one that was answered with 401, with new credentials; nil to leave it
        /// at the 401.
        public typealias Reauthorize = @Sendable (URLRequest) async throws -> URLRequest?

        /// The session that sends the requests.
        public let session: URLSession
        /// The pipeline that the requests go through.
        public let pipeline: Pipeline
        private let dialect: RateLimitDialect
        private let notesQuotas: Bool
        private let deadlineField: DeadlineField?
        private let originFields: OriginFields?
        private let remark: Remark?
        private let reauthorize: Reauthorize?
        /// The pipeline for requests that may be sent twice, and for those that may not. They have the same policies.
        private let repeatable: Pipeline
        private let unrepeatable: Pipeline

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
            unrepeatable = pipeline.classifying(otherwise: .urlSession(for: RequestSemantics(method: "POST")))
        }

        /// Sends a request.
        /// - Parameters:
        ///   - request: The request, of HTTP.
        ///   - options: What the caller tells the policies about this call, such as a deadline.
        /// - Returns: The body and the head of the last answer, whatever its status.
        /// - Throws: The `URLError` of the last attempt; `CancellationError`; an error of a policy or of the pipeline.
        ///   `URLError.unsupportedURL` if the URL is not of HTTP: such a request does not enter the pipeline.
        public nonisolated(nonsending) func data(
            for request: URLRequest, options: RunOptions = RunOptions()
        ) async throws -> (Data, HTTPURLResponse) {
            try await send(request, nil, options)
        }

        /// Sends a `GET` for a URL.
        /// - Parameters:
        ///   - url: The URL, of HTTP.
        ///   - options: What the caller tells the policies about this call, such as a deadline.
        /// - Returns: The body and the head of the last answer, whatever its status.
        /// - Throws: As ``data(for:options:)``.
        public nonisolated(nonsending) func data(
            from url: URL, options: RunOptions = RunOptions()
        ) async throws -> (Data, HTTPURLResponse) {
            try await send(URLRequest(url: url), nil, options)
        }

        /// Sends a request with a body.
        /// - Parameters:
        ///   - request: The request, of HTTP. Its own body is not used.
        ///   - body: The body. It is kept until the call ends, since each attempt sends it.
        ///   - options: What the caller tells the policies about this call, such as a deadline.
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
            /// Sends a request, and returns its answer as soon as the head of it has come.
            ///
            /// The call ends with the head: policies neither see nor end what comes after it, and a bulkhead's permit
            /// is free again. To keep a permit for as long as the body takes, use `Pipeline.acquire(options:)`.
            /// - Parameters:
            ///   - request: The request, of HTTP.
            ///   - options: What the caller tells the policies about this call, such as a deadline.
            /// - Returns: The bytes and the head of the last answer, whatever its status.
            /// - Throws: As ``data(for:options:)``.
            public nonisolated(nonsending) func bytes(
                for request: URLRequest, options: RunOptions = RunOptions()
            ) async throws -> (URLSession.AsyncBytes, HTTPURLResponse) {
                try await exchange(request, options, body: { _ in Data() }) { request, _ in
                    try await session.bytes(for: request)
                }
            }
        #endif

        private nonisolated(nonsending) func send(
            _ request: URLRequest, _ body: Data?, _ options: RunOptions
        ) async throws -> (Data, HTTPURLResponse) {
            try await exchange(request, options, body: { $0 }) { request, attempt in
                try await session.response(
                    to: request, uploading: body,
                    until: CallDeadline(at: attempt.deadline, on: pipeline.timeBase))
            }
        }

        /// - Parameters:
        ///   - body: Returns what there is of an answer's body, for the remark.
        ///   - send: Sends a request once.
        private nonisolated(nonsending) func exchange<Body>(
            _ request: URLRequest, _ options: RunOptions, body: (Body) -> Data,
            _ send: nonisolated(nonsending) (URLRequest, CallAttempt) async throws -> (Body, URLResponse)
        ) async throws -> (Body, HTTPURLResponse) {
            guard ["http", "https"].contains(request.url?.scheme?.lowercased()) else { throw URLError(.unsupportedURL) }
            let semantics = RequestSemantics(request)
            var request = request
            var mayReauthorize = reauthorize != nil
            var pipeline = semantics.isRepeatable ? repeatable : unrepeatable
            // A stream can be read only once.
            let stream = request.httpBodyStream
            var isStreamRead = false
            if stream != nil { pipeline = pipeline.adjusting { _, verdict in verdict.withoutRetry } }
            return try await pipeline.run(
                options: pipeline.options(options, isRepeatable: semantics.isRepeatable && stream == nil),
                judging: {
                    let verdict = judge($0.1, body($0.0), semantics)
                    return stream == nil ? verdict : verdict.withoutRetry
                }
            ) { attempt in
                // Only if a rule of a retry repeats it all the same.
                if isStreamRead { throw URLError(.requestBodyStreamExhausted) }
                isStreamRead = stream != nil
                var answer = try await httpAnswer(send, to: told(request, attempt, options), attempt)
                if answer.1.statusCode == 401, mayReauthorize, let reauthorize {
                    mayReauthorize = false
                    guard let renewed = try await reauthorize(request) else { return answer }
                    if let stream, renewed.httpBodyStream === stream { return answer }
                    request = renewed
                    answer = try await httpAnswer(send, to: told(request, attempt, options), attempt)
                }
                return answer
            }
        }

        private nonisolated(nonsending) func httpAnswer<Body>(
            _ send: nonisolated(nonsending) (URLRequest, CallAttempt) async throws -> (Body, URLResponse),
            to request: URLRequest, _ attempt: CallAttempt
        ) async throws -> (Body, HTTPURLResponse) {
            let (body, response) = try await send(limited(request, by: attempt), attempt)
            guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
            return (body, response)
        }

        /// The request with the call's priority and the number of the attempt in it. What it names itself stays.
        private func told(_ request: URLRequest, _ attempt: CallAttempt, _ options: RunOptions) -> URLRequest {
            guard let originFields else { return request }
            var request = request
            for (name, value) in originFields.values(of: attempt, options)
            where request.value(forHTTPHeaderField: name) == nil {
                request.setValue(value, forHTTPHeaderField: name)
            }
            return request
        }

        /// The request with the attempt's deadline in it.
        func limited(_ request: URLRequest, by attempt: CallAttempt) throws -> URLRequest {
            guard attempt.deadline != .distantFuture else { return request }
            let remaining = attempt.remaining(on: pipeline.timeBase)
            var request = request
            request.limitSilence(to: remaining, session.configuration.timeoutIntervalForRequest)
            // Whoever made the request may have named a shorter time.
            guard let deadlineField,
                let value = deadlineField.value(
                    for: remaining, over: request.value(forHTTPHeaderField: deadlineField.name))
            else { return request }
            if value == "0" { throw URLError(.timedOut) }
            request.setValue(value, forHTTPHeaderField: deadlineField.name)
            return request
        }

        private func judge(_ response: HTTPURLResponse, _ body: Data, _ semantics: RequestSemantics) -> Verdict {
            let verdict = response.verdict(for: semantics, remark: remark?(response, body), dialect: dialect)
            if notesQuotas, verdict.kind == .success {
                pipeline.note(RateLimitFields(dialect: dialect) { response.value(forHTTPHeaderField: $0) })
            }
            return verdict
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
        ///   - dialect: How the server writes down its limits.
        ///   - notesQuotas: Whether what a successful answer says to be left of a limit holds the pipeline's throttles:
        ///     see `Pipeline.note(_:)`. False by default, since the limit may be about other calls than the pipeline's.
        ///   - deadlineField: The field that tells the server how long the attempt may take. nil, the default, tells it
        ///     nothing: a deadline is of use to your own services only, and others need not know your timeouts.
        ///   - originFields: The fields that tell the server the call's priority and the number of the attempt, unless the
        ///     request has them. nil, the default, tells it nothing.
        ///   - remark: Returns what an answer says in its body, where the status alone does not tell, such as a 200
        ///     with an error inside.
        ///   - reauthorize: Renews the credentials of a request that was answered with 401. It is called at most once
        ///     for a call, and its request is sent in the same attempt; the later attempts send it too. Calls that run
        ///     concurrently call it concurrently. If it throws, its error ends the attempt.
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
        /// Makes the longest silence of the server that is waited for no longer than a time, in whole seconds, rounded
        /// up: on Linux fractions of a second are cut off, and the number must not be too large for an integer.
        ///
        /// The request and the session each have a longest silence, and which of the two counts can't be told from
        /// here.
        fileprivate mutating func limitSilence(to time: Duration, _ ofSession: TimeInterval) {
            let seconds = TimeInterval(time.wholeSecondsRoundedUp)
            if seconds < timeoutInterval, seconds < ofSession { timeoutInterval = seconds }
        }
    }
#endif
