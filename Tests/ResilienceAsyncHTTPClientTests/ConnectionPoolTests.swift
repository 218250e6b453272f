#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import Resilience
    import ResilienceHTTP
    import ResilienceTesting
    import TestSupport
    import Testing

    @testable import ResilienceAsyncHTTPClient

    /// Requests that wait inside the client.
    @Suite(.timeLimit(.minutes(20)), .responsive) struct ConnectionPoolTests {
        @Test(
            "a request that gets no connection from the client's own pool counts as rejected, not as a server failure (P66)"
        )
        func noFreeConnection() async throws {
            try await withServer(
                [.status(200), .silence],
                configure: {
                    $0.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1
                    $0.timeout.connect = .milliseconds(200)
                }
            ) { server, http in
                let breaker = CircuitBreaker("server", tripping: .consecutiveFailures(1))
                let client = http.resilient(Pipeline { breaker })
                // Makes the one connection, however long that takes.
                while (try? await client.execute(get(server.url()))) == nil { breaker.reset() }
                let holding = Task { try await http.execute(get(server.url()), timeout: .hours(1)) }
                await server.received.wait(atLeast: 2)
                let error = await #expect(throws: NoFreeConnection.self) {
                    try await client.execute(post(server.url()))
                }
                #expect(breaker.status.failureCount == 0)
                let failure = CallFailure(try #require(error))
                #expect(failure.reachedService == false)
                #expect(FailureResponse(upstream: failure).status == 503)
                holding.cancel()
                _ = await holding.result
            }
        }

        @Test(
            "without a listener, a client for pipelines fails at once, and a server answers that failure with a 502 (P66)"
        )
        func refused() async throws {
            var configuration = HTTPClient.Configuration.forPipelines()
            // This is longer than the test's own limit.
            configuration.timeout.connect = .hours(1)
            let http = HTTPClient(configuration: configuration)
            let pipeline = Pipeline {
                Retry(maxRetries: 2, backoff: .none)
                ClientTimeout(limit: .seconds(3600))
            }
            var failure: (any Error)?
            do { _ = try await http.resilient(pipeline).execute(post(WireServer.nowhere)) } catch { failure = error }
            try await http.shutdown()
            #expect(FailureResponse(upstream: CallFailure(try #require(failure))).status == 502)
        }

        @Test("a client for pipelines connects within half an attempt, 3 s at most, and allows one connection per call")
        func configuration() {
            let standard = HTTPClient.Configuration.forPipelines()
            #expect(standard.timeout.connect == .seconds(3))
            #expect(standard.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit == 1_000)
            #expect(!standard.connectionPool.retryConnectionEstablishment)
            let short = HTTPClient.Configuration.forPipelines(attempt: .seconds(1), concurrency: 64)
            #expect(short.timeout.connect == .milliseconds(500))
            #expect(short.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit == 64)
            #expect(HTTPClient.Configuration.forPipelines(attempt: .nanoseconds(1)).timeout.connect == .nanoseconds(1))
            let longest = Duration.seconds(Int64.max)
            #expect(HTTPClient.Configuration.forPipelines(attempt: longest).timeout.connect == .seconds(3))
        }

        @Test("a pipeline that admits more calls than the client has connections reports it once (P66)")
        func tooNarrow() async throws {
            let recorder = EventRecorder()
            let observers = PolicyObservers(recorder)
            let wide = Pipeline("wide", observers: observers) { Bulkhead(limit: 16) }
            let narrow = Pipeline("narrow", observers: observers) {
                Bulkhead("outer", limit: 16)
                Bulkhead("inner", limit: 8)
            }
            for _ in 0..<3 {
                _ = HTTPClient.shared.resilient(wide)
                _ = HTTPClient.shared.resilient(narrow)
            }
            #expect(
                recorder.events(of: ConnectionPoolEvent.self) == [.tooNarrow(connections: 8, bulkhead: 16)])
            let suited = HTTPClient(configuration: .forPipelines())
            _ = suited.resilient(wide)
            _ = suited.resilient(.http(observers: observers))
            try await suited.shutdown()
            #expect(recorder.events(of: ConnectionPoolEvent.self).count == 1)
        }
    }
#endif
