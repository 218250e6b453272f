public import Resilience

extension Verdict {
    /// What an HTTP response means.
    ///
    /// ```swift
    /// let request = RequestSemantics(method: "GET")
    /// let verdict = Verdict(httpStatus: response.status, for: request) { response.headers[$0] }
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
    /// A `Retry-After` that can't be read is as good as none. The server may already have acted on a request that is
    /// answered with a failure, so one that is not ``RequestSemantics/isRepeatable`` is only transient or throttled
    /// where the server says that it did not: by 429, 503, or a rate limit's 403.
    ///
    /// `x-should-retry` and `stripe-should-retry`, `true` or `false`, win over all this for any failure, of any method:
    /// the server knows what it did with the request. `true` turns permanent into transient, or into throttled if there
    /// is a `Retry-After` too; `false` turns everything into permanent.
    ///
    /// - Parameters:
    ///   - status: any integer.
    ///   - request: the request that was answered.
    ///   - remark: what the body says, if the caller reads it.
    ///   - now: the wall clock in seconds since 1970, as for ``RetryAfter``; nil to read the machine's.
    ///   - header: the value of the response's field of that name, whatever its case; asked with lower-case names.
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
            // 503 without a wait is transient too, and yet a refusal: the server did not act on the request.
            case .none where tabled == .transient && status != 503:
                Verdict(connectionFailureOf: request, mayHaveBeenSent: true)
            case .none: tabled
            }
    }

    /// What an HTTP response means, its fields given as a dictionary whose keys may be of any case.
    ///
    /// Otherwise as ``init(httpStatus:for:remark:now:header:)``.
    public init(
        httpStatus status: Int, for request: RequestSemantics, remark: ServerRemark? = nil, now: Int64? = nil,
        fields: [String: String]
    ) {
        self.init(httpStatus: status, for: request, remark: remark, now: now) { name in
            fields[name] ?? fields.first { $0.key.lowercased() == name }?.value
        }
    }

    /// What it means that a request ended without a response, in a way that may pass: the connection was refused, reset
    /// or lost, the name was not found, the time was up.
    ///
    /// - Parameter mayHaveBeenSent: false if it is certain that no server saw the request, as when the connection was
    ///   refused. Then, and for a request that is ``RequestSemantics/isRepeatable``, it is transient, else uncertain.
    public init(connectionFailureOf request: RequestSemantics, mayHaveBeenSent: Bool) {
        self = request.isRepeatable || !mayHaveBeenSent ? .transient : .uncertain
    }

    /// What the status says, before the server's own word and before it is asked whether the request is repeatable.
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
        // What was asked for is not supported, nor will be: 501, 505, and 506 and 510, which are a server's wrong
        // set-up.
        case 501, 505, 506, 510: .permanent
        // 507 must not be repeated without a new action of the user (RFC 4918 §11.5); 508 is a loop in what is stored
        // (RFC 5842 §7.2); 511 is a captive portal that wants a person to sign in (RFC 6585 §6).
        case 507, 508, 511: .permanent
        // An unknown status means what the first of its class means, and one outside 100...599 is as 5xx (RFC 9110
        // §15). So the ones that proxies made up (520 to 530, 598, 599) are transient, as they should be.
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
