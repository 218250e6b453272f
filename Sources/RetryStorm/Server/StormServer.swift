#if Demo
    import FlyingFox
    import FlyingSocks
    import Foundation
    import Resilience

    /// A real HTTP server on loopback that admits a number of requests per second, and answers the rest with a 429 and
    /// `Retry-After`.
    final class StormServer: Sendable {
        let url: URL
        private let ledger: Locked<Ledger>
        private let base: any TimeBase
        private let onThrottled: (@Sendable () -> Void)?

        var counts: Ledger.Counts { ledger.withLock { $0.counts } }
        var perSecond: [Ledger.Second] { ledger.withLock { $0.perSecond } }

        private init(_ ledger: Ledger, port: UInt16, base: any TimeBase, _ onThrottled: (@Sendable () -> Void)?) throws
        {
            guard let url = URL(string: "http://127.0.0.1:\(port)/mutations") else { throw NoAddress() }
            self.url = url
            self.ledger = Locked(ledger)
            self.base = base
            self.onThrottled = onThrottled
        }

        /// Runs a server on a free port for as long as `body` runs.
        /// - Parameter onThrottled: Called for every 429, before it is sent.
        static func serve<R>(
            _ bucket: TokenBucket, timeBase: any TimeBase = .system,
            onThrottled: (@Sendable () -> Void)? = nil, _ body: (StormServer) async throws -> R
        ) async throws -> R {
            // Both time limits are generous: among a thousand tests on one processor, its turn may be minutes away.
            let address = try sockaddr_in.inet(ip4: "127.0.0.1", port: 0)
            let http = HTTPServer(address: address, timeout: 600, logger: .disabled)
            let running = Task { try await http.run() }
            try await http.waitUntilListening(timeout: 300)
            guard case .ip4(_, let port) = await http.listeningAddress else { throw NoAddress() }
            let server = try StormServer(Ledger(bucket), port: port, base: timeBase, onThrottled)
            await http.appendRoute("POST /mutations") { [server] request in await server.answer(request) }
            let result: Result<R, any Error>
            do { result = .success(try await body(server)) } catch { result = .failure(error) }
            await http.stop()
            running.cancel()
            _ = await running.result
            return try result.get()
        }

        private func answer(_ request: HTTPRequest) async -> HTTPResponse {
            // The server reads the body, but the rate limit ignores it.
            let key = request.headers[HTTPHeader("Idempotency-Key")]
            let now = base.now.nanoseconds
            // The answers have no body: header and body would be two packets, and the second would wait until the first
            // is acknowledged.
            switch ledger.withLock({ $0.received(key: key, at: now) }) {
            case .accepted:
                return HTTPResponse(statusCode: .created)
            case .throttled(let seconds):
                onThrottled?()
                var headers = HTTPHeaders()
                headers[HTTPHeader("Retry-After")] = "\(seconds)"
                return HTTPResponse(statusCode: .tooManyRequests, headers: headers)
            case .noKey:
                return HTTPResponse(statusCode: .badRequest)
            }
        }

        private struct NoAddress: Error, CustomStringConvertible {
            let description = "the server on loopback has no address"
        }
    }
#endif
