#if Hummingbird && AsyncHTTPClient && Dashboard && Logging && StubServer
    import AsyncHTTPClient
    import HTTPTypes
    import Hummingbird
    import HummingbirdTesting
    import Logging
    import NIOHTTP1
    import Resilience
    import ResilienceAsyncHTTPClient
    import ResilienceDashboard
    import ResilienceHTTP
    import ResilienceHummingbird
    import ResilienceObservability
    import ResilienceTesting
    import TestSupport
    import Testing

    // The code of Docs/GettingStartedServer.md, unchanged.

    struct Catalog {
        static let http = HTTPClient(configuration: .forPipelines(attempt: .seconds(2)))
        let url: String
        let client: ResilientHTTPClient

        init(url: String, observers: PolicyObservers? = nil, timeBase: any TimeBase = .system) {
            self.url = url
            client = Self.http.resilient(
                .http(
                    "catalog", attempt: .seconds(2), timeoutsEnforcedBy: .client,
                    observers: observers, timeBase: timeBase))
        }

        func products() async throws -> HTTPClientResponse {
            let request = HTTPClientRequest(url: "\(url)products")
            let answer = try await client.execute(request)
            guard answer.status == .ok else {
                let verdict = answer.verdict(for: RequestSemantics(request))
                throw HTTPStatusError(status: Int(answer.status.code), verdict: verdict)
            }
            return answer
        }
    }

    func shop(_ catalog: Catalog, observers: PolicyObservers? = nil) -> some ApplicationProtocol {
        let requests = Pipeline.server("shop", observers: observers)
        let router = Router(context: AddressRequestContext.self)
        router.add(middleware: CallFailureMiddleware())
        let api = router.group("api")
        api.add(middleware: CallDeadlineMiddleware(default: .seconds(5), max: .seconds(30)))
        api.add(middleware: ResilienceMiddleware(requests))
        api.get("products") { _, _ in
            Response(passing: try await catalog.products())
        }
        let health = HealthMonitor("shop") {
            requests
            catalog.client.pipeline
        }
        router.addHealth(health)
        router.addResilienceDashboard(health)
        return Application(router: router)
    }

    /// The page's `main.swift`. It is compiled, not run: its port may be taken.
    private func main() async throws {
        let observers = PolicyObservers(PolicyLogger(Logger(label: "shop")))
        let catalog = Catalog(url: "http://127.0.0.1:8081/", observers: observers)
        try await shop(catalog, observers: observers).runService()
    }

    /// The page's tests. Their limits are in real time.
    @Suite(.timeLimit(.minutes(20)), .responsive) struct GettingStartedServerExamples {
        @Suite struct ShopTests {
            @Test("two 503s are repeated")
            func repeats() async throws {
                let stub = try await StubServer.start([.status(503), .status(503), .json(200, "[]")])
                try await shop(Catalog(url: "\(stub.url)")).test(.live) { client in
                    let answer = try await client.execute(uri: "/api/products", method: .get)
                    #expect(answer.status == .ok && stub.requests.count == 3)
                }
            }

            @Test("an open circuit answers 503 with Retry-After")
            func opens() async throws {
                let stub = try await StubServer.start(fallback: .json(200, "[]"))
                let clock = ManualClock()
                let catalog = Catalog(url: "\(stub.url)", timeBase: clock)
                catalog.client.pipeline.circuitBreakers[0].trip(for: .seconds(30))
                try await shop(catalog).test(.live) { client in
                    let rejected = try await client.execute(uri: "/api/products", method: .get)
                    #expect(rejected.status == .serviceUnavailable)
                    #expect(rejected.headers[.retryAfter] == "30")
                    clock.advance(by: .seconds(30))
                    let probe = try await client.execute(uri: "/api/products", method: .get)
                    #expect(probe.status == .ok)
                }
                #expect(stub.requests.count == 1)
            }
        }

        // Other statements of the page.

        @Test("a 429 whose wait exceeds the request's time becomes a 503 with Retry-After, and holds the next call")
        func throttled() async throws {
            // An attempt has 2 s of real time: a machine that is slower than that shows nothing.
            while true {
                let stub = try await StubServer.start(fallback: .status(429, headers: ["Retry-After": "60"]))
                let (answers, took) = try await shop(Catalog(url: "\(stub.url)")).test(.live) { client in
                    let began = ContinuousClock.now
                    let answers = [
                        try await client.execute(uri: "/api/products", method: .get),
                        try await client.execute(uri: "/api/products", method: .get),
                    ]
                    return (answers, began.duration(to: .now))
                }
                if took >= .seconds(1) { continue }
                for answer in answers {
                    #expect(answer.status == .serviceUnavailable)
                    #expect((1...60).contains(answer.headers[.retryAfter].flatMap { Int($0) } ?? 0))
                }
                return #expect(stub.requests.count == 1)
            }
        }

        @Test("a catalog that does not answer within the request's time causes a 504")
        func hanging() async throws {
            let stub = try await StubServer.start(fallback: .json(200, "[]"))
            stub.hold()
            try await shop(Catalog(url: "\(stub.url)")).test(.live) { client in
                let time: HTTPFields = [try #require(.init("x-envoy-expected-rq-timeout-ms")): "300"]
                let answer = try await client.execute(uri: "/api/products", method: .get, headers: time)
                #expect(answer.status == .gatewayTimeout && answer.headers[.retryAfter] == nil)
            }
            await stub.stop()
        }

        @Test("without a listener, answers are 502, then 503 with Retry-After and a log line; /health stays 200")
        func gone() async throws {
            // An attempt has 2 s of real time: a machine that is slower than that shows nothing.
            while true {
                let stub = try await StubServer.start()
                await stub.stop()
                let recorder = EventRecorder()
                let catalog = Catalog(url: "\(stub.url)", observers: PolicyObservers(recorder))
                let (answers, others, took) = try await shop(catalog).test(.live) { client in
                    let began = ContinuousClock.now
                    var answers: [TestResponse] = []
                    for _ in 0..<4 {
                        answers.append(try await client.execute(uri: "/api/products", method: .get))
                    }
                    let took = began.duration(to: .now)
                    var others: [TestResponse] = []
                    for path in ["/health", "/resilience"] {
                        others.append(try await client.execute(uri: path, method: .get))
                    }
                    return (answers, others, took)
                }
                if took >= .seconds(2) { continue }
                #expect(answers.map(\.status.code) == [502, 502, 502, 503])
                #expect(recorder.contains(allOf: [CircuitBreaker.Event.opened(9, of: nil, for: .seconds(5))]))
                #expect(answers.last?.headers[.retryAfter] != nil)
                return #expect(others.map(\.status) == [.ok, .ok])
            }
        }

        @Test("without an adapter, a failure has a status, fields and a body")
        func withoutAdapter() async throws {
            let breaker = CircuitBreaker("catalog")
            breaker.trip()
            do {
                try await Pipeline("catalog") { breaker }.run {}
                Issue.record("an open circuit lets a call through")
            } catch {
                let failure = FailureResponse(upstream: CallFailure(error))
                #expect(failure.status == 503 && failure.fields.contains { $0.name.lowercased() == "retry-after" })
                #expect(failure.problem.contains("503"))
            }
        }
    }
#endif
