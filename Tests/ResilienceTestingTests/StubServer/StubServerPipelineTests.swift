#if StubServer
    import Foundation
    import Resilience
    import ResilienceHTTP
    import ResilienceTesting
    import Testing

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// The whole path: policies, verdicts, `URLSession`, and a server.
    @Suite(.timeLimit(.minutes(20))) struct StubServerPipelineTests {
        @Test("despite a 429, a 503 and a reset within a body a pipeline gets its answer in four requests (C6)")
        func recovery() async throws {
            let server = try await StubServer.start([
                .status(429, headers: ["Retry-After": "7"]), .status(503), .resetMidBody(after: 10), .json(200, "{}"),
            ])
            let clock = ManualClock()
            let get = RequestSemantics(method: "GET")
            let breaker = CircuitBreaker(timeBase: clock)
            let pipeline = Pipeline(timeBase: clock, classifier: .urlSession(for: get)) {
                Retry(maxRetries: 3, backoff: .constant(.seconds(1)), throttledBackoff: .constant(.seconds(1)))
                breaker
            }
            let client = HTTPClient()
            let call = Task {
                try await pipeline.run(judging: { $0.response.verdict(for: get) }) { _ in
                    try await client.get(server.url)
                }
            }
            for (requests, wait) in [(1, 7), (2, 1), (3, 1)] {
                await clock.waitForSleepers(1)
                #expect(server.requests.count == requests)
                #expect(clock.sleepers == [clock.now + .seconds(wait)])
                #expect(breaker.status.failureCount == requests - 1)
                clock.advanceToNextSleeper()
            }
            let (response, body) = try await call.value
            #expect(response.statusCode == 200 && body == Data("{}".utf8))
            #expect(server.requests.count == 4)
            #expect(breaker.status.failureCount == 0)
            await server.stop()
        }

        @Test("an open circuit sends nothing more to the server")
        func open() async throws {
            let server = try await StubServer.start(fallback: .status(500))
            let clock = ManualClock()
            let get = RequestSemantics(method: "GET")
            let pipeline = Pipeline(timeBase: clock, classifier: .urlSession(for: get)) {
                CircuitBreaker(tripping: .consecutiveFailures(2), timeBase: clock)
            }
            let client = HTTPClient()
            for _ in 0..<2 {
                _ = try await pipeline.run(judging: { $0.response.verdict(for: get) }) { _ in
                    try await client.get(server.url)
                }
            }
            await #expect(throws: CircuitOpen.self) { try await pipeline.run { try await client.get(server.url) } }
            #expect(server.requests.count == 2)
            await server.stop()
        }
    }
#endif
