import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Resilience
import ResilienceGRPC
import Testing

/// RPCs over HTTP/2 connections on loopback, through the pipelines of a client and a server.
///
/// After each test neither pipeline has a permit in use, and no connection or stream is open.
@Suite(.serialized, .timeLimit(.minutes(20))) struct LoopbackTests {
    let bulkhead = Bulkhead(limit: 4)
    let served = Bulkhead("served", limit: 4)
    let breaker = CircuitBreaker("breaker", tripping: .consecutiveFailures(1000))

    @Test("an RPC with a transient status is repeated, but only after the wait that the server named")
    func repeated() async throws {
        let script = Script(fail(.unavailable, ["grpc-retry-pushback-ms": "300"]), echo)
        let start = ContinuousClock.now
        let answer = try await run(script) { try await $0.client.send(["n": "1"]) }
        #expect(answer == "1 values, 1 bytes" && script.visits == 2)
        #expect(ContinuousClock.now - start >= .milliseconds(300))
    }

    @Test(
        "a status that must not be repeated reaches the caller",
        arguments: [(.unavailable, "later"), (.unavailable, "-1"), (.unknown, "1")] as [(RPCError.Code, String)])
    func refused(_ code: RPCError.Code, _ pushback: String) async throws {
        let script = Script(fail(code, ["grpc-retry-pushback-ms": .string(pushback)]))
        let error = try await run(script) { await $0.client.failure() }
        #expect(error?.code == code && error?.message == "scripted" && script.visits == 1)
    }

    enum Cut: CaseIterable {
        case connectionClosed
        case serverStopped
    }

    @Test("a stream that is cut after a message fails, and is not repeated", arguments: Cut.allCases)
    func cut(_ cut: Cut) async throws {
        let script = Script(endless)
        let (messages, error) = try await run(script) { loopback in
            await loopback.client.stream {
                switch cut {
                case .connectionClosed: loopback.accepted.close()
                case .serverStopped: loopback.server.beginGracefulShutdown()
                }
            }
        }
        #expect(messages == ["x"] && script.visits == 1)
        // A server that stops announces it; a connection that is lost counts as a failure.
        #expect(error?.code == (cut == .serverStopped ? .cancelled : .unavailable), "\(String(describing: error))")
        #expect(breaker.status.failureCount == (cut == .serverStopped ? 0 : 1))
    }

    @Test("a deadline ends a slow RPC, before the head or within the body", arguments: [false, true])
    func deadline(_ inBody: Bool) async throws {
        let (arrived, gate) = (Gate(), Gate())
        let script = Script(echo, slow(arrived, gate, inBody: inBody))
        let error = try await run(script) { loopback in
            _ = try await loopback.client.send()
            let error = await CallDeadline(after: .milliseconds(200)).run { await loopback.client.failure() }
            #expect(bulkhead.status.inUse == 0)
            gate.open()
            return error
        }
        #expect(error?.code == .deadlineExceeded, "\(String(describing: error))")
    }

    @Test("an RPC that is cancelled before the head or within the body fails at once", arguments: [false, true])
    func cancelled(_ inBody: Bool) async throws {
        let (arrived, gate) = (Gate(), Gate())
        let script = Script(slow(arrived, gate, inBody: inBody))
        let (messages, error) = try await run(script) { loopback in
            let call = Task { await loopback.client.stream { arrived.open() } }
            await arrived.wait()
            #expect(bulkhead.status.inUse == 1 && served.status.inUse == 1)
            call.cancel()
            let heard = await call.value
            #expect(bulkhead.status.inUse == 0)
            gate.open()
            return heard
        }
        #expect(messages == (inBody ? ["x"] : []) && error?.code == .cancelled, "\(String(describing: error))")
        #expect(script.visits == 1 && breaker.status.failureCount == 0)
    }

    @Test("an RPC to a server that is gone is retried, and then fails")
    func gone() async throws {
        let script = Script(echo)
        let error = try await run(script) { loopback in
            _ = try await loopback.client.send()
            loopback.server.beginGracefulShutdown()
            try await loopback.listener.waitUntilClosed()
            try await loopback.accepted.waitUntilClosed()
            return await loopback.client.failure()
        }
        #expect(error?.code == .unavailable, "\(String(describing: error))")
        #expect(script.visits == 1 && breaker.status.failureCount == 3)
    }

    struct Size {
        let values: Int
        let bytes: Int
        let arrives: Bool
    }

    @Test(
        "metadata up to the transport's limit arrive; with larger metadata the RPC fails, and the next RPC succeeds",
        arguments: [
            Size(values: 1, bytes: 8 * 1024, arrives: true), Size(values: 200, bytes: 8, arrives: true),
            Size(values: 1, bytes: 64 * 1024, arrives: false), Size(values: 1000, bytes: 8, arrives: false),
        ], [true, false])
    func metadata(_ size: Size, _ inRequest: Bool) async throws {
        let value = Metadata.Value.string(String(repeating: "x", count: size.bytes))
        let metadata = Metadata((0..<size.values).map { (key: "n\($0)", value: value) })
        let answering: Handler = { request, context in
            var response = try await echo(request, context)
            // The response has the metadata only if the caller asks for them, so that the last RPC can be answered.
            if request.metadata[stringValues: "wanted"].contains("yes") { response.metadata = metadata }
            return response
        }
        let script = Script(answering)
        let (answer, next) = try await run(script) { loopback in
            let answer = try? await loopback.client.send(inRequest ? metadata : ["wanted": "yes"])
            // The lost connection is being reopened: this call waits for it.
            let next = try await loopback.client.send(["n": "1"], waitForReady: true)
            return (answer, next)
        }
        let expected = inRequest ? "\(size.values) values, \(size.values * size.bytes) bytes" : "0 values, 0 bytes"
        #expect(answer == (size.arrives ? expected : nil) && next == "1 values, 1 bytes")
    }

    /// Runs a server and a client until `body` has returned, then waits until all their connections and streams are
    /// closed.
    private func run<R: Sendable>(_ script: Script, _ body: (Loopback) async throws -> R) async throws -> R {
        let pipeline = Pipeline("client") {
            Retry(maxRetries: 2, backoff: .constant(.milliseconds(100)))
            breaker
            bulkhead
        }
        let limits = Pipeline("server") { served }
        let (listener, accepted, connected, streams) = (Channels(), Channels(), Channels(), Channels())
        let transport = HTTP2ServerTransport.Posix(
            address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext,
            config: .defaults {
                $0.channelDebuggingCallbacks.onBindTCPListener = { listener.add($0) }
                $0.channelDebuggingCallbacks.onAcceptTCPConnection = { accepted.add($0) }
                $0.channelDebuggingCallbacks.onAcceptHTTP2Stream = { streams.add($0) }
            })
        var router = RPCRouter<HTTP2ServerTransport.Posix>()
        router.registerHandler(
            forMethod: method, deserializer: Text(), serializer: Text(), handler: { try await script.handle($0, $1) })
        router.registerInterceptors(pipeline: [.apply(PipelineServerInterceptor(through: limits), to: .all)])
        let server = GRPCServer(transport: transport, router: router)
        let result: R = try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.serve() }
            defer { server.beginGracefulShutdown() }
            let address = try await transport.listeningAddress
            let port = try #require(address.ipv4?.port)
            let base = try HTTP2ClientTransport.Posix(
                target: .ipv4(address: "127.0.0.1", port: port), transportSecurity: .plaintext,
                config: .defaults {
                    $0.backoff.initial = .milliseconds(20)
                    $0.backoff.max = .milliseconds(100)
                    $0.channelDebuggingCallbacks.onCreateTCPConnection = { connected.add($0) }
                    $0.channelDebuggingCallbacks.onCreateHTTP2Stream = { streams.add($0) }
                })
            let client = Client(transport: PipelineClientTransport(base, through: pipeline))
            group.addTask { try await client.runConnections() }
            defer { client.beginGracefulShutdown() }
            return try await body(Loopback(client: client, server: server, listener: listener, accepted: accepted))
        }
        // If a channel stays open, the test runs into its time limit.
        for channels in [listener, accepted, connected, streams] {
            #expect(channels.opened > 0)
            try await channels.waitUntilClosed()
        }
        #expect(bulkhead.status.inUse == 0 && served.status.inUse == 0)
        return result
    }
}
