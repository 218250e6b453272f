#if AsyncHTTPClient
    public import AsyncHTTPClient
    public import NIOCore
    public import Resilience
    public import ResilienceHTTP

    extension ResilientHTTPClient {
        /// The options of a ``ResilientHTTPClient``.
        ///
        /// ```swift
        /// var settings = ResilientHTTPClient.Settings()
        /// settings.buffering = 65_536
        /// settings.remark = { response, body in
        ///     String(buffer: body).contains(#""error""#) ? .means(.transient) : nil
        /// }
        /// let client = HTTPClient.shared.resilient(pipeline, settings: settings)
        /// ```
        public struct Settings: Sendable {
            /// The format in which the server states its limits; `RateLimitDialect.automatic` by default.
            public var dialect = RateLimitDialect.automatic

            /// Whether the pipeline's throttles note the remaining quota that a response reports; false by default.
            ///
            /// See `Pipeline.note(_:)`.
            public var notesQuotas = false

            /// The number of bytes of a successful response to read before the attempt ends; 0 by default: the body is
            /// streamed from the beginning.
            ///
            /// A negative number counts as 0.
            ///
            /// A lost connection or a deadline within these bytes fails the attempt, and is retried like any other
            /// failure. If the body is longer, these bytes are kept and the rest is streamed.
            public var buffering = 0

            /// The number of bytes of a failure response to read before the attempt ends; 64 KiB by default.
            ///
            /// Then the connection can be reused, and the body can be read if the response is returned. A negative
            /// number counts as 0.
            ///
            /// The connection of a longer body is closed when the next attempt begins.
            public var failureBuffering = 65_536

            /// The longest time to read a failure response; 1 second by default.
            ///
            /// After this time, the connection is closed, and reading the body throws `TimedOut` after the received
            /// bytes. A negative time counts as 0.
            public var failureBufferingTime = Duration.seconds(1)

            /// Whether the call's deadline, and a `ClientTimeout` or a `Timeout` in the pipeline, include the
            /// response's body; true by default: reading the body later throws `TimedOut`.
            ///
            /// If false, deadlines and timeouts limit only the time to the response's head, as in `HTTPClient`: for
            /// downloads and event streams. The client's read timeout limits the time between two parts.
            public var endsBodyAtDeadline = true

            /// A closure that judges a response by its body; nil, the default, for none.
            ///
            /// It is given the response and the part of its body that has been read: ``buffering`` bytes of a success,
            /// ``failureBuffering`` of a failure, or the whole body if it is shorter.
            public var remark: (@Sendable (HTTPClientResponse, ByteBuffer) -> ServerRemark?)?

            /// A closure that judges errors first; nil, the default, for none.
            ///
            /// It returns nil to leave an error to `Verdict.init(asyncHTTPClientError:for:)`. It is given the original
            /// error, not an ``ExchangeFailed``.
            public var verdict: (@Sendable (any Error, RequestSemantics) -> Verdict?)?

            /// The field that tells the server how long the attempt may take; nil, the default, for none: only your own
            /// services can use a deadline, and others need not know your timeouts.
            ///
            /// A shorter time in the request is kept. With less than a millisecond left, the request is not sent, and
            /// the attempt fails with `HTTPClientError.deadlineExceeded`.
            public var deadlineField: DeadlineField?

            /// The fields that tell the server the call's priority and the number of the attempt, unless the request
            /// has them; nil, the default, for none.
            public var originFields: OriginFields?

            /// A closure that changes the request before each attempt, for example to renew a credential; nil, the
            /// default, for none.
            ///
            /// If it throws, the attempt fails with that error.
            ///
            /// ```swift
            /// settings.prepare = { request, attempt in
            ///     request.headers.replaceOrAdd(name: "X-Attempt", value: "\(attempt.number)")
            /// }
            /// ```
            public var prepare: (@Sendable (inout HTTPClientRequest, CallAttempt) throws -> Void)?

            /// A closure that returns a request with new credentials to send after a 401, or nil to return the 401;
            /// nil, the default, for none.
            ///
            /// It is called until it has succeeded once in a call. Its request is sent in the same attempt and in later
            /// ones. The body stays the call's; if it can't be sent again, the 401 is returned. Concurrent calls call
            /// it concurrently. If it throws, the attempt fails with its error; at the attempt's deadline it is
            /// cancelled. `prepare` also changes the new request, and must leave its credentials.
            public var reauthorize: (@Sendable (HTTPClientRequest) async throws -> HTTPClientRequest?)?

            /// Creates settings with the default values.
            public init() {}
        }
    }
#endif
