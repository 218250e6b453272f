#if StubServer
    import FlyingSocks
    public import Foundation
    public import Resilience

    /// An HTTP server on loopback that answers by script: a ``ScriptedOperation`` behind a real connection.
    ///
    /// ```swift
    /// let server = try await StubServer.start()
    /// server.enqueue(.status(429, headers: ["Retry-After": "1"]), .resetMidBody(after: 10), .json(200, "{}"))
    /// let (data, _) = try await pipeline.run { try await session.data(from: server.url) }
    /// #expect(server.requests.count == 3)
    /// await server.stop()
    /// ```
    ///
    /// It speaks HTTP/1.1 without TLS, and keeps connections open. A request counts once all of it has come. One that is
    /// not HTTP is answered 400, and neither counted nor answered by the script.
    public final class StubServer: Sendable {
        /// `http://127.0.0.1:port/`.
        public let url: URL
        public let port: UInt16
        private let script: ScriptedOperation<StubRequest, StubAnswer>
        private let serving: Task<Void, Never>

        private init(
            url: URL, port: UInt16, script: ScriptedOperation<StubRequest, StubAnswer>, serving: Task<Void, Never>
        ) {
            self.url = url
            self.port = port
            self.script = script
            self.serving = serving
        }

        deinit { serving.cancel() }

        /// Listens on 127.0.0.1.
        /// - Parameters:
        ///   - answers: given one a request.
        ///   - fallback: given when `answers` are used up. Without one such a request is answered 501, which is permanent by
        ///     `ResilienceHTTP`, with a text that says so.
        ///   - port: 0 for one that is free.
        ///   - timeBase: what delays are measured by.
        /// - Throws: an error that says why, if the port is taken.
        public static func start(
            _ answers: [StubAnswer] = [], fallback: StubAnswer? = nil, port: UInt16 = 0,
            timeBase: any TimeBase = .system
        ) async throws -> StubServer {
            let pool = try await StubSockets.pool.value
            let listener = try AsyncSocket(socket: listen(on: port), pool: pool)
            guard case .ip4(let address, let port) = try listener.socket.sockname(),
                let url = URL(string: "http://\(address):\(port)/")
            else { throw SocketError.unsupportedAddress }
            let script = ScriptedOperation<StubRequest, StubAnswer>(
                answers.map { .success($0) }, fallback: fallback.map { .success($0) })
            let serving = Task { await serve(listener, script, timeBase) }
            return StubServer(url: url, port: port, script: script, serving: serving)
        }

        private static func listen(on port: UInt16) throws -> Socket {
            let socket = try Socket(domain: AF_INET, type: .stream)
            do {
                try socket.setValue(true, for: .localAddressReuse)
                #if canImport(Darwin)
                    try socket.setValue(true, for: .noSIGPIPE)
                #endif
                try socket.bind(to: .inet(ip4: "127.0.0.1", port: port))
            } catch {
                try? socket.close()
                throw error
            }
            try socket.listen()  // closes it if it fails
            return socket
        }

        /// Returns once the port is free again and all connections have ended, those of held and delayed requests without
        /// an answer. A server that nobody holds any longer stops too, so keep it by calling this last.
        public func stop() async {
            serving.cancel()
            await serving.value
        }

        private static func serve(
            _ listener: AsyncSocket, _ script: ScriptedOperation<StubRequest, StubAnswer>, _ timeBase: any TimeBase
        ) async {
            await withDiscardingTaskGroup { group in
                while !Task.isCancelled {
                    do {
                        let socket = try await listener.accept()
                        let connection = StubConnection(socket: socket, script: script, timeBase: timeBase)
                        group.addTask { await connection.serve() }
                    } catch SocketError.failed(_, ECONNABORTED, _) {
                        // One client has hung up early; the next may not.
                    } catch {
                        break
                    }
                }
                try? listener.close()
            }
        }
    }

    /// What it has in common with ``ScriptedOperation``.
    extension StubServer {
        /// Adds answers to the end of the queue.
        public func enqueue(_ answers: StubAnswer...) {
            for answer in answers { script.enqueue(.success(answer)) }
        }

        /// Given when the queue is used up.
        public var fallback: StubAnswer? {
            get { try? script.fallback?.get() }
            set { script.fallback = newValue.map { .success($0) } }
        }

        /// From now on requests wait for ``release(_:)``, before any delay of their own.
        public func hold() { script.hold() }

        /// Lets held requests go: the oldest `count`, or all, after which requests are no longer held.
        public func release(_ count: Int? = nil) { script.release(count) }

        /// Returns once at least `count` requests have come.
        public nonisolated(nonsending) func waitForRequests(_ count: Int) async { await script.waitForCalls(count) }

        /// Every request, in order.
        public var requests: [StubRequest] { script.inputs }
        /// Requests that are held or delayed now.
        public var running: Int { script.running }
        /// The most requests that were ever held or delayed at the same time.
        public var mostRunning: Int { script.mostRunning }

        /// Forgets requests, answers and the fallback, and lets held requests go.
        public func reset() { script.reset() }
    }

    enum StubSockets {
        /// Watches the sockets of all servers, and lives as long as the process: a pool has a thread of its own, and on
        /// Linux leaks a descriptor when it ends.
        static let pool = Task<any AsyncSocketPool, any Error> {
            let pool = SocketPool<Poll>.make()
            try await pool.prepare()
            Task { try await pool.run() }
            return pool
        }
    }
#endif
