#if AsyncHTTPClient
    public import AsyncHTTPClient
    public import NIOCore
    import NIOHTTP1
    public import NIOPosix
    public import Resilience
    public import ResilienceHTTP

    extension RequestSemantics {
        /// The method of an `HTTPClientRequest`, and whether it has an `Idempotency-Key` field that is not blank.
        ///
        /// - Parameter request: The request.
        public init(_ request: HTTPClientRequest) {
            let key = request.headers.first(name: "Idempotency-Key") ?? ""
            self.init(
                method: request.method.rawValue, hasIdempotencyKey: !key.allSatisfy { $0 == " " || $0 == "\t" })
        }
    }

    extension HTTPClientResponse {
        /// The verdict of this response: see `Verdict.init(httpStatus:for:remark:dialect:now:header:)`.
        ///
        /// - Parameters:
        ///   - request: The request that was answered.
        ///   - remark: The remark in the body, if you read it; nil by default.
        ///   - dialect: The format in which the server states its limits.
        ///   - now: The wall clock in seconds since 1970, as for `RetryAfter`; nil, the default, reads the machine's
        ///     clock.
        /// - Returns: The verdict.
        public func verdict(
            for request: RequestSemantics, remark: ServerRemark? = nil, dialect: RateLimitDialect = .automatic,
            now: Int64? = nil
        ) -> Verdict {
            Verdict(
                httpStatus: Int(clamping: status.code), for: request, remark: remark, dialect: dialect, now: now,
                header: headers.joined)
        }

        /// Whether no body follows the head, regardless of its fields (RFC 9112 §6.3).
        func hasNoBody(to method: String) -> Bool {
            if method == "HEAD" || status.code == 204 || status.code == 304 { return true }
            return headers["Content-Length"] == ["0"]
        }
    }

    extension HTTPHeaders {
        /// The values of all fields of this name, joined by commas (RFC 9110 §5.3); nil if there is none.
        func joined(_ name: String) -> String? {
            let values = self[name]
            return values.count > 1 ? values.joined(separator: ", ") : values.first
        }
    }

    // The verdicts of failed requests of unknown kind, so that a pipeline around any use of `HTTPClient` needs no
    // classifier.

    extension HTTPClientError: VerdictConvertible {
        /// The verdict for a request that may not be sent twice: see `Verdict.init(asyncHTTPClientError:for:)`.
        public var verdict: Verdict { .unknownRequest(self) }
    }

    extension NIOConnectionError: VerdictConvertible {
        /// Transient: nothing was sent.
        public var verdict: Verdict { .unknownRequest(self) }
    }

    extension ChannelError: VerdictConvertible {
        /// Transient if there was no connection, permanent if it will fail again in the same way; otherwise uncertain.
        public var verdict: Verdict { .unknownRequest(self) }
    }

    extension IOError: VerdictConvertible {
        /// Transient if nothing was sent, permanent if it will fail again in the same way; otherwise uncertain.
        public var verdict: Verdict { .unknownRequest(self) }
    }

    extension Verdict {
        fileprivate static func unknownRequest(_ error: any Error) -> Verdict {
            Verdict(asyncHTTPClientError: error, for: .unknown) ?? .uncertain
        }
    }

    extension Classifier {
        /// Creates a classifier for a pipeline whose calls all send one kind of request through `HTTPClient`.
        ///
        /// A ``ResilientHTTPClient`` needs none: it judges each request's errors itself.
        ///
        /// - Parameter request: The semantics of the requests.
        /// - Returns: The classifier.
        public static func asyncHTTPClient(for request: RequestSemantics) -> Classifier {
            Classifier { Verdict(asyncHTTPClientError: $0, for: request) }
        }
    }
#endif
