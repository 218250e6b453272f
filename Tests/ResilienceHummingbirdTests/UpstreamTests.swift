#if Hummingbird && AsyncHTTPClient
    import AsyncHTTPClient
    import HTTPTypes
    import Hummingbird
    import NIOCore
    import NIOHTTP1
    import NIOPosix
    import Resilience
    import ResilienceAsyncHTTPClient
    import ResilienceHummingbird
    import TestSupport
    import Testing

    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// Connections that fail in the same way: one to an upstream service, and one to the server's own client.
    @Suite(.timeLimit(.minutes(20)), .responsive) struct UpstreamTests {
        private let seen = SeenErrors()
        private let tally = Tally()

        /// A server that calls another service with a client without policies.
        private func router(
            _ handler: @escaping @Sendable (Request, ResilientHTTPClient) async throws -> Response
        ) -> Router<BasicRequestContext> {
            let client = HTTPClient.shared.resilient(Pipeline("upstream") {})
            let router = Router()
            router.add(middleware: seen)
            router.add(middleware: CallFailureMiddleware())
            // Adds its fields to errors that have a response.
            router.add(middleware: ThrottleMiddleware(limit: .perSecond(1_000, burst: 1_000)) { _, _ in nil })
            router.add(middleware: ResilienceMiddleware(Pipeline("serving") { tally }))
            router.on("/", method: .get) { request, _ in try await handler(request, client) }
            router.on("/", method: .post) { request, _ in try await handler(request, client) }
            return router
        }

        enum Upstream: String, CaseIterable {
            case noHTTP, reset, closed, half
        }

        @Test(
            "any failure of an upstream service is answered with 502, even for a POST",
            arguments: Upstream.allCases, [HTTPRequest.Method.get, .post])
        func failing(upstream: Upstream, method: HTTPRequest.Method) async throws {
            let text =
                switch upstream {
                case .noHTTP: "220 mail.example ESMTP\r\n\r\n"
                case .half: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
                case .reset, .closed: ""
                }
            let answer = try await withRawServer(text, resets: upstream == .reset) { behind in
                try await router { _, client in
                    let response = try await client.execute(HTTPClientRequest(url: "http://127.0.0.1:\(behind)/"))
                    return Response(
                        status: .ok, body: ResponseBody(byteBuffer: try await response.body.collect(upTo: 100)))
                }
                .live { try await send("/", to: $0, method: method) }
            }
            #expect(answer.status.code == 502, "\(seen.errors)")
        }

        @Test("an answer is passed on with its status, its body and the named fields")
        func passed() async throws {
            // The server closes each connection: the second request must not use a closing one.
            let head = "HTTP/1.1 429 Slow down\r\nConnection: close\r\nContent-Length: 9\r\nContent-Type: text/plain"
            let text = head + "\r\nRetry-After: 7\r\nX-Own: a\r\n\r\nnine char"
            let answers = try await withRawServer(text) { behind in
                try await router { request, client in
                    let answer = try await client.execute(HTTPClientRequest(url: "http://127.0.0.1:\(behind)/"))
                    if request.method == .post { return Response(passing: answer, fields: []) }
                    return Response(passing: answer)
                }
                .live { port in
                    var answers: [(code: UInt, names: Set<String>, body: String)] = []
                    for method in [HTTPMethod.GET, .POST] {
                        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/")
                        request.method = method
                        let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
                        let body = String(buffer: try await answer.body.collect(upTo: 100))
                        answers.append((answer.status.code, Set(answer.headers.map { $0.name.lowercased() }), body))
                    }
                    return answers
                }
            }
            #expect(answers.map(\.code) == [429, 429] && answers.map(\.body) == ["nine char", "nine char"])
            let passed: Set = ["content-type", "retry-after", "x-own"]
            #expect(answers.map { $0.names.intersection(passed) } == [["content-type", "retry-after"], []])
        }

        @Test("a body that is too large causes a 502 if another service sent it, and a 413 if the client sent it")
        func tooLarge() async throws {
            let statuses = try await withRawServer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nnine char") { behind in
                try await router { request, client in
                    if request.method == .post {
                        return Response(
                            status: .ok, body: ResponseBody(byteBuffer: try await request.body.collect(upTo: 3)))
                    }
                    let response = try await client.execute(HTTPClientRequest(url: "http://127.0.0.1:\(behind)/"))
                    return Response(
                        status: .ok, body: ResponseBody(byteBuffer: try await response.body.collect(upTo: 3)))
                }
                .live { port in
                    let get = try await send("/", to: port)
                    let post = try await upload("content-length: 9\r\n\r\nnine char", to: port)
                    return [get.status.code, post.status.code]
                }
            }
            #expect(statuses == [502, 413])
        }

        @Test("a failure of the client's own upload is not a failure of an upstream service")
        func brokenUpload() async throws {
            try await router { request, _ in
                Response(status: .ok, body: ResponseBody(byteBuffer: try await request.body.collect(upTo: 100)))
            }
            .live { port in
                try await withConnection(to: port) { inbound, outbound in
                    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
                    try await outbound.write(ByteBuffer(string: head + "no length\r\n"))
                    _ = try await inbound.countToEnd()
                }
            }
            #expect(seen.errors.count == 1 && !(seen.errors.first is FailedRequest), "\(seen.errors)")
        }

        @Test("an upload that breaks while it is passed on is not a failure of the upstream service")
        func brokenWhilePassedOn() async throws {
            let (answers, answered) = AsyncStream<Void>.makeStream()
            try await withRawServer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", closes: false) { behind in
                try await router { request, client in
                    var upload = HTTPClientRequest(url: "http://127.0.0.1:\(behind)/")
                    upload.body = .stream(request.body, length: .unknown)
                    let response = try await client.execute(upload)
                    answered.finish()
                    return Response(
                        status: .ok, body: ResponseBody(byteBuffer: try await response.body.collect(upTo: 100)))
                }
                .live { port in
                    try await withConnection(to: port) { inbound, outbound in
                        let head = "POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
                        try await outbound.write(ByteBuffer(string: head + "1\r\na\r\n"))
                        for await _ in answers {}
                        try await outbound.write(ByteBuffer(string: "no length\r\n"))
                        _ = try await inbound.countToEnd()
                    }
                }
            }
            #expect(seen.errors.count == 1, "\(seen.errors)")
            #expect(!(seen.errors.first is FailedRequest) && !(seen.errors.first is ExchangeFailed), "\(seen.errors)")
        }

        @Test("a client that disconnects is a 499 and counts as cancelled, even if no task was cancelled")
        func gone() async throws {
            try await router { request, _ in
                try await request.body.consumeWithCancellationOnInboundClose { _ in
                    try await Gate().pass()
                    return Response(status: .ok)
                }
            }
            .live { [tally] port in
                try await withConnection(to: port) { _, outbound in
                    try await outbound.write(ByteBuffer(string: "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"))
                    await tally.wait(entered: 1)
                }
                await tally.wait(left: 1)
            }
            #expect(tally.verdicts == [.cancelled])
            #expect(seen.errors.count == 1 && (seen.errors.first as? FailedRequest)?.status.code == 499)
        }

        /// Sends a POST whose head ends with a text.
        private func upload(_ text: String, to port: Int) async throws -> Answer {
            try await withConnection(to: port) { inbound, outbound in
                try await outbound.write(ByteBuffer(string: "POST / HTTP/1.1\r\nhost: localhost\r\n\(text)"))
                return try await inbound.answer(to: .post)
            }
        }
    }

    /// The errors of the inner middleware.
    private final class SeenErrors: RouterMiddleware {
        private let list = Locked<[any Error]>([])

        var errors: [any Error] { list.withLock { $0 } }

        @concurrent func handle(
            _ request: Request, context: BasicRequestContext,
            next: @concurrent (Request, BasicRequestContext) async throws -> Response
        ) async throws -> Response {
            do { return try await next(request, context) } catch {
                list.withLock { $0.append(error) }
                throw error
            }
        }
    }

    /// Runs a loopback server that answers the first bytes of each connection with a text, and closes the connection.
    private func withRawServer<R>(
        _ text: String, resets: Bool = false, closes: Bool = true, _ body: (Int) async throws -> R
    ) async throws -> R {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if resets {
                        // With a linger time of zero, closing a socket resets its connection.
                        _ = (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
                    }
                    try channel.pipeline.syncOperations.addHandler(RawAnswer(text: text, closes: closes))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            let result = try await body(listener.localAddress?.port ?? 0)
            try await listener.close()
            return result
        } catch {
            try await listener.close()
            throw error
        }
    }

    private final class RawAnswer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private var text: String
        private let closes: Bool

        init(text: String, closes: Bool) {
            self.text = text
            self.closes = closes
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
            // The server sends the text only once.
            text = ""
            if closes { context.close(promise: nil) }
        }
    }
#endif
