#if Demo
    import FlyingFox
    import FlyingSocks
    import Foundation
    import Resilience
    import ResilienceHTTP

    /// A real HTTP server on loopback that admits a number of requests per second, and answers the rest with a 429 and
    /// `Retry-After`.
    final class StormServer: Sendable {
        /// Returns nil to admit a request, or the wait to ask of its client.
        typealias Admission = @Sendable () async -> Duration?

        let url: URL
        private let admission: Admission
        private let records = Locked(Ledger())

        var ledger: Ledger { records.withLock { $0 } }

        private init(_ admission: @escaping Admission, port: UInt16) throws {
            guard let url = URL(string: "http://127.0.0.1:\(port)/mutations") else { throw NoAddress() }
            self.url = url
            self.admission = admission
        }

        /// Admits this many requests per second, and a burst after a quiet time.
        static func limit(rate: Int, burst: Int) -> Admission {
            let throttle = Throttle(limit: .perSecond(rate, burst: burst))
            return {
                do { try await throttle.run {} } catch { return CallFailure(error).retryAfter ?? .seconds(1) }
                return nil
            }
        }

        /// Runs a server on a free port for as long as `body` runs.
        static func serve<R>(
            admitting admission: @escaping Admission, _ body: (StormServer) async throws -> R
        ) async throws -> R {
            // Both time limits are generous: among a thousand tests on one processor, the server's turn may be minutes
            // away.
            let address = try sockaddr_in.inet(ip4: "127.0.0.1", port: 0)
            let http = HTTPServer(address: address, timeout: 600, logger: .disabled)
            let running = Task { try await http.run() }
            try await http.waitUntilListening(timeout: 300)
            guard case .ip4(_, let port) = await http.listeningAddress else { throw NoAddress() }
            let server = try StormServer(admission, port: port)
            await http.appendRoute("POST /mutations") { [server] request in await server.answer(request) }
            let result: Result<R, any Error>
            do { result = .success(try await body(server)) } catch { result = .failure(error) }
            await http.stop()
            running.cancel()
            _ = await running.result
            return try result.get()
        }

        private func answer(_ request: HTTPRequest) async -> HTTPResponse {
            let key = request.headers[HTTPHeader("Idempotency-Key")]
            let wait = await admission()
            records.withLock { $0.received(key, isAdmitted: wait == nil, at: SystemTimeBase.shared.now) }
            // The answers have no body: header and body would be two packets, and the second would wait until the first
            // is acknowledged.
            guard let wait else { return HTTPResponse(statusCode: .created) }
            var headers = HTTPHeaders()
            headers[HTTPHeader("Retry-After")] = RetryAfter.value(for: wait)
            return HTTPResponse(statusCode: .tooManyRequests, headers: headers)
        }

        private struct NoAddress: Error, CustomStringConvertible {
            let description = "the server on loopback has no address"
        }
    }
#endif
