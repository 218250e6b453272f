#if StubServer
    import Foundation
    import Resilience
    import ResilienceHTTP
    import ResilienceTesting
    import Testing

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// A session with its own loopback server. Its own limits are too long to matter in a test.
    struct Loopback {
        let server: StubServer
        let session: URLSession
        let bulkhead: Bulkhead
        let clock: ManualClock

        /// Runs a test, and checks that it leaves no permit in use, and only idle connections.
        ///
        /// - Parameter idle: How many connections the session may keep for later requests: the highest number of
        ///   concurrent requests.
        static func run(
            _ answers: [StubAnswer] = [], fallback: StubAnswer? = nil, idle: Int = 1,
            _ body: (Loopback) async throws -> Void
        ) async throws {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.timeoutIntervalForRequest = 100_000
            configuration.urlCache = nil
            configuration.httpMaximumConnectionsPerHost = 64
            let clock = ManualClock()
            let loopback = Loopback(
                server: try await StubServer.start(answers, fallback: fallback),
                session: URLSession(configuration: configuration),
                bulkhead: Bulkhead(limit: 100, timeBase: clock), clock: clock)
            try await body(loopback)
            #expect(loopback.bulkhead.status.inUse == 0)
            #expect(loopback.bulkhead.status.queued == 0)
            #expect(clock.sleepers == [])
            await loopback.waitForConnections(atMost: idle)
            loopback.session.finishTasksAndInvalidate()
            await loopback.server.stop()
        }

        /// A pipeline whose retries do not wait.
        func pipeline(
            retries: Int = 3, classifier: Classifier = .standard,
            @PipelineBuilder _ inside: () -> [Pipeline.Element] = { [] }
        ) -> Pipeline {
            Pipeline(timeBase: clock, classifier: classifier) {
                Retry(maxRetries: retries, backoff: .none, throttledBackoff: .none)
                bulkhead
                inside()
            }
        }

        /// Waits until the server has at most this many connections, and checks it.
        func waitForConnections(atMost count: Int) async {
            // While the server holds a request, it does not see that the client has gone.
            server.release()
            await server.waitForConnections(atMost: count)
            #expect(server.openConnections <= count)
        }

        var get: URLRequest { URLRequest(url: server.url, timeoutInterval: 100_000) }

        func post(key: String? = nil) -> URLRequest {
            var request = get
            request.httpMethod = "POST"
            request.setValue(key, forHTTPHeaderField: "Idempotency-Key")
            request.httpBody = Data("{}".utf8)
            return request
        }
    }
#endif
