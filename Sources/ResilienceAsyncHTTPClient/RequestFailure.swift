#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import NIOHTTP1
    import NIOPosix
    import NIOSSL
    public import Resilience
    public import ResilienceHTTP

    extension Verdict {
        /// The verdict of an error that `HTTPClient` threw; nil if the error is not from the client or its libraries.
        ///
        /// | error | verdict |
        /// |---|---|
        /// | the request was not sent: no address, no connection, no handshake | transient |
        /// | no connection of the client's own pool became free: the server did not receive the request | rejected |
        /// | it may have been sent: the connection was lost, a time limit passed, the answer is not HTTP | transient if the request is repeatable, else uncertain |
        /// | it will fail again: a wrong request, an untrusted certificate, a redirect loop, a client that is shut down | permanent |
        ///
        /// <doc:AsyncHTTPClientGuide> lists all errors. The error does not show whether a redirect was followed before:
        /// if you post to a server that answers with redirects to other hosts, don't follow them in the client.
        ///
        /// `TimedOut` counts as a request that may have been sent, unless its operation had no time to begin.
        ///
        /// - Parameters:
        ///   - error: The error.
        ///   - request: The request that failed.
        public init?(asyncHTTPClientError error: any Error, for request: RequestSemantics) {
            guard let failure = RequestFailure(error) else { return nil }
            self.init(failure, of: request)
        }
    }

    extension RequestFailure {
        init?(_ error: any Error) {
            switch error {
            case is NoFreeConnection: self = .noFreeConnection
            case let error as HTTPClientError: self = Self(error)
            case let error as ExchangeFailed:
                guard let failure = Self(error.underlying) else { return nil }
                self = failure
            case is NIOConnectionError, is SocketAddressError.UnknownHost: self = .notSent
            case let error as ChannelError: self = Self(error)
            case let error as IOError: self = Self(errno: error.errnoCode)
            case let error as SocketAddressError: self = Self(error)
            // The group of threads is shut down.
            case is EventLoopError: self = .permanent
            case let error as NIOSSLError: self = Self(error)
            case is NIOSSLExtraError: self = .permanent
            case is BoringSSLError: self = Self.isTrustFailure(error) ? .permanent : .mayHaveBeenSent
            case is NIOSSLCloseTimedOutError, is HTTPParserError, is CancellationError: self = .mayHaveBeenSent
            case let error as TimedOut: self = error.reachedService == false ? .notSent : .mayHaveBeenSent
            default:
                #if canImport(Network)
                    switch error {
                    case let error as HTTPClient.NWPOSIXError: self = Self(errno: error.errorCode.rawValue)
                    case is HTTPClient.NWTLSError: self = .permanent
                    default: return nil
                    }
                #else
                    return nil
                #endif
            }
        }

        private init(_ error: HTTPClientError) {
            // After an unknown error of a later version of the library, the request may have been sent.
            self = Self.byShortDescription[error.shortDescription] ?? .mayHaveBeenSent
        }

        private init(_ error: ChannelError) {
            switch error {
            case .connectPending, .connectTimeout, .unknownLocalAddress: self = .notSent
            default: self = .mayHaveBeenSent
            }
        }

        private init(_ error: SocketAddressError) {
            switch error {
            case .unsupported, .unixDomainSocketPathTooLong, .failedToParseIPString: self = .permanent
            // The host is unknown.
            default: self = .notSent
            }
        }

        private init(_ error: NIOSSLError) {
            switch error {
            case .handshakeFailed: self = Self.isTrustFailure(error) ? .permanent : .notSent
            case .noSuchFilesystemObject, .failedToLoadCertificate, .failedToLoadPrivateKey, .cannotMatchULabel,
                .noCertificateToValidate, .unableToValidateCertificate, .cannotFindPeerIP:
                self = .permanent
            default: self = .mayHaveBeenSent
            }
        }

        /// Whether a certificate was not accepted. BoringSSL's reasons are known only by their names.
        private static func isTrustFailure(_ error: any Error) -> Bool {
            "\(error)".contains("CERTIFICATE_VERIFY_FAILED")
        }

        /// All `HTTPClientError`s but `internalStateFailure`, whose text differs. Their codes are private, and three of
        /// them are deprecated; a test compares this table with the library's source.
        ///
        /// A proxy's invalid response is a failed answer to the CONNECT: usually the proxy can't reach the server.
        static let byShortDescription: [String: RequestFailure] = Dictionary(
            uniqueKeysWithValues: shortDescriptions.flatMap { failure, texts in texts.map { ($0, failure) } })

        private static let shortDescriptions: [RequestFailure: [String]] = [
            .noFreeConnection: [
                "Get connection from pool timeout"
            ],
            .notSent: [
                "Connect timeout", "HTTP proxy handshake timeout", "Invalid proxy response",
                "SOCKS handshake timeout", "TLS handshake timeout",
            ],
            .mayHaveBeenSent: [
                "Cancelled", "Deadline exceeded", "HTTP end received after head with 1xx", "Read timeout",
                "Remote connection closed", "Request stream cancelled", "Write timeout",
            ],
            .permanent: [
                "Already shutdown", "Body length mismatch", "Chunked specified multiple times",
                "Content length missing", "Empty host", "Empty scheme", "Identity coding incorrectly present",
                "Incompatible headers", "Invalid header field names", "Invalid header field values",
                "Invalid local address", "Invalid URL", "Missing socket path", "Proxy authentication required",
                "Redirect cycle detected", "Redirect limit reached",
                "Server offered unsupported application protocol",
                "The DNS overrides specified in the configuration are not valid. Please specify in the format hostname1:ip1,hostname2:ip2",
                "The global singleton HTTP client cannot be shut down",
                "The HTTP version specified in the configuration is not a valid value",
                "The proxy configuration is not valid",
                "The redirect mode specified in the configuration is not a valid value", "Trace request with body",
                "Unclean shutdown", "Unsupported scheme", "Write after request sent",
            ],
        ]
    }
#endif
