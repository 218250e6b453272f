package import Resilience

/// An error of a client: a call to another service failed.
///
/// A server answers it with 502 or 504 by ``FailureResponse/init(upstream:)``, not with a bug's 500. `URLError`
/// conforms, and ResilienceAsyncHTTPClient conforms the errors of async-http-client. Conform the errors of a client of
/// your own, unless they are `VerdictConvertible`.
public protocol UpstreamError: Error {
    /// Whether the other service, or the way to it, failed.
    ///
    /// True by default; false for the caller's own errors of the same type, such as an invalid URL.
    var isUpstream: Bool { get }

    /// Whether the time ran out, so that the answer is a 504.
    ///
    /// False by default.
    var isTimeout: Bool { get }
}

extension UpstreamError {
    public var isUpstream: Bool { true }
    public var isTimeout: Bool { false }
}

extension CallFailure {
    /// The error as an `UpstreamError`; nil for other errors.
    package static func upstreamError(_ error: any Error) -> (any UpstreamError)? {
        #if canImport(Foundation)
            // On Apple's systems URLSession throws an NSError, which can be cast to URLError, but not to its protocols.
            if let error = error as? URLError { return error }
        #endif
        return error as? any UpstreamError
    }
}

#if canImport(Foundation)
    public import Foundation

    extension URLError: UpstreamError {
        /// False for a request that can't be sent (`badURL`, `unsupportedURL`, `requestBodyStreamExhausted`,
        /// `appTransportSecurityRequiresSecureConnection`), and for files.
        public var isUpstream: Bool {
            switch code {
            case .badURL, .unsupportedURL, .requestBodyStreamExhausted, .appTransportSecurityRequiresSecureConnection,
                .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile, .cannotCreateFile, .cannotOpenFile,
                .cannotCloseFile, .cannotWriteToFile, .cannotRemoveFile, .cannotMoveFile:
                false
            default: true
            }
        }

        public var isTimeout: Bool { code == .timedOut }
    }
#endif
