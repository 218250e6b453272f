#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import NIOHTTP1
    import NIOPosix
    import Synchronization
    import Testing

    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// A server's answer to one request.
    enum WireAnswer: Sendable {
        /// Sends these bytes and keeps the connection open.
        case send(String)
        /// Sends these bytes, then closes.
        case close(after: String)
        /// Sends these bytes, then resets.
        case reset(after: String)
        /// Sends nothing.
        case silence

        /// A whole response with a length.
        static func status(_ status: Int, _ fields: [String] = [], body: String = "") -> WireAnswer {
            let fields = fields.map { "\($0)\r\n" }.joined()
            return .send("HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)")
        }
    }

    /// A server on loopback that answers by script, byte for byte, and counts its connections.
    final class WireServer: Sendable {
        let port: Int
        /// The connections that are open now.
        let open: Count
        /// All connections so far.
        let accepted: Count
        /// The complete requests so far.
        let received: Count
        /// Whether the client has kept every connection. It may have made more than one: a response may end a moment
        /// before its connection is free for the next request.
        var keptAll: Bool { open.value == accepted.value }
        private let listener: any Channel
        fileprivate let state: WireState

        private init(
            _ listener: any Channel, _ state: WireState, _ counts: (open: Count, accepted: Count, received: Count)
        ) {
            self.listener = listener
            self.state = state
            port = listener.localAddress?.port ?? 0
            (open, accepted, received) = counts
        }

        static func start(_ answers: [WireAnswer]) async throws -> WireServer {
            let state = WireState(answers)
            let counts = (open: Count(), accepted: Count(), received: Count())
            let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(WireHandler(state, counts))
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            return WireServer(listener, state, counts)
        }

        /// An address without a listener: the system never assigns this port.
        static let nowhere = "http://127.0.0.1:1/"

        func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

        func enqueue(_ answers: WireAnswer...) { state.answers.withLock { $0 += answers } }

        /// The requests, as they came over the wire.
        var requests: [String] { state.requests.withLock { $0 } }

        /// Sends bytes on the latest connection.
        func send(_ text: String) async throws {
            guard let channel = state.latest.withLock({ $0 }) else { return }
            try await channel.writeAndFlush(ByteBuffer(string: text))
        }

        /// Closes the latest connection.
        func cut() async throws { try await state.latest.withLock({ $0 })?.close() }

        /// Accepts no more connections.
        func stop() async throws { try await listener.close() }
    }

    final class WireState: Sendable {
        let answers: Mutex<[WireAnswer]>
        let requests = Mutex<[String]>([])
        let latest = Mutex<(any Channel)?>(nil)

        init(_ answers: [WireAnswer]) { self.answers = Mutex(answers) }
    }

    private final class WireHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let state: WireState
        private let counts: (open: Count, accepted: Count, received: Count)
        private var buffer = ""

        init(_ state: WireState, _ counts: (open: Count, accepted: Count, received: Count)) {
            self.state = state
            self.counts = counts
        }

        func channelActive(context: ChannelHandlerContext) {
            let channel = context.channel
            state.latest.withLock { $0 = channel }
            counts.accepted.add(1)
            counts.open.add(1)
        }

        func channelInactive(context: ChannelHandlerContext) { counts.open.add(-1) }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            buffer += String(buffer: unwrapInboundIn(data))
            while let request = takeRequest() {
                state.requests.withLock { $0.append(request) }
                counts.received.add(1)
                let answer = state.answers.withLock { $0.isEmpty ? .status(599) : $0.removeFirst() }
                switch answer {
                case .send(let text): write(text, context)
                case .close(let text):
                    write(text, context)
                    context.close(promise: nil)
                case .reset(let text):
                    write(text, context)
                    // With a linger time of zero, closing a socket resets its connection.
                    let provider = context.channel as? any SocketOptionProvider
                    let set = provider?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
                    set?.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
                case .silence: break
                }
            }
        }

        private func write(_ text: String, _ context: ChannelHandlerContext) {
            if !text.isEmpty { context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil) }
        }

        /// The next complete request.
        private func takeRequest() -> String? {
            guard let headEnd = buffer.firstRange(of: "\r\n\r\n")?.upperBound else { return nil }
            let head = buffer[..<headEnd].lowercased()
            var end = headEnd
            if head.contains("transfer-encoding: chunked") {
                guard let chunksEnd = buffer[headEnd...].firstRange(of: "0\r\n\r\n")?.upperBound else { return nil }
                end = chunksEnd
            } else if let length = head.firstMatch(of: /content-length: (\d+)/).flatMap({ Int($0.output.1) }) {
                guard
                    let bodyEnd = buffer.utf8.index(headEnd, offsetBy: length, limitedBy: buffer.utf8.endIndex)
                else { return nil }
                end = bodyEnd
            }
            defer { buffer.removeSubrange(..<end) }
            return String(buffer[..<end])
        }
    }

    /// A count whose values a test can wait for.
    final class Count: Sendable {
        private struct Waiter {
            let fits: @Sendable (Int) -> Bool
            let continuation: CheckedContinuation<Void, Never>
        }

        private let state = Mutex<(value: Int, waiters: [Waiter])>((0, []))

        var value: Int { state.withLock { $0.value } }

        func add(_ change: Int) {
            let woken = state.withLock { state in
                state.value += change
                let value = state.value
                let woken = state.waiters.filter { $0.fits(value) }
                state.waiters.removeAll { $0.fits(value) }
                return woken
            }
            for waiter in woken { waiter.continuation.resume() }
        }

        func wait(until fits: @escaping @Sendable (Int) -> Bool) async {
            await withCheckedContinuation { continuation in
                let fitsNow = state.withLock { state in
                    if fits(state.value) { return true }
                    state.waiters.append(Waiter(fits: fits, continuation: continuation))
                    return false
                }
                if fitsNow { continuation.resume() }
            }
        }

        func wait(for value: Int) async { await wait { $0 == value } }
        func wait(atLeast value: Int) async { await wait { $0 >= value } }
    }

    /// Runs a test with a server and a client, and checks that no connection outlives the client.
    nonisolated(nonsending) func withServer(
        _ answers: [WireAnswer], configure: (inout HTTPClient.Configuration) -> Void = { _ in },
        _ body: nonisolated(nonsending) (WireServer, HTTPClient) async throws -> Void
    ) async throws {
        let server = try await WireServer.start(answers)
        var configuration = HTTPClient.Configuration()
        configuration.httpVersion = .http1Only
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .hours(1)
        configure(&configuration)
        let client = HTTPClient(eventLoopGroup: MultiThreadedEventLoopGroup.singleton, configuration: configuration)
        do {
            try await body(server, client)
        } catch {
            try await client.shutdown()
            try? await server.stop()
            throw error
        }
        try await client.shutdown()
        await server.open.wait(for: 0)
        try? await server.stop()
    }

    extension HTTPClientResponse {
        /// The whole body.
        func text() async throws -> String { String(buffer: try await body.collect(upTo: 1 << 24)) }
    }

    func get(_ url: String) -> HTTPClientRequest { HTTPClientRequest(url: url) }

    func post(_ url: String, _ text: String = "{}") -> HTTPClientRequest {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.body = .bytes(ByteBuffer(string: text))
        return request
    }
#endif
