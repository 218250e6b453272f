#if Demo
    import Foundation
    import Resilience
    import ResilienceHTTP

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// A failure that no mutation is to blame for: the server can't take any mutation.
    struct ServerTrouble: Error, Hashable, VerdictConvertible, CustomStringConvertible {
        let description: String

        /// Transient: it may pass, and a breaker counts it.
        var verdict: Verdict { .transient }

        private init(_ description: String) { self.description = description }

        /// A request that ended without a response.
        init(_ error: URLError, at url: URL) {
            self.init(
                error.isOffline
                    ? "cannot reach \(url.absoluteString): \(Self.reason(error))"
                    : "\(url.absoluteString) does not answer as an HTTP server does: \(Self.reason(error))")
        }

        /// A response that is not HTTP.
        init(noHTTPFrom url: URL) { self.init("\(url.absoluteString) does not answer in HTTP") }

        /// A request that exceeded its time limit.
        init(_ timedOut: TimedOut, at url: URL) {
            self.init("\(url.absoluteString) does not answer: no response in \(timedOut.limit)")
        }

        /// A status that says that no mutation can be posted there; nil for any other status.
        init?(status: Int, verdict: Verdict, location: String?, at url: URL) {
            switch status {
            case 300..<400:
                // Redirects are not followed: a redirected POST may arrive as a GET, and look like an acknowledgement.
                self.init(
                    "\(url.absoluteString) redirects\(location.map { " to \($0)" } ?? "") (HTTP status \(status)); "
                        + "give the address where mutations are to be posted")
            case 401, 402, 403, 404, 405, 406, 407, 410, 421, 426, 501, 505,
                511:
                guard verdict.kind == .permanent, verdict.shouldRetry != true else { return nil }
                self.init("\(url.absoluteString) takes no mutations: HTTP status \(status)")
            default:
                return nil
            }
        }

        private static func reason(_ error: URLError) -> String {
            switch error.code {
            case .cannotConnectToHost: "nobody accepts connections there"
            case .cannotFindHost, .dnsLookupFailed: "no such host"
            case .notConnectedToInternet: "no network"
            case .networkConnectionLost: "the connection was closed"
            case .badServerResponse, .cannotParseResponse: "the response is not HTTP, or is cut short"
            case .timedOut: "the time is up"
            default: error.localizedDescription
            }
        }
    }
#endif
