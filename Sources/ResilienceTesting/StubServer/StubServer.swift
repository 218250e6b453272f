#if StubServer
    import FlyingSocks
    public import Foundation
    public import Resilience

    /// An HTTP server on loopback that answers by script: a ``ScriptedOperation`` behind a real connection.
    ///
    /// ```swift
    /// let server = try await StubServer.start()
    /// server.enqueue(
    ///     .status(429, headers: ["Retry-After": "1"]),
    ///     .resetMidBody(after: 10), .json(200, "{}"))
    /// let (data, _) = try await pipeline.run {
    ///     try await session.data(from: server.url)
    /// }
    /// #expect(server.requests.count == 3)
    /// await server.stop()
    /// ```
    ///
    /// It speaks HTTP/1.1 without TLS, and keeps connections open. A request counts once all of it has arrived. A
    /// request that is not HTTP is answered with 400; it neither counts nor uses an answer of the script.
    public final class StubServer: Sendable {
        /// The server's address: `http://127.0.0.1:port/`.
        public let url: URL
        /// The port that it listens on.
        public let port: UInt16
        private let script: ScriptedOperation<StubRequest, StubAnswer>
        private let connections: OpenConnections
        private let serving: Task<Void, Never>

        private init(
            url: URL, port: UInt16, script: ScriptedOperation<StubRequest, StubAnswer>, connections: OpenConnections,
            serving: Task<Void, Never>
        ) {
            self.url = url
            self.port = port
            self.script = script
            self.connections = connections
            self.serving = serving
        }

        deinit { serving.cancel() }

        /// Starts a server that listens on 127.0.0.1.
        ///
        /// - Parameters:
        ///   - answers: The answers, one per request.
        ///   - fallback: The answer when `answers` are used up. Without one, a 501 with an explanation is sent, which
        ///     `ResilienceHTTP` judges permanent.
        ///   - port: The port to listen on; 0, the default, picks a free one.
        ///   - timeBase: The time base of delays; the system's clock by default.
        /// - Returns: The server.
        /// - Throws: An error with the reason, for example if the port is taken.
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
            let connections = OpenConnections()
            let serving = Task { await serve(listener, script, connections, timeBase) }
            return StubServer(url: url, port: port, script: script, connections: connections, serving: serving)
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

        /// Stops the server.
        ///
        /// Returns once the port is free again and all connections have ended; held and delayed requests get no answer.
        ///
        /// A released server also stops. To keep it until the end of a test, call this last.
        public func stop() async {
            serving.cancel()
            await serving.value
        }

        private static func serve(
            _ listener: AsyncSocket, _ script: ScriptedOperation<StubRequest, StubAnswer>,
            _ connections: OpenConnections, _ timeBase: any TimeBase
        ) async {
            await withDiscardingTaskGroup { group in
                while !Task.isCancelled {
                    do {
                        let socket = try await listener.accept()
                        let connection = StubConnection(socket: socket, script: script, timeBase: timeBase)
                        connections.opened()
                        group.addTask {
                            await connection.serve()
                            connections.closed()
                        }
                    } catch SocketError.failed(_, ECONNABORTED, _) {
                        // One client has disconnected early; the next may not.
                    } catch {
                        break
                    }
                }
                try? listener.close()
            }
        }
    }

    extension StubServer {
        /// The number of connections that are open now.
        ///
        /// A connection counts from when the server accepts it until one side closes it. While a request is held or
        /// delayed, the server does not see that the client has closed the connection: call ``release(_:)`` first.
        public var openConnections: Int { connections.count }

        /// Waits until at most a number of connections are open, or the task is cancelled.
        ///
        /// ```swift
        /// call.cancel()
        /// server.release()
        /// await server.waitForConnections(atMost: 0)
        /// ```
        ///
        /// After a complete answer, a client may keep its connection open for the next request.
        ///
        /// - Parameter count: The number of connections that may be open, as ``openConnections`` counts them; less
        ///   than 0 counts as 0.
        public nonisolated(nonsending) func waitForConnections(atMost count: Int) async {
            await connections.wait(atMost: count)
        }
    }

    /// The methods of the script, as in a ``ScriptedOperation``.
    extension StubServer {
        /// Adds answers to the end of the script.
        ///
        /// - Parameter answers: The answers, one per request.
        public func enqueue(_ answers: StubAnswer...) {
            for answer in answers { script.enqueue(.success(answer)) }
        }

        /// The answer when the script is used up; nil answers such a request with a 501.
        public var fallback: StubAnswer? {
            get { try? script.fallback?.get() }
            set { script.fallback = newValue.map { .success($0) } }
        }

        /// Holds requests from now on: each waits for ``release(_:)``, before any delay of its own.
        public func hold() { script.hold() }

        /// Releases held requests.
        ///
        /// - Parameter count: The number of requests to release, the oldest first; later ones are still held. If nil,
        ///   the default, all are released, and later ones are not held.
        public func release(_ count: Int? = nil) { script.release(count) }

        /// Waits until at least a number of requests have arrived, or the task is cancelled.
        ///
        /// - Parameter count: The number of requests to wait for, counted from the beginning or the last ``reset()``.
        public nonisolated(nonsending) func waitForRequests(_ count: Int) async { await script.waitForCalls(count) }

        /// Every request, in order.
        public var requests: [StubRequest] { script.inputs }
        /// The number of requests that are held or delayed now.
        public var running: Int { script.running }
        /// The most requests that were held or delayed at the same time.
        public var mostRunning: Int { script.mostRunning }

        /// Removes requests, answers and the fallback, and releases held requests.
        public func reset() { script.reset() }
    }

    enum StubSockets {
        /// Watches the sockets of all servers, and lives as long as the process, because a pool has a thread of its
        /// own, and on Linux leaks a descriptor when it ends.
        static let pool = Task<any AsyncSocketPool, any Error> {
            let pool = SocketPool<Poll>.make()
            try await pool.prepare()
            Task { try await pool.run() }
            return pool
        }
    }
#endif
