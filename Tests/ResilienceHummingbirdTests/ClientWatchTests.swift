#if Hummingbird && AsyncHTTPClient
    import AsyncHTTPClient
    import Hummingbird
    import NIOCore
    import NIOPosix
    import Resilience
    import ResilienceAsyncHTTPClient
    import ResilienceHummingbird
    import ServiceLifecycle
    import TestSupport
    import Testing

    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// A service that accepts requests, but answers none.
    private final class Silent: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let asked: AsyncStream<Void>.Continuation
        private let ended: AsyncStream<Void>.Continuation

        init(asked: AsyncStream<Void>.Continuation, ended: AsyncStream<Void>.Continuation) {
            self.asked = asked
            self.ended = ended
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { asked.finish() }

        func channelInactive(context: ChannelHandlerContext) { ended.finish() }
    }

    /// A client that goes away while its request is answered.
    @Suite(.timeLimit(.minutes(20)), .responsive) struct ClientWatchTests {
        private let tally = Tally()

        enum Guards: CaseIterable {
            case failures, pipeline, both
        }

        private func router(_ guards: Guards = .both) -> Router<AddressRequestContext> {
            let router = Router(context: AddressRequestContext.self)
            if guards != .pipeline { router.add(middleware: CallFailureMiddleware()) }
            if guards != .failures { router.add(middleware: ResilienceMiddleware(Pipeline("serving") { tally })) }
            return router
        }

        @Test("a client that disconnects ends the call that its request waits for (P71)", arguments: Guards.allCases)
        func leaves(guards: Guards) async throws {
            let calls = Tally()
            let upstream = Pipeline("upstream") { calls }
            let router = router(guards)
            router.get("/") { _, _ in
                try await upstream.run { try await Gate().pass() }
                return "never"
            }
            try await router.live { port in
                try await withConnection(to: port) { _, outbound in
                    try await outbound.write(ByteBuffer(string: "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"))
                    await calls.wait(entered: 1)
                }
                await calls.wait(left: 1)
            }
            #expect(calls.verdicts == [.cancelled])
            #expect(tally.verdicts == (guards == .failures ? [] : [.cancelled]))
        }

        @Test("if a client closes its side as soon as its first request has begun, the request's call ends")
        func leavesAtOnce() async throws {
            let router = router()
            router.get("/") { _, _ in
                try await Gate().pass()
                return "never"
            }
            try await router.live { [tally] port in
                for number in 1...20 {
                    try await withConnection(to: port) { _, outbound in
                        try await outbound.write(ByteBuffer(string: "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"))
                        await tally.wait(entered: number)
                    }
                    await tally.wait(left: number)
                }
            }
            #expect(tally.verdicts.allSatisfy { $0 == .cancelled })
        }

        @Test("if a client disconnects during its second request on a connection, that request's call ends")
        func leavesLater() async throws {
            let router = router()
            router.get("/fast") { _, _ in "served" }
            router.get("/") { _, _ in
                try await Gate().pass()
                return "never"
            }
            try await router.live { [tally] port in
                try await withConnection(to: port) { _, outbound in
                    for (number, path) in ["fast", ""].enumerated() {
                        let request = "GET /\(path) HTTP/1.1\r\nhost: localhost\r\n\r\n"
                        try await outbound.write(ByteBuffer(string: request))
                        await tally.wait(entered: number + 1)
                        if path == "fast" { await tally.wait(left: 1) }
                    }
                }
                await tally.wait(left: 2)
            }
            #expect(tally.verdicts == [.success, .cancelled])
        }

        @Test("if a client's connection is reset, its request's call also ends")
        func reset() async throws {
            let router = router()
            router.get("/") { _, _ in
                try await Gate().pass()
                return "never"
            }
            try await router.live { [tally] port in
                let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .connect(host: "127.0.0.1", port: port).get()
                try await channel.writeAndFlush(ByteBuffer(string: "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"))
                await tally.wait(entered: 1)
                // With a linger time of zero, closing a socket resets its connection.
                _ = try await (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
                try await channel.close()
                await tally.wait(left: 1)
            }
            #expect(tally.verdicts == [.cancelled])
        }

        @Test("an upstream is not asked again for a client that has gone, and its connection is closed (P71)")
        func upstream() async throws {
            let attempts = Tally()
            let upstream = Pipeline("upstream") {
                Retry(maxRetries: 3, backoff: .none)
                attempts
                ClientTimeout(limit: .seconds(3600))
            }
            let (asks, asked) = AsyncStream<Void>.makeStream()
            let (ends, ended) = AsyncStream<Void>.makeStream()
            let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Silent(asked: asked, ended: ended))
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            let url = "http://127.0.0.1:\(listener.localAddress?.port ?? 0)/"
            let router = router()
            router.get("/") { _, _ in
                let client = HTTPClient.shared.resilient(upstream)
                return Response(passing: try await client.execute(HTTPClientRequest(url: url)))
            }
            try await router.live { port in
                try await withConnection(to: port) { _, outbound in
                    try await outbound.write(ByteBuffer(string: "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"))
                    for await _ in asks {}
                }
                await attempts.wait(left: 1)
                for await _ in ends {}
            }
            try await listener.close()
            #expect(attempts.verdicts == [.cancelled] && attempts.entered == 1)
            #expect(tally.verdicts == [.cancelled])
        }

        @Test("if a client disconnects while a response's body waits for its next part, the body ends (P71)")
        func leavesBody() async throws {
            let router = router()
            router.get("/") { _, _ in
                Response(
                    status: .ok,
                    body: ResponseBody { writer in
                        try await writer.write(ByteBuffer(string: "first"))
                        try await Gate().pass()
                        try await writer.finish(nil)
                    })
            }
            try await router.live { [tally] port in
                try await withConnection(to: port) { inbound, outbound in
                    try await outbound.write(ByteBuffer(string: "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"))
                    _ = try await inbound.text(upTo: "first")
                }
                await tally.wait(left: 1)
            }
            #expect(tally.verdicts == [.cancelled])
        }

        @Test("if its body begins after the client has closed its side, a response is ended")
        func goneBeforeBody() async throws {
            let router = router()
            router.get("/first") { _, _ in "served" }
            router.get("/") { _, _ in
                // The handler ignores its cancellation, and answers.
                try? await Gate().pass()
                return Response(
                    status: .ok,
                    body: ResponseBody { writer in
                        try await Gate().pass()
                        try await writer.finish(nil)
                    })
            }
            try await router.live { [tally] port in
                let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .channelOption(.allowRemoteHalfClosure, value: true)
                    .connect(host: "127.0.0.1", port: port).get()
                // The connection is watched from its first request on.
                try await channel.writeAndFlush(ByteBuffer(string: "GET /first HTTP/1.1\r\nhost: localhost\r\n\r\n"))
                await tally.wait(left: 1)
                try await channel.writeAndFlush(ByteBuffer(string: "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"))
                await tally.wait(entered: 2)
                try await channel.close(mode: .output)
                await tally.wait(left: 2)
                try? await channel.close()
            }
            #expect(tally.verdicts == [.success, .cancelled])
        }

        @Test("consecutive requests on one connection are all answered")
        func keptAlive() async throws {
            let router = router()
            router.get("/") { _, _ in "served" }
            let answers = try await router.live { port in try await sequence(3, to: port) { _ in [:] } }
            #expect(answers.map(\.body) == ["served", "served", "served"])
            #expect(tally.verdicts == [.success, .success, .success])
        }

        @Test("a server that shuts down does not count as a disconnecting client: its requests are answered")
        func shutdown() async throws {
            let router = router()
            router.get("/") { _, _ in
                // The handler runs until the shutdown has begun.
                try await gracefulShutdown()
                return "served"
            }
            let answering = try await router.live { [tally] port in
                let answering = Task { try await send("/", to: port) }
                await tally.wait(entered: 1)
                return answering
            }
            #expect(try await answering.value.body == "served")
            #expect(tally.verdicts == [.success])
        }
    }
#endif
