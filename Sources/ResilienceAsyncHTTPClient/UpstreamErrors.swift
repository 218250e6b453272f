#if AsyncHTTPClient
    public import AsyncHTTPClient
    public import NIOPosix
    public import NIOSSL
    public import ResilienceHTTP

    extension HTTPClientError: UpstreamError {
        /// Whether a time limit of the client has passed.
        public var isTimeout: Bool {
            [
                .connectTimeout, .deadlineExceeded, .getConnectionFromPoolTimeout, .httpProxyHandshakeTimeout,
                .readTimeout, .socksHandshakeTimeout, .tlsHandshakeTimeout, .writeTimeout,
            ].contains(self)
        }
    }

    /// No address, or no connection.
    extension NIOConnectionError: UpstreamError {}

    extension NIOSSLError: UpstreamError {}
#endif
