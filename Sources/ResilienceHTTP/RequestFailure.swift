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
    /// The client's own pool had no connection for it. No server saw it or is to blame.
    case noFreeConnection
    /// No server saw it.
    case notSent
    /// A server may have acted on it.
    case mayHaveBeenSent
    /// It fails in the same way the next time.
    case permanent

    /// Whether its body is unread, so that it can be sent again.
    package var isUnsent: Bool { self == .notSent || self == .noFreeConnection }

    /// Classifies a failed system call.
    package init(errno: CInt) {
        switch errno {
        // Refused, none of our own addresses or descriptors left, no such socket in the file system.
        case ECONNREFUSED, EADDRNOTAVAIL, EADDRINUSE, EMFILE, ENFILE, ENOENT: self = .notSent
        // A firewall of this machine, or the rights to a socket in the file system.
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
