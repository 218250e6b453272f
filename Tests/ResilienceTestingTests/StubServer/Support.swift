#if StubServer
    import FlyingSocks
    import Foundation
    import Testing

    @testable import ResilienceTesting

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// A `URLSession` that waits for as long as a test may take.
    final class HTTPClient: Sendable {
        private let session: URLSession

        init(connections: Int = 6) {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpMaximumConnectionsPerHost = connections
            configuration.timeoutIntervalForRequest = 600
            configuration.urlCache = nil
            session = URLSession(configuration: configuration)
        }

        deinit { session.invalidateAndCancel() }

        func send(_ request: URLRequest) async throws -> (response: HTTPURLResponse, body: Data) {
            let (body, response) = try await session.data(for: request)
            return (try #require(response as? HTTPURLResponse), body)
        }

        func get(_ url: URL) async throws -> (response: HTTPURLResponse, body: Data) {
            try await send(URLRequest(url: url))
        }

        func status(_ url: URL) async throws -> Int { try await get(url).response.statusCode }
    }

    /// A bare connection, which sends text unchanged.
    final class Wire: Sendable {
        private let socket: AsyncSocket

        init(to server: StubServer) async throws {
            let pool = try await StubSockets.pool.value
            let socket = try Socket(domain: AF_INET, type: .stream)
            try socket.connect(to: .inet(ip4: "127.0.0.1", port: server.port))
            self.socket = try AsyncSocket(socket: socket, pool: pool)
        }

        deinit { try? socket.close() }

        func write(_ text: String) async throws { try await socket.write(Data(text.utf8)) }

        func read(_ count: Int) async throws -> String {
            String(decoding: try await socket.read(bytes: count), as: UTF8.self)
        }

        /// Everything until the server closes the connection, and whether it did so by a reset.
        func readToEnd() async -> (text: String, wasReset: Bool) {
            var bytes: [UInt8] = []
            var wasReset = false
            do {
                while true { bytes += try await socket.read(atMost: 4096) }
            } catch {
                wasReset = Self.isReset(error)
            }
            // The end may be reported before all earlier bytes have been read.
            do {
                while true { bytes += try socket.socket.read(atMost: 4096) }
            } catch {
                wasReset = wasReset || Self.isReset(error)
            }
            return (String(decoding: bytes, as: UTF8.self), wasReset)
        }

        private static func isReset(_ error: any Error) -> Bool {
            if case SocketError.failed(_, ECONNRESET, _) = error { true } else { false }
        }
    }
#endif
