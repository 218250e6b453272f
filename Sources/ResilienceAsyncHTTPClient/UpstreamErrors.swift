#if AsyncHTTPClient
    public import AsyncHTTPClient
    public import NIOCore
    public import NIOHTTP1
    public import NIOPosix
    public import NIOSSL
    public import ResilienceHTTP

    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    extension HTTPClientError: UpstreamError {
        /// False for a request, or a client, that can't be used.
        public var isUpstream: Bool {
            switch self {
            case .proxyAuthenticationRequired, .redirectCycleDetected, .redirectLimitReached: true
            default: RequestFailure(self) != .permanent || shortDescription.hasPrefix("Server offered")
            }
        }

        /// Whether a time limit of the client has passed.
        public var isTimeout: Bool {
            [
                .connectTimeout, .deadlineExceeded, .getConnectionFromPoolTimeout, .httpProxyHandshakeTimeout,
                .readTimeout, .socksHandshakeTimeout, .tlsHandshakeTimeout, .writeTimeout,
            ].contains(self)
        }
    }

    // What the client lets through of the libraries that it is built on.

    /// No address, or no connection.
    extension NIOConnectionError: UpstreamError {}

    extension IOError: UpstreamError {
        /// True for errors of connections, and false for those of files.
        public var isUpstream: Bool {
            [
                ECONNABORTED, ECONNREFUSED, ECONNRESET, EHOSTUNREACH, ENETDOWN, ENETUNREACH, ENOTCONN, EPIPE, ETIMEDOUT,
            ].contains(errnoCode)
        }

        public var isTimeout: Bool { errnoCode == ETIMEDOUT }
    }

    extension ChannelError: UpstreamError {
        public var isTimeout: Bool { if case .connectTimeout = self { true } else { false } }
    }

    /// The answer is no HTTP.
    extension HTTPParserError: UpstreamError {}

    extension NIOSSLError: UpstreamError {
        /// False if a file with a certificate or a key can't be used.
        public var isUpstream: Bool {
            switch self {
            case .failedToLoadCertificate, .failedToLoadPrivateKey, .noSuchFilesystemObject: false
            default: true
            }
        }
    }

    /// The certificate is for another host.
    extension NIOSSLExtraError: UpstreamError {}

    extension NIOSSLCloseTimedOutError: UpstreamError {}

    extension BoringSSLError: UpstreamError {}

    #if canImport(Network)
        extension HTTPClient.NWPOSIXError: UpstreamError {}

        extension HTTPClient.NWTLSError: UpstreamError {}
    #endif
#endif
