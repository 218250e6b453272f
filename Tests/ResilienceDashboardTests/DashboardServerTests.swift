#if Dashboard
    import HTTPTypes
    import Hummingbird
    import HummingbirdTesting
    import NIOCore
    import Resilience
    import ResilienceObservability
    import TestSupport
    import Testing

    @testable import ResilienceDashboard

    /// The dashboard in a server, over loopback connections, in real time.
    @Suite(.timeLimit(.minutes(20)), .responsive) struct DashboardServerTests {
        private let breaker = CircuitBreaker("upstream", openFor: .seconds(60))

        /// Receives the number of remaining connections when one leaves a dashboard.
        private final class Leaves: Sendable {
            private let stream: AsyncStream<Int>
            private let continuation: AsyncStream<Int>.Continuation

            init() { (stream, continuation) = AsyncStream.makeStream() }

            func told(_ remaining: Int) { continuation.yield(remaining) }

            /// Waits until at most this many connections remain.
            func wait(until count: Int) async { for await remaining in stream where remaining <= count { return } }
        }

        private struct Server: Sendable {
            let service: DashboardService
            let leaves = Leaves()

            init(
                _ configuration: DashboardConfiguration = DashboardConfiguration(), beat: Duration = .milliseconds(1),
                writeLimit: Duration = .seconds(30), @HealthSourceBuilder _ sources: () -> [HealthSource]
            ) {
                let monitor = HealthMonitor("orders", limit: 1000, sources: sources)
                let hub = DashboardHub(monitor, configuration, onLeave: { [leaves] in leaves.told($0) })
                service = DashboardService(hub, beat: beat, writeLimit: writeLimit)
            }

            func run(_ test: @escaping @Sendable (Client, Int) async throws -> Void) async throws {
                let router = Router()
                router.addResilienceDashboard(service, at: "/resilience")
                try await Client.run(router, test)
            }
        }

        /// A connection to a server. The framework's own gives up after 20 seconds, and a busy machine may take longer.
        private struct Client: Sendable {
            let client: TestClient

            static func run(
                _ router: Router<BasicRequestContext>, _ test: @escaping @Sendable (Client, Int) async throws -> Void
            ) async throws {
                try await Application(router: router).test(.live) { client in
                    let port = try #require(client.port)
                    try await TestClient.withClient(
                        host: "localhost", port: port, configuration: .init(timeout: .seconds(3600))
                    ) { try await test(Client(client: $0), port) }
                }
            }

            func execute(
                uri: String, method: HTTPRequest.Method, headers: HTTPFields = [:], body: ByteBuffer? = nil
            ) async throws -> (status: HTTPResponse.Status, headers: HTTPFields, body: ByteBuffer) {
                let answer = try await client.execute(
                    TestClient.Request(uri, method: method, authority: "localhost", headers: headers, body: body))
                return (answer.status, answer.headers, answer.body ?? ByteBuffer())
            }
        }

        /// `DashboardHubTests` tests the timing, on its own clock.
        @Test("the first event is complete, later ones contain changes")
        func events() async throws {
            try await Server { breaker }.run { [breaker] _, port in
                try await EventConnection.run(port, "/resilience/events") { connection in
                    let head = try await connection.head()
                    #expect(head.hasPrefix("HTTP/1.1 200") && head.contains("text/event-stream"))
                    #expect(head.contains("no-store"))
                    let first = try #require(try await connection.next())
                    #expect(first.name == "snapshot" && first.circuit == "closed" && first.rows.count == 1)
                    #expect(first.value("allowsActions") == false)
                    breaker.trip()
                    let change = try #require(try await connection.next { $0.circuit == "open" })
                    #expect(change.name == "change" && change.rows.count == 1)
                    let summary: [String: Any]? = change.value("summary")
                    #expect(summary?["status"] as? String == "degraded")
                    // Without changes, a beat shows that the connection is alive.
                    #expect(try await connection.next { $0.name == "beat" } != nil)
                    breaker.reset(keepingGrowth: false)
                    #expect(try await connection.next { $0.name != "beat" }?.circuit == "closed")
                }
            }
        }

        @Test("when a page goes away, the server notices, and everything that the page used is free again")
        func disconnect() async throws {
            let server = Server { breaker }
            try await server.run { _, port in
                try await EventConnection.run(port, "/resilience/events") { connection in
                    _ = try await connection.next()
                    #expect(server.service.hub.clientCount == 1 && server.service.hub.isSampling)
                }
                await server.leaves.wait(until: 0)
                #expect(server.service.hub.clientCount == 0 && !server.service.hub.isSampling)
            }
        }

        @Test("a page that does not read blocks no other page, and does not stay for ever")
        func slowReader() async throws {
            let breakers = CircuitBreakerRegistry<Int> { CircuitBreaker("\($0)") }
            for key in 0..<200 { _ = breakers[key] }
            let server = Server(writeLimit: .milliseconds(300)) { breakers }
            try await server.run { _, port in
                try await EventConnection.run(port, "/resilience/events", window: 1024) { slow in
                    _ = try await slow.head()
                    try await EventConnection.run(port, "/resilience/events") { quick in
                        _ = try await quick.next()
                        #expect(server.service.hub.clientCount == 2)
                        var rounds = 0
                        while server.service.hub.clientCount == 2, rounds < 2000 {
                            for breaker in breakers.values.values {
                                if rounds.isMultiple(of: 2) {
                                    breaker.trip()
                                } else {
                                    breaker.reset(keepingGrowth: true)
                                }
                            }
                            #expect(try await quick.next { $0.name == "change" } != nil)
                            rounds += 1
                        }
                        #expect(server.service.hub.clientCount == 1)
                    }
                }
                await server.leaves.wait(until: 0)
            }
        }

        @Test("a shutdown of the service does not wait for open pages")
        func shutdown() async throws {
            let server = Server { breaker }
            let (opened, open) = AsyncStream.makeStream(of: Void.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                let (ports, port) = AsyncStream.makeStream(of: Int.self)
                group.addTask {
                    for await port in ports {
                        try await EventConnection.run(port, "/resilience/events") { connection in
                            _ = try await connection.next()
                            open.yield()
                            while try await connection.next() != nil {}
                        }
                        return
                    }
                }
                try await server.run { _, number in
                    port.yield(number)
                    for await _ in opened { return }
                }
                try await group.waitForAll()
            }
            #expect(server.service.hub.clientCount == 0)
        }

        /// Accepts writes, but not the end, like a connection whose client has just stopped reading.
        private struct EndlessWriter: ResponseBodyWriter {
            mutating func write(_ buffer: ByteBuffer) async throws {}

            consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
                let (never, continuation) = AsyncStream.makeStream(of: Void.self)
                for await _ in never {}
                continuation.finish()
                try Task.checkCancellation()
            }
        }

        @Test("a page that does not accept the end of its stream does not delay the service's shutdown")
        func endless() async throws {
            let server = Server(writeLimit: .milliseconds(1)) { breaker }
            await #expect(throws: TimedOut.self) { try await server.service.end(EndlessWriter()) }
        }

        @Test("pages beyond the limit get an error")
        func full() async throws {
            let server = Server(DashboardConfiguration(maxClients: 1)) { breaker }
            try await server.run { client, port in
                try await EventConnection.run(port, "/resilience/events") { connection in
                    _ = try await connection.next()
                    let response = try await client.execute(uri: "/resilience/events", method: .get)
                    #expect(response.status == .serviceUnavailable && response.headers[.retryAfter] == "5")
                }
            }
        }

        @Test(
            "a hostile name is data in the stream, and never in the page",
            arguments: [
                "<script>alert(1)</script>", "x\n\nevent: snapshot\ndata: {}\n\n", "\"><img src=x onerror=alert(1)>",
            ])
        func hostile(name: String) async throws {
            let server = Server { CircuitBreaker(name) }
            try await server.run { client, port in
                try await EventConnection.run(port, "/resilience/events") { connection in
                    let row = try await connection.next()?.rows.first
                    #expect(row?["name"] as? String == name)
                }
                let page = try await client.execute(uri: "/resilience", method: .get)
                #expect(page.status == .ok && !String(buffer: page.body).contains(name))
            }
        }

        @Test("the page may run only its own script, with another nonce each time")
        func page() async throws {
            try await Server { breaker }.run { client, _ in
                var nonces: Set<String> = []
                for _ in 0..<2 {
                    let page = try await client.execute(uri: "/resilience", method: .get)
                    let policy = try #require(page.headers[.contentSecurityPolicy])
                    #expect(policy.hasPrefix("default-src 'none'; script-src 'nonce-") && !policy.contains("unsafe"))
                    #expect(page.headers[.contentType] == "text/html; charset=utf-8")
                    #expect(
                        page.headers[.cacheControl] == "no-store" && page.headers[.xContentTypeOptions] == "nosniff")
                    let nonce = String(try #require(policy.firstMatch(of: /script-src 'nonce-(\w+)'/)).1)
                    let html = String(buffer: page.body)
                    #expect(html.contains("<script nonce=\"\(nonce)\">"))
                    // Without permission to act, no token exists.
                    #expect(html.contains("name=\"resilience-token\" content=\"\""))
                    nonces.insert(nonce)
                }
                #expect(nonces.count == 2)
            }
        }

        @Test("a dashboard that was not added can't be reached")
        func unmounted() async throws {
            try await Client.run(Router()) { client, _ in
                for path in ["/resilience", "/resilience/events", "/resilience/actions"] {
                    for method in [HTTPRequest.Method.get, .post] {
                        let status = try await client.execute(uri: path, method: method).status
                        #expect(status == .notFound)
                    }
                }
            }
        }

        private static func act(
            _ client: Client, token: String?, origin: String? = "http://localhost",
            body: String = #"{"component":"0","place":0,"action":"isolate"}"#
        ) async throws -> Int {
            var headers: HTTPFields = [.contentType: "application/json"]
            if let token { headers[.resilienceToken] = token }
            if let origin { headers[.origin] = origin }
            let buffer = ByteBuffer(string: body)
            return try await client.execute(uri: "/resilience/actions", method: .post, headers: headers, body: buffer)
                .status.code
        }

        @Test("without the service's permission no action runs, not even with the token")
        func forbidden() async throws {
            let server = Server { breaker }
            try await server.run { [breaker] client, _ in
                let code1 = try await Self.act(client, token: server.service.gate.token)
                #expect(code1 == 403)
                #expect(breaker.mode == .automatic)
            }
        }

        @Test("an action from the page runs and is shown at once; actions from elsewhere and nonsense are rejected")
        func actions() async throws {
            let server = Server(DashboardConfiguration(allowsActions: true)) { breaker }
            try await server.run { [breaker] client, port in
                let token = server.service.gate.token
                let html = String(buffer: try await client.execute(uri: "/resilience", method: .get).body)
                #expect(html.contains("name=\"resilience-token\" content=\"\(token)\""))
                for (token, origin) in [
                    (nil, "http://localhost"), ("x", "http://localhost"), (token, nil), (token, "http://evil"),
                ] {
                    let code2 = try await Self.act(client, token: token, origin: origin)
                    #expect(code2 == 403)
                }
                for body in [
                    "", "{", "[]", "null", #"{"component":"0","place":0,"action":7}"#,
                    #"{"component":"0","place":1e99,"action":"open"}"#,
                ] {
                    let code3 = try await Self.act(client, token: token, body: body)
                    #expect(code3 == 400, "\(body)")
                }
                let code4 = try await Self.act(client, token: token, body: String(repeating: "x", count: 5000))
                #expect(code4 == 413)
                for none in [
                    #"{"component":"7","place":-1,"action":"open"}"#, #"{"component":"0","place":0,"action":"x"}"#,
                ] {
                    let code5 = try await Self.act(client, token: token, body: none)
                    #expect(code5 == 409)
                }
                #expect(breaker.mode == .automatic)
                try await EventConnection.run(port, "/resilience/events") { connection in
                    #expect(try await connection.next()?.circuit == "closed")
                    let code6 = try await Self.act(client, token: token)
                    #expect(code6 == 204)
                    #expect(breaker.mode == .isolated)
                    #expect(try await connection.next { $0.name == "change" }?.circuit == "open")
                }
            }
        }
    }
#endif
