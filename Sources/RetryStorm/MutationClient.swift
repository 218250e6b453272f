#if Demo
    import Foundation
    import Resilience
    import ResilienceHTTP
    import ResilienceSync

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// Posts mutations: each is one POST of its payload as JSON, with an `Idempotency-Key`.
    struct MutationClient: Sendable {
        private let url: URL
        private let session: URLSession

        /// - Parameter connections: The most connections open at the same time.
        init(url: URL, connections: Int) {
            self.url = url
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpMaximumConnectionsPerHost = connections
            // With a thousand requests at once, most wait for a connection. That wait must not time out.
            configuration.timeoutIntervalForRequest = 600
            session = URLSession(configuration: configuration)
        }

        /// Sends a mutation once, and throws unless the server acknowledges it.
        /// - Throws: `HTTPStatusError`, which carries its verdict; `URLError`.
        func deliver(_ mutation: Mutation) async throws {
            var request = URLRequest(url: url)
            request.httpMethod = "POST"
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.setValue(mutation.idempotencyKey, forHTTPHeaderField: "Idempotency-Key")
            request.httpBody = mutation.payload
            guard let response = try await session.response(to: request).1 as? HTTPURLResponse else {
                throw URLError(.badServerResponse)
            }
            let verdict = response.verdict(for: RequestSemantics(request))
            if verdict.kind != .success { throw HTTPStatusError(status: response.statusCode, verdict: verdict) }
        }

        /// Closes the connections, when the requests in flight have ended.
        func close() { session.finishTasksAndInvalidate() }
    }
#endif
