#if canImport(Foundation)
    public import Foundation
    public import Resilience

    #if canImport(FoundationNetworking)
        public import FoundationNetworking
    #endif

    extension RequestSemantics {
        /// The method of `request`, and whether it has an `Idempotency-Key` field that is not blank.
        public init(_ request: URLRequest) {
            let key = FieldCursor(request.value(forHTTPHeaderField: "Idempotency-Key") ?? "")
            self.init(method: request.httpMethod ?? "GET", hasIdempotencyKey: !key.isAtEnd)
        }
    }

    extension HTTPURLResponse {
        /// What this response means: see `Verdict.init(httpStatus:for:remark:now:header:)`.
        ///
        /// ```swift
        /// let (data, response) = try await session.data(for: request)
        /// let verdict = (response as? HTTPURLResponse)?.verdict(for: RequestSemantics(request)) ?? .success
        /// ```
        public func verdict(for request: RequestSemantics, remark: ServerRemark? = nil, now: Int64? = nil) -> Verdict {
            Verdict(httpStatus: statusCode, for: request, remark: remark, now: now) {
                value(forHTTPHeaderField: $0)
            }
        }
    }

    extension URLError {
        /// What this failure of `request` means.
        ///
        /// - ``isOffline``: transient, of any method, because no server saw the request.
        /// - Connection lost or reset, timeout, a handshake or an answer cut short, an unknown failure: transient if
        ///   the request is ``RequestSemantics/isRepeatable``, else uncertain, because a server may have acted on it.
        /// - All else, which will be the same the next time: permanent. A certificate that is not trusted, a bad URL, a
        ///   redirect loop, a missing sign-in, contents that can't be decoded or stored.
        ///
        /// `URLError.cancelled` is permanent too: that the caller's own task is cancelled shows in the task, not in the
        /// error, and in any other task it means that somebody refused the connection for good.
        public func verdict(for request: RequestSemantics) -> Verdict {
            if isOffline { return Verdict(connectionFailureOf: request, mayHaveBeenSent: false) }
            return switch code {
            // A handshake that fails on a bad line and one that always fails look the same here. It counts as sent
            // since TLS 1.3 lets a client send before the server has agreed to its certificate. A connection closed
            // without an answer is a bad response on Linux.
            case .networkConnectionLost, .timedOut, .secureConnectionFailed, .badServerResponse, .cannotParseResponse,
                .unknown:
                Verdict(connectionFailureOf: request, mayHaveBeenSent: true)
            default: .permanent
            }
        }

        /// Whether the request never reached a server: no network, or none that may be used, no such host, or nobody
        /// who accepts connections there.
        ///
        /// The error does not tell whether a redirect was followed first, after which another server has seen the
        /// request. Who posts to a server that answers so should not follow redirects in the session.
        public var isOffline: Bool {
            switch code {
            case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive: true
            case .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost: true
            default: false
            }
        }
    }

    extension Classifier {
        /// For a pipeline whose calls are all `request`s through `URLSession`: judges thrown `URLError`s, and leaves
        /// the rest to ``Classifier/standard``, which would take any of them for transient, the lost POST as well.
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
