#if HTTPTypes
    import HTTPTypes
    import Resilience
    import ResilienceHTTP
    import ResilienceTesting
    import Testing

    /// The lines of Integrations.md for swift-http-types.
    @Suite struct IntegrationsHTTPExample {
        private struct TypedClient: Sendable {
            let replies: ScriptedOperation<Void, HTTPResponse>

            func send(_ request: HTTPRequest) async throws -> HTTPResponse { try await replies() }
        }

        @Test("a typed response that means failure is tried again")
        func httpTypes() async throws {
            let pipeline = Pipeline { Retry(maxRetries: 1, backoff: .none) }
            let client = TypedClient(
                replies: ScriptedOperation([
                    .success(HTTPResponse(status: .serviceUnavailable)), .success(HTTPResponse(status: .ok)),
                ]))
            let request = HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "/")
            let semantics = RequestSemantics(request)
            let reply = try await pipeline.run(
                options: RunOptions(for: semantics), judging: { $0.verdict(for: semantics) }
            ) {
                try await client.send(request)
            }
            #expect(reply.status == .ok)
            #expect(client.replies.callCount == 2)
        }
    }
#endif
