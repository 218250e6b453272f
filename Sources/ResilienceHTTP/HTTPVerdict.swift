public import Resilience

extension Verdict {
    /// The meaning of an HTTP response.
    ///
    /// ```swift
    /// let request = RequestSemantics(method: "GET")
    /// let verdict = Verdict(httpStatus: response.status, for: request) {
    ///     response.headers[$0]
    /// }
    /// ```
    ///
    /// | status | verdict |
    /// |---|---|
    /// | any with ``ServerRemark/means(_:)`` | the remark's verdict |
    /// | 1xx, 2xx, 3xx | success |
    /// | 4xx with ``ServerRemark/quotaExhausted`` | permanent |
    /// | 4xx or 5xx with ``ServerRemark/rateLimited``, or an AWS error code that means it | throttled |
    /// | 429 | throttled |
    /// | 403 with `Retry-After` or an exhausted limit | throttled |
    /// | 503 with an exhausted rate limit and its reset | throttled |
    /// | any other 503, even with `Retry-After` | transient |
    /// | 408, 425, 500, 502, 504 | transient if the request is repeatable, else uncertain |
    /// | 409 with ``ServerRemark/inFlight``, of a request with an idempotency key | transient |
    /// | other 4xx; 501, 505, 506, 507, 508, 510, 511 | permanent |
    /// | other 5xx; outside 100...599 | as 500 (RFC 9110 §15) |
    ///
    /// A server may have acted on a request even if it answered with a failure. So a request that is not
    /// ``RequestSemantics/isRepeatable`` is transient or throttled only if the server reports that it did not act: by
    /// 429, 503, or a rate limit.
    ///
    /// A 429 is about a limit that all calls share, so a ``/Resilience/Throttle`` then holds all of them. A 503 is
    /// about the endpoint: its `Retry-After` delays only the retry of the call itself, and a circuit breaker counts it
    /// as a failure and detects the recovery by probes.
    ///
    /// The wait of any failure is the server's `Retry-After`, in the dialect's forms; else, for a throttled failure,
    /// the time until the exhausted limit is reset. Unreadable values count as missing.
    ///
    /// `x-should-retry` and `stripe-should-retry`, `true` or `false`, `x-envoy-overloaded`, and a gRPC pushback below
    /// zero set the verdict's `shouldRetry`, for any failure of any method: the server knows what it did with the
    /// request. They do not change the kind: a breaker still counts a 500 that must not be repeated.
    ///
    /// - Parameters:
    ///   - status: Any integer.
    ///   - request: The request that was answered.
    ///   - remark: The remark in the body, if you read it; nil by default.
    ///   - dialect: The format in which the server states its limits.
    ///   - now: The wall clock in seconds since 1970, as for ``RetryAfter``; nil, the default, reads the machine's
    ///     clock.
    ///   - header: Returns the value of a response field, with any case in the response; called with lower-case names,
    ///     and never for a success.
    public init(
        httpStatus status: Int, for request: RequestSemantics, remark: ServerRemark? = nil,
        dialect: RateLimitDialect = .automatic, now: Int64? = nil, header: (String) -> String?
    ) {
        var remark = remark
        if remark?.kind.map({ $0 == .success }) ?? (100..<400).contains(status) {
            self = .success
            return
        }
        let fields = RateLimitFields(dialect: dialect, now: now, header: header)
        remark = remark ?? header("x-amzn-errortype").flatMap { ServerRemark(awsErrorCode: $0) }
        let kind = remark?.kind ?? Self.kind(status, request, remark, fields)
        // Waiting does not help if the quota is used up.
        let asked = remark == .quotaExhausted ? nil : fields.retryAfter
        let wait = asked ?? (kind == .throttled ? fields.quotaWait : nil)
        self.init(kind, retryAfter: wait, shouldRetry: fields.shouldRetry)
    }

    /// The meaning of an HTTP response whose fields are in a dictionary, with keys of any case.
    ///
    /// Otherwise as ``init(httpStatus:for:remark:dialect:now:header:)``.
    ///
    /// - Parameters:
    ///   - status: Any integer.
    ///   - request: The request that was answered.
    ///   - remark: The remark in the body, if you read it; nil by default.
    ///   - dialect: The format in which the server states its limits.
    ///   - now: The wall clock in seconds since 1970, as for ``RetryAfter``; nil, the default, reads the machine's
    ///     clock.
    ///   - fields: The response's fields.
    public init(
        httpStatus status: Int, for request: RequestSemantics, remark: ServerRemark? = nil,
        dialect: RateLimitDialect = .automatic, now: Int64? = nil, fields: [String: String]
    ) {
        let lowercased = Dictionary(fields.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
        self.init(httpStatus: status, for: request, remark: remark, dialect: dialect, now: now) { name in
            fields[name] ?? lowercased[name]
        }
    }

    /// The verdict of a request that ended without a response, for a temporary reason: the connection was refused,
    /// reset or lost, the name was not found, or the time limit passed.
    ///
    /// - Parameters:
    ///   - request: The request that failed.
    ///   - mayHaveBeenSent: False if certainly no server saw the request, as when the connection was refused. The
    ///     verdict is transient if it is false or the request is ``RequestSemantics/isRepeatable``; otherwise it is
    ///     uncertain.
    public init(connectionFailureOf request: RequestSemantics, mayHaveBeenSent: Bool) {
        self = request.isRepeatable || !mayHaveBeenSent ? .transient : .uncertain
    }

    private static func kind(
        _ status: Int, _ request: RequestSemantics, _ remark: ServerRemark?, _ fields: RateLimitFields
    ) -> Kind {
        switch status {
        case 400...499 where remark == .quotaExhausted: .permanent
        case 400...599 where remark == .rateLimited: .throttled
        case 429: .throttled
        case 403 where fields.retryAfter != nil || fields.quotas.contains { $0.remaining == 0 }: .throttled
        // Any other 503 is transient for any request: the server did not act on it.
        case 503: fields.quotaWait == nil ? .transient : .throttled
        case 408, 425: failed(request)
        case 409 where request.hasIdempotencyKey && remark == .inFlight: .transient
        case 400...499: .permanent
        // The request is not supported, and won't be: 501 and 505; 506 and 510 mean a wrongly configured server.
        case 501, 505, 506, 510: .permanent
        // 507 must not be repeated without a new action of the user (RFC 4918 §11.5); 508 is a loop in stored data (RFC
        // 5842 §7.2); 511 is a captive portal that wants a person to sign in (RFC 6585 §6).
        case 507, 508, 511: .permanent
        // An unknown status means the same as the first status of its class, and a status outside 100...599 is treated
        // as 5xx (RFC 9110 §15). So the statuses that proxies invented (520 to 530, 598, 599) count like a 500, as they
        // should.
        default: failed(request)
        }
    }

    /// The kind of a failure after which the server may have acted on the request.
    private static func failed(_ request: RequestSemantics) -> Kind { request.isRepeatable ? .transient : .uncertain }
}
