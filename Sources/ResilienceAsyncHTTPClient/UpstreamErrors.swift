#if AsyncHTTPClient
    public import AsyncHTTPClient
    public import NIOPosix
    public import ResilienceHTTP

    extension HTTPClientError: UpstreamError {
        /// False for a request, or a client, that can't be used.
        public var isUpstream: Bool {
            switch self {
            case .proxyAuthenticationRequired, .redirectCycleDetected, .redirectLimitReached: true
            default: RequestFailure(self) != .permanent || shortDescription.hasPrefix("Server offered")
            }
        }

        /// Whether a time limit of the client passed.
        public var isTimeout: Bool {
            [
                .connectTimeout, .deadlineExceeded, .getConnectionFromPoolTimeout, .httpProxyHandshakeTimeout,
                .readTimeout, .socksHandshakeTimeout, .tlsHandshakeTimeout, .writeTimeout,
            ].contains(self)
        }
    }

    /// No address, or no connection.
    extension NIOConnectionError: UpstreamError {}

    #if canImport(Network)
        extension HTTPClient.NWPOSIXError: UpstreamError {
            public var isTimeout: Bool { errorCode == .ETIMEDOUT }
        }

        extension HTTPClient.NWTLSError: UpstreamError {}
    #endif
#endif
