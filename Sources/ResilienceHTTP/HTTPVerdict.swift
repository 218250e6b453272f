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
    /// | 1xx, 2xx, 3xx | success |
    /// | 429 or 403 with ``ServerRemark/quotaExhausted`` | permanent |
    /// | 429 | throttled |
    /// | 403 with `Retry-After`, `x-ratelimit-remaining: 0` or ``ServerRemark/rateLimited`` | throttled |
    /// | 503 with `Retry-After` | throttled |
    /// | 503 | transient |
    /// | 408, 425, 500, 502, 504 | transient if the request is repeatable, else uncertain |
    /// | 409 with ``ServerRemark/inFlight``, of a request with an idempotency key | transient |
    /// | other 4xx; 501, 505, 506, 507, 508, 510, 511 | permanent |
    /// | other 5xx; outside 100...599 | as 500 (RFC 9110 §15) |
    ///
    /// A `Retry-After` that can't be read counts as missing. The server may already have acted on a request although it
    /// answered with a failure. So a request that is not ``RequestSemantics/isRepeatable`` is transient or throttled
    /// only where the server says that it did not act: by 429, 503, or a rate limit's 403.
    ///
    /// `x-should-retry` and `stripe-should-retry`, `true` or `false`, override all this for any failure, of any method:
    /// the server knows what it did with the request. `true` turns permanent into transient, or into throttled if there
    /// is a `Retry-After` too; `false` turns everything into permanent.
    ///
    /// - Parameters:
    ///   - status: Any integer.
    ///   - request: The request that was answered.
    ///   - remark: What the body says, if you read it; nil by default.
    ///   - now: The wall clock in seconds since 1970, as for ``RetryAfter``; nil, the default, reads the machine's.
    ///   - header: Returns the value of a response field, whatever the case of its name in the response; called with
    ///     lower-case names.
    public init(
        httpStatus status: Int, for request: RequestSemantics, remark: ServerRemark? = nil, now: Int64? = nil,
        header: (String) -> String?
    ) {
        if (100..<400).contains(status) {
            self = .success
            return
        }
        let retryAfter = header("retry-after").flatMap { RetryAfter.wait($0, date: header("date"), now: now) }
        let tabled = Self.tabled(status, request, remark, retryAfter, header)
        self =
            switch Self.serversWord(header) {
            case .some(false): .permanent
            case .some(true) where tabled != .permanent: tabled
            case .some(true): retryAfter.map { .throttled(retryAfter: $0) } ?? .transient
            // A 503 without `Retry-After` is transient for any request: the server did not act on it.
            case .none where tabled == .transient && status != 503:
                Verdict(connectionFailureOf: request, mayHaveBeenSent: true)
            case .none: tabled
            }
    }

    /// The meaning of an HTTP response whose fields are in a dictionary, with keys of any case.
    ///
    /// Otherwise as ``init(httpStatus:for:remark:now:header:)``.
    ///
    /// - Parameters:
    ///   - status: Any integer.
    ///   - request: The request that was answered.
    ///   - remark: What the body says, if you read it; nil by default.
    ///   - now: The wall clock in seconds since 1970, as for ``RetryAfter``; nil, the default, reads the machine's.
    ///   - fields: The response's fields.
    public init(
        httpStatus status: Int, for request: RequestSemantics, remark: ServerRemark? = nil, now: Int64? = nil,
        fields: [String: String]
    ) {
        self.init(httpStatus: status, for: request, remark: remark, now: now) { name in
            fields[name] ?? fields.first { $0.key.lowercased() == name }?.value
        }
    }

    /// The meaning of a request that ended without a response, in a way that may pass: the connection was refused,
    /// reset or lost, the name was not found, or the time limit passed.
    ///
    /// - Parameters:
    ///   - request: The request that failed.
    ///   - mayHaveBeenSent: False if it is certain that no server saw the request, as when the connection was refused.
    ///     The verdict is transient if it is false or the request is ``RequestSemantics/isRepeatable``; otherwise it is
    ///     uncertain.
    public init(connectionFailureOf request: RequestSemantics, mayHaveBeenSent: Bool) {
        self = request.isRepeatable || !mayHaveBeenSent ? .transient : .uncertain
    }

    /// The verdict by status alone. The server's `x-should-retry`, and whether the request is repeatable, are applied
    /// later.
    private static func tabled(
        _ status: Int, _ request: RequestSemantics, _ remark: ServerRemark?, _ retryAfter: Duration?,
        _ header: (String) -> String?
    ) -> Verdict {
        switch status {
        case 429 where remark == .quotaExhausted, 403 where remark == .quotaExhausted: .permanent
        case 429: .throttled(retryAfter: retryAfter)
        case 403 where remark == .rateLimited || retryAfter != nil || isSpent(header("x-ratelimit-remaining")):
            .throttled(retryAfter: retryAfter)
        case 503 where retryAfter != nil: .throttled(retryAfter: retryAfter)
        case 408, 425: .transient
        case 409 where request.hasIdempotencyKey && remark == .inFlight: .transient
        case 400...499: .permanent
        // The request is not supported, and won't be: 501 and 505; 506 and 510 mean a wrongly configured server.
        case 501, 505, 506, 510: .permanent
        // 507 must not be repeated without a new action of the user (RFC 4918 §11.5); 508 is a loop in what is stored
        // (RFC 5842 §7.2); 511 is a captive portal that wants a person to sign in (RFC 6585 §6).
        case 507, 508, 511: .permanent
        // An unknown status means what the first of its class means, and one outside 100...599 is treated as 5xx (RFC
        // 9110 §15). So the statuses that proxies invented (520 to 530, 598, 599) are transient, as they should be.
        default: .transient
        }
    }

    private static func serversWord(_ header: (String) -> String?) -> Bool? {
        for name in ["x-should-retry", "stripe-should-retry"] {
            var cursor = FieldCursor(header(name) ?? "")
            if cursor.skip("true"), cursor.isAtEnd { return true }
            if cursor.skip("false"), cursor.isAtEnd { return false }
        }
        return nil
    }

    private static func isSpent(_ remaining: String?) -> Bool {
        var cursor = FieldCursor(remaining ?? "")
        return cursor.numberToEnd() == 0
    }
}
