package import Resilience

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// How far a failed request got, by its error.
package enum RequestFailure: Sendable, Hashable {
    /// The client's own pool had no connection for the request. No server saw the request, and no server caused the
    /// failure.
    case noFreeConnection
    /// No server saw the request.
    case notSent
    /// A server may have acted on the request.
    case mayHaveBeenSent
    /// The request would fail in the same way the next time.
    case permanent

    /// Whether the request's body is unread, so that it can be sent again.
    package var isUnsent: Bool { self == .notSent || self == .noFreeConnection }

    /// Classifies a failed system call.
    package init(errno: CInt) {
        switch errno {
        // The connection was refused, no local address or descriptor was left, or the socket file does not exist.
        case ECONNREFUSED, EADDRNOTAVAIL, EADDRINUSE, EMFILE, ENFILE, ENOENT: self = .notSent
        // A firewall of this machine, or missing rights to a socket file.
        case EACCES, EPERM: self = .permanent
        default: self = .mayHaveBeenSent
        }
    }
}

extension Verdict {
    package init(_ failure: RequestFailure, of request: RequestSemantics) {
        switch failure {
        case .noFreeConnection: self = .rejected
        case .notSent: self = Verdict(connectionFailureOf: request, mayHaveBeenSent: false)
        case .mayHaveBeenSent: self = Verdict(connectionFailureOf: request, mayHaveBeenSent: true)
        case .permanent: self = .permanent
        }
    }
}
