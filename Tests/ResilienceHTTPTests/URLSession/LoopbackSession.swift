#if StubServer
    import Foundation
    import Resilience
    import ResilienceHTTP
    import ResilienceTesting
    import Testing

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// A session of its own with a server on loopback. Its own limits are too long to matter in a test.
    struct Loopback {
        let server: StubServer
        let session: URLSession
        let bulkhead: Bulkhead
        let clock: ManualClock

        /// Runs a test, and checks that no permit is left behind.
        static func run(
            _ answers: [StubAnswer] = [], fallback: StubAnswer? = nil, _ body: (Loopback) async throws -> Void
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
