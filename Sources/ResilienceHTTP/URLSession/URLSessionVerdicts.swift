#if canImport(Foundation)
    public import Foundation
    public import Resilience

    #if canImport(FoundationNetworking)
        public import FoundationNetworking
    #endif

    extension RequestSemantics {
        /// The method of a `URLRequest`, and whether it has an `Idempotency-Key` field that is not blank.
        ///
        /// - Parameter request: The request. Without a method it counts as `GET`.
        public init(_ request: URLRequest) {
            let key = FieldCursor(request.value(forHTTPHeaderField: "Idempotency-Key") ?? "")
            self.init(method: request.httpMethod ?? "GET", hasIdempotencyKey: !key.isAtEnd)
        }
    }

    extension URLResponse {
        /// The verdict of this response: see `Verdict.init(httpStatus:for:remark:dialect:now:header:)`.
        ///
        /// A response that is not of HTTP, such as a file's, is a success.
        ///
        /// ```swift
        /// let (data, response) = try await pipeline.run(
        ///     judging: { $0.1.verdict(for: get) }
        /// ) {
        ///     try await session.data(for: request)
        /// }
        /// ```
        ///
        /// - Parameters:
        ///   - request: The request that was answered.
        ///   - remark: The remark in the body, if you read it; nil by default.
        ///   - dialect: The format in which the server states its limits.
        ///   - now: The wall clock in seconds since 1970, as for ``RetryAfter``; nil, the default, reads the machine's
        ///     clock.
        /// - Returns: The verdict.
        public func verdict(
            for request: RequestSemantics, remark: ServerRemark? = nil, dialect: RateLimitDialect = .automatic,
            now: Int64? = nil
        ) -> Verdict {
            guard let response = self as? HTTPURLResponse else { return .success }
            return Verdict(httpStatus: response.statusCode, for: request, remark: remark, dialect: dialect, now: now) {
                response.value(forHTTPHeaderField: $0)
            }
        }
    }

    extension URLError {
        /// The verdict of this failure of a request.
        ///
        /// - ``isOffline``: transient, for any method, because no server saw the request.
        /// - Connection lost or reset, timeout, a handshake or an answer cut short, an unknown failure: transient if
        ///   the request is ``RequestSemantics/isRepeatable``; otherwise uncertain, because a server may have acted on
        ///   it.
        /// - Any other failure, which will recur in the same way: permanent. Examples are an untrusted certificate, a
        ///   bad URL, a redirect loop, a missing sign-in, and contents that can't be decoded or stored.
        ///
        /// `URLError.cancelled` is also permanent. The caller's task shows whether it is cancelled; the error does not.
        /// In a task that is not cancelled, the error means that the connection was refused for good.
        ///
        /// - Parameter request: The request that failed.
        /// - Returns: The verdict.
        public func verdict(for request: RequestSemantics) -> Verdict {
            if isOffline { return Verdict(connectionFailureOf: request, mayHaveBeenSent: false) }
            return switch code {
            // A handshake that fails on a bad network looks like a handshake that always fails. The request counts as
            // sent, since TLS 1.3 lets a client send before the server has accepted its certificate. On Linux a
            // connection closed without an answer is a bad response.
            case .networkConnectionLost, .timedOut, .secureConnectionFailed, .badServerResponse, .cannotParseResponse,
                .unknown:
                Verdict(connectionFailureOf: request, mayHaveBeenSent: true)
            default: .permanent
            }
        }

        /// Whether the request never reached a server: there is no usable network, the host does not exist, or it
        /// accepts no connection.
        ///
        /// The error does not show whether a redirect was followed first; if so, another server has seen the request.
        /// If you post to a server that answers with redirects, don't follow them in the session.
        public var isOffline: Bool {
            switch code {
            case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive: true
            case .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost: true
            default: false
            }
        }
    }

    /// The verdict of a failed request of unknown kind, so that a pipeline around any use of `URLSession` needs no
    /// classifier.
    extension URLError: VerdictConvertible {
        /// The verdict for a request that may not be sent twice: transient if no server saw it, uncertain if one may
        /// have acted on it, permanent if it will fail again in the same way.
        public var verdict: Verdict { verdict(for: .unknown) }
    }

    /// The verdict of a failed system call.
    extension POSIXError: VerdictConvertible {
        /// Transient if nothing was sent, as after a refused connection; permanent if it will fail again in the same
        /// way; otherwise uncertain.
        public var verdict: Verdict { Verdict(RequestFailure(errno: code.rawValue), of: .unknown) }
    }

    #if canImport(ObjectiveC)
        /// Apple's frameworks throw an `NSError`, even if it can be cast to another type.
        extension NSError: VerdictConvertible {
            /// The verdict of the underlying `URLError` or `POSIXError`; otherwise uncertain.
            public var verdict: Verdict {
                switch domain {
                case NSURLErrorDomain: URLError(URLError.Code(rawValue: code)).verdict
                case NSPOSIXErrorDomain:
                    CInt(exactly: code).map { Verdict(RequestFailure(errno: $0), of: .unknown) } ?? .uncertain
                default: .uncertain
                }
            }
        }
    #endif

    extension Classifier {
        /// Creates a classifier for a pipeline whose calls all send one kind of request through `URLSession`.
        ///
        /// It judges a thrown `URLError` by its `verdict(for:)`, and ``TimedOut`` as a request that may have been sent.
        /// It leaves all other errors to ``/Resilience/Classifier/standard``.
        ///
        /// - Parameter request: The semantics of the requests.
        /// - Returns: The classifier.
        public static func urlSession(for request: RequestSemantics) -> Classifier {
            Classifier { error in
                switch error {
                case let error as URLError: error.verdict(for: request)
                case is TimedOut: Verdict(connectionFailureOf: request, mayHaveBeenSent: true)
                default: nil
                }
            }
        }
    }
#endif
