#if AsyncHTTPClient
    public import AsyncHTTPClient
    public import NIOCore
    public import Resilience
    public import ResilienceHTTP

    extension ResilientHTTPClient {
        /// What a ``ResilientHTTPClient`` does besides sending requests through its pipeline.
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
            /// How the server writes down its limits. `RateLimitDialect.automatic` by default.
            public var dialect = RateLimitDialect.automatic

            /// Whether what a response says is left of the server's limits is noted by the pipeline's throttles: see
            /// `Pipeline.note(_:)`. False by default.
            public var notesQuotas = false

            /// How many bytes of a successful response are read before the attempt ends. 0 by default: the body is
            /// streamed from the beginning. Below 0 counts as 0.
            ///
            /// A connection that is lost, or a deadline that comes, within these bytes is a failure of the attempt, and is
            /// repeated like any other. Of a longer body, what has been read is kept and the rest is streamed.
            public var buffering = 0

            /// How many bytes of a response that means failure are read before the attempt ends, so that its connection
            /// can be used again and its body can still be read when it is returned. 64 KiB by default. Below 0 counts
            /// as 0.
            ///
            /// The connection of a longer body is closed when the next attempt begins.
            public var failureBuffering = 65_536

            /// How long the reading of a response that means failure may take; 1 second by default. Then its
            /// connection is closed, and reading its body throws `TimedOut` after what has come. Below 0 counts as 0.
            public var failureBufferingTime = Duration.seconds(1)

            /// Whether the body of a response, too, must have come by the call's deadline, and by that of a
            /// `ClientTimeout` or a `Timeout` in the pipeline. True by default: reading it then throws `TimedOut`.
            ///
            /// If false, deadlines and timeouts are for the time to the response's head, as those of `HTTPClient` are:
            /// for downloads and streams of events. The client's read timeout limits the time between two parts.
            public var endsBodyAtDeadline = true

            /// Reads what a response says in its body; nil, the default, if nothing does. It is given the response and
            /// as much of its body as has been read: ``buffering`` bytes of a success, ``failureBuffering`` of a
            /// failure, or all if that is less.
            public var remark: (@Sendable (HTTPClientResponse, ByteBuffer) -> ServerRemark?)?

            /// Judges errors in a way of your own; nil, the default, for none. It is asked first, and returns nil for
            /// the errors that it leaves to `Verdict.init(asyncHTTPClientError:for:)`. It is given
            /// what was thrown, not an ``ExchangeFailed``.
            public var verdict: (@Sendable (any Error, RequestSemantics) -> Verdict?)?

            /// The field that tells the server how long the attempt may take. nil, the default, tells it nothing: a
            /// deadline is of use to your own services only, and others need not know your timeouts.
            ///
            /// A shorter time that the request names itself is kept. With less than a millisecond left, the request is
            /// not sent, and the attempt fails with `HTTPClientError.deadlineExceeded`.
            public var deadlineField: DeadlineField?

            /// The fields that tell the server the call's priority and the number of the attempt, unless the request has
            /// them. nil, the default, tells it nothing.
            public var originFields: OriginFields?

            /// Changes the request before each attempt, for example to renew a credential; nil, the default, for none.
            /// What it throws is the error of the attempt.
            ///
            /// ```swift
            /// settings.prepare = { request, attempt in
            ///     request.headers.replaceOrAdd(name: "X-Attempt", value: "\(attempt.number)")
            /// }
            /// ```
            public var prepare: (@Sendable (inout HTTPClientRequest, CallAttempt) throws -> Void)?

            /// Returns the request to send instead of one that was answered with 401, with new credentials; nil to leave
            /// it at the 401. nil, the default, leaves it there too.
            ///
            /// It is called until it has succeeded once in a call, and its request is sent in the same attempt; the later
            /// attempts send it too. The body stays that of the call; if it can't be sent again, the 401 is returned. Calls
            /// that run concurrently call it concurrently. If it throws, its error ends the attempt; at the attempt's
            /// deadline it is cancelled. `prepare` changes its request, too, and must leave the credentials.
            public var reauthorize: (@Sendable (HTTPClientRequest) async throws -> HTTPClientRequest?)?

            /// Creates settings with the default values.
            public init() {}
        }
    }
#endif
