#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import NIOHTTP1
    import Resilience
    import ResilienceTraffic
    import ResilienceAsyncHTTPClient
    import ResilienceHTTP

    // The examples of the module's documentation. They are compiled, not run: they would send real requests.

    private func landingPage(_ pipeline: Pipeline) async throws {
        let client = HTTPClient.shared.resilient(pipeline)
        let request = HTTPClientRequest(url: "https://example.com/activities")
        let response = try await client.execute(request, timeout: .seconds(5))
        _ = response
    }

    private struct Tokens {
        func renewed() async throws -> String { "" }
    }

    private func guide(_ tokens: Tokens, _ parts: @escaping @Sendable () -> AsyncStream<ByteBuffer>) async throws {
        let pipeline = Pipeline("activities") {
            Retry(maxRetries: 3)
            CircuitBreaker("activities")
            Bulkhead(limit: 8, queue: 64)  // as many as the client has connections
            ClientTimeout(limit: .seconds(5))  // each attempt
        }
        let client = HTTPClient.shared.resilient(pipeline)
        let request = HTTPClientRequest(url: "https://example.com/activities")
        let response = try await client.execute(request, timeout: .seconds(30))
        let body = try await response.body.collect(upTo: 1024 * 1024)
        _ = body
        let http = HTTPClient(configuration: .forPipelines(attempt: .seconds(5)))
        try await http.shutdown()
        try await upload(client, request, parts)
        let fast = HTTPClient.shared.resilient(
            Pipeline("search") { Hedge("search") })
        _ = fast
        var settings = ResilientHTTPClient.Settings()
        settings.endsBodyAtDeadline = false
        settings.buffering = 65_536
        settings.remark = { response, body in
            String(buffer: body).contains(#""error""#) ? .means(.transient) : nil
        }
        settings.deadlineField = .standard
        settings.prepare = { request, attempt in
            request.headers.replaceOrAdd(name: "X-Attempt", value: "\(attempt.number)")
        }
        settings.reauthorize = { request in
            var request = request
            request.headers.replaceOrAdd(name: "Authorization", value: try await tokens.renewed())
            return request
        }
    }

    private func upload(
        _ client: ResilientHTTPClient, _ request: HTTPClientRequest,
        _ parts: @escaping @Sendable () -> AsyncStream<ByteBuffer>
    ) async throws {
        let response = try await client.execute(request, body: { .stream(parts(), length: .unknown) })
        _ = response
    }
#endif
