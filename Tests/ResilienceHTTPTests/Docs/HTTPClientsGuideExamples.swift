#if StubServer && HTTPTypes
    import Foundation
    import HTTPTypes
    import Resilience
    import ResilienceTraffic
    import ResilienceHTTP
    import ResilienceTesting
    import TestSupport
    import Testing

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// The code of HTTPClientsGuide.md and of the module's landing page, unchanged.
    @Suite(.timeLimit(.minutes(20)), .responsive) struct HTTPClientsGuideExamples {
        private struct Tokens: Sendable {
            func renewed(_ request: URLRequest) async throws -> URLRequest? {
                var request = request
                request.setValue("Bearer new", forHTTPHeaderField: "Authorization")
                return request
            }
        }

        private struct Client: Sendable {
            let replies: ScriptedOperation<Void, HTTPResponse>

            func send(_ request: HTTPRequest) async throws -> HTTPResponse { try await replies() }
        }

        @Test("every line of the guide is here", arguments: ["HTTPClientsGuide"])
        func complete(name: String) throws {
            #expect(try Guide(name, of: "ResilienceHTTP").codeWithoutTest() == [])
        }

        @Test("URLSession, in two lines")
        func urlSession() async throws {
            let server = try await StubServer.start([.status(503), .status(200, body: "ok")])
            let url = server.url
            let session = URLSession.shared.resilient(.http("catalog"))
            let (data, response) = try await session.data(from: url)
            #expect(data == Data("ok".utf8) && response.statusCode == 200)
            #expect(server.requests.count == 2)
            await server.stop()
        }

        @Test("a 200 that contains an error, and a token that expires")
        func careful() async throws {
            let server = try await StubServer.start([
                .status(200, body: "error"), .status(401), .status(200, body: "ok"),
            ])
            let tokens = Tokens()
            let careful = URLSession.shared.resilient(
                .http("ledger"), remark: { $1.isError ? .means(.transient) : nil },
                reauthorize: { try await tokens.renewed($0) })
            #expect(try await careful.data(from: server.url).0 == Data("ok".utf8))
            #expect(server.requests.map { $0.headers["authorization"] } == [nil, nil, "Bearer new"])
            await server.stop()
        }

        @Test("a lost request has a copy")
        func hedged() async throws {
            let server = try await StubServer.start([.resetWithoutAnswer, .status(200, body: "ok")])
            let fast = URLSession.shared.resilient(
                Pipeline("search") { Hedge("search") })
            #expect(try await fast.data(from: server.url).0 == Data("ok".utf8))
            #expect(server.requests.count == 2)
            await server.stop()
        }

        @Test("by hand, without URLSession's own async methods")
        func byHand() async throws {
            let server = try await StubServer.start([.status(500), .status(200)])
            let pipeline = Pipeline { Retry(maxRetries: 1, backoff: .none) }
            let get = RequestSemantics(method: "GET")
            let request = URLRequest(url: server.url)
            let answer = try await pipeline.run(options: RunOptions(for: get), judging: { $0.1.verdict(for: get) }) {
                try await URLSession.shared.response(to: request)
            }
            #expect((answer.1 as? HTTPURLResponse)?.statusCode == 200)
            await server.stop()
        }

        @Test("swift-http-types, in three lines")
        func httpTypes() async throws {
            let pipeline = Pipeline { Retry(maxRetries: 1, backoff: .none) }
            let client = Client(
                replies: ScriptedOperation([
                    .success(HTTPResponse(status: .serviceUnavailable)), .success(HTTPResponse(status: .ok)),
                ]))
            let httpRequest = HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "/")
            let semantics = RequestSemantics(httpRequest)
            let reply = try await pipeline.run(
                options: RunOptions(for: semantics), judging: { $0.verdict(for: semantics) }
            ) {
                try await client.send(httpRequest)
            }
            #expect(reply.status == .ok)
            #expect(client.replies.callCount == 2)
        }

        @Test("pipelines in one line")
        func standard() {
            let requests = Pipeline.server("api")
            let catalog = Pipeline.http("catalog", total: .seconds(5), attempt: .seconds(2), rate: .perSecond(50))
            #expect(requests.warnings + catalog.warnings == [])
        }

        @Test("a deadline travels from one service to the next")
        func deadlines() async throws {
            let server = try await StubServer.start(fallback: .status(200))
            let incoming = ["x-envoy-expected-rq-timeout-ms": "5000"]
            let inner = URLSession.shared.resilient(.http("stock"), deadlineField: .standard)
            let handle: @Sendable () async throws -> Void = { _ = try await inner.data(from: server.url) }
            let field = DeadlineField.standard
            let deadline = field.deadline(atMost: .seconds(30)) { incoming[$0] }
            try await deadline?.run { try await handle() }
            let told = server.requests.first?.headers[field.name].flatMap { Int($0) }
            #expect(told.map { $0 > 0 && $0 <= 5000 } == true)
            await server.stop()
        }

        @Test("priorities and attempts are sent to one's own services")
        func origins() async throws {
            let server = try await StubServer.start(fallback: .status(200))
            let request = URLRequest(url: server.url)
            let stock = URLSession.shared.resilient(
                .http("stock"), originFields: .standard)
            let (levels, _) = try await stock.data(
                for: request, options: RunOptions(priority: .low))
            #expect(levels.isEmpty && server.requests.first?.headers["priority"] == "u=5")
            await server.stop()
        }

        @Test("a pipeline for each endpoint")
        func endpoints() throws {
            let url = try #require(URL(string: "https://example.com/users/7"))
            let pipelines = HTTPEndpointRegistry { Pipeline.http("\($0)") }
            let users = pipelines[url: url, template: "/users/{id}"]
            #expect(users.name == "https://example.com/users/{id}")
        }
    }

    extension Data {
        fileprivate var isError: Bool { self == Data("error".utf8) }
    }
#endif
