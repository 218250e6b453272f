#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import NIOSSL
    import Resilience
    public import ResilienceHTTP

    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// The exchange with a server failed with an error that is not `HTTPClient`'s own: a reset connection, an untrusted
    /// certificate, an answer that is not HTTP.
    ///
    /// ``ResilientHTTPClient`` throws it instead of SwiftNIO's error. SwiftNIO throws the same errors for connections
    /// of a server's own clients; this error is always about the other service.
    ///
    /// If the request's body is streamed, and may have been read, no error is replaced: the body's errors look like
    /// the exchange's.
    public struct ExchangeFailed: UpstreamError, CustomStringConvertible {
        /// The original error.
        public let underlying: any Error
        /// The host that was called, for outer descriptions of the failure.
        let host: String?

        /// Creates the error.
        ///
        /// - Parameter underlying: The original error.
        public init(underlying: any Error) { self.init(underlying: underlying, host: nil) }

        private init(underlying: any Error, host: String?) { (self.underlying, self.host) = (underlying, host) }

        /// Whether a time limit of the system or of SwiftNIO passed.
        public var isTimeout: Bool {
            switch underlying {
            case let error as IOError: error.errnoCode == ETIMEDOUT
            case ChannelError.connectTimeout: true
            default: false
            }
        }

        public var description: String { "The exchange with the server failed: \(underlying)" }

        /// Wraps an error of the exchange in this type; all others stay as they are.
        static func naming(_ error: any Error, at host: String? = nil) -> any Error {
            switch error {
            case let error as HTTPClientError where error == .getConnectionFromPoolTimeout: NoFreeConnection()
            case is any UpstreamError, is any PolicyError, is CancellationError: error
            case _ where isOwn(error): error
            case is any VerdictConvertible where RequestFailure(error) == nil: error
            default: ExchangeFailed(underlying: error, host: host)
            }
        }

        /// Whether the caller's own settings or limits were the cause.
        private static func isOwn(_ error: any Error) -> Bool {
            switch error {
            case is EventLoopError: true
            case let error as IOError: error.errnoCode == EMFILE || error.errnoCode == ENFILE
            case let error as SocketAddressError:
                switch error {
                case .unsupported, .unixDomainSocketPathTooLong, .failedToParseIPString: true
                default: false
                }
            case let error as NIOSSLError:
                switch error {
                case .failedToLoadCertificate, .failedToLoadPrivateKey, .noSuchFilesystemObject: true
                default: false
                }
            default: false
            }
        }
    }
#endif
