/// An error of a client, which says that a call to another service failed.
///
/// A server answers it with a 502 or a 504, as ``FailureResponse/init(upstream:)`` says, and not with the 500 of a bug. `URLError`
/// is one, and ResilienceAsyncHTTPClient makes the errors of async-http-client some. Conform the errors of a client of your own,
/// unless they are `VerdictConvertible`.
public protocol UpstreamError: Error {
    /// Whether the other service, or the way to it, failed. True by default; false for errors of the same type that are the
    /// caller's own, such as an invalid URL.
    var isUpstream: Bool { get }

    /// Whether the time ran out: then the answer is a 504. False by default.
    var isTimeout: Bool { get }
}

extension UpstreamError {
    public var isUpstream: Bool { true }
    public var isTimeout: Bool { false }
}

#if canImport(Foundation)
    public import Foundation

    extension URLError: UpstreamError {
        /// False for `badURL`, `unsupportedURL` and `requestBodyStreamExhausted`.
        public var isUpstream: Bool { ![.badURL, .unsupportedURL, .requestBodyStreamExhausted].contains(code) }

        public var isTimeout: Bool { code == .timedOut }
    }
#endif
