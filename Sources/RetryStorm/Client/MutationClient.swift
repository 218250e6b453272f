#if Demo
    import Foundation
    import Resilience
    import ResilienceHTTP
    import ResilienceSync

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// Posts mutations: each is one POST of its payload as JSON, with an `Idempotency-Key`. Any 2xx acknowledges it.
    struct MutationClient: Sendable {
        let url: URL
        let tally: Tally
        private let session: URLSession

        /// - Parameter connections: The most connections open at the same time.
        init(url: URL, connections: Int, tally: Tally = Tally()) {
            self.url = url
            self.tally = tally
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpMaximumConnectionsPerHost = connections
            configuration.urlCache = nil
            configuration.httpShouldSetCookies = false
            // With a thousand requests at once, most wait for a connection. That wait is not the server's silence.
            configuration.timeoutIntervalForRequest = 600
            session = URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)
        }

        func request(for mutation: Mutation) -> URLRequest {
            var request = URLRequest(url: url)
            request.httpMethod = "POST"
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.setValue(mutation.idempotencyKey, forHTTPHeaderField: "Idempotency-Key")
            request.httpBody = mutation.payload
            return request
        }

        /// Sends a mutation once.
        /// - Throws: ``ServerTrouble`` if there is no response; `CancellationError`.
        func post(_ mutation: Mutation) async throws -> HTTPURLResponse {
            try Task.checkCancellation()
            tally.sending()
            let response: URLResponse
            do {
                (_, response) = try await session.response(to: request(for: mutation))
            } catch let error as URLError {
                if Task.isCancelled { throw CancellationError() }
                throw ServerTrouble(error, at: url)
            }
            guard let response = response as? HTTPURLResponse else { throw ServerTrouble(noHTTPFrom: url) }
            tally.answered(status: response.statusCode, key: mutation.idempotencyKey)
            return response
        }

        /// Sends a mutation once, and returns if it was acknowledged.
        /// - Throws: ``ServerTrouble``; `HTTPStatusError`, which carries its verdict.
        func deliver(_ mutation: Mutation) async throws {
            let response = try await post(mutation)
            guard !(200..<300).contains(response.statusCode) else { return }
            let verdict = response.verdict(for: RequestSemantics(request(for: mutation)))
            let location = response.value(forHTTPHeaderField: "Location")
            if let trouble = ServerTrouble(
                status: response.statusCode, verdict: verdict, location: location, at: url)
            {
                throw trouble
            }
            // A success that acknowledges nothing: 1xx.
            throw HTTPStatusError(status: response.statusCode, verdict: verdict.kind == .success ? .transient : verdict)
        }

        /// Closes the connections, when the requests in flight have ended.
        func close() { session.finishTasksAndInvalidate() }
    }

    private final class NoRedirects: NSObject, URLSessionTaskDelegate, Sendable {
        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            completionHandler(nil)
        }
    }
#endif
