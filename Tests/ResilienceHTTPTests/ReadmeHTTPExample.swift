#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif
#if HTTPTypes
    import HTTPTypes
#endif
import Foundation
import Resilience
import ResilienceHTTP
import ResilienceTesting
import Testing

/// The HTTP examples of README.md, as they stand there.
@Suite struct ReadmeHTTPExample {
    private struct Client: Sendable {
        let statuses: ScriptedOperation<URL, Int>

        func get(_ url: URL) async throws -> HTTPURLResponse {
            let status = try await statuses(url)
            return try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: nil))
        }
    }

    @Test("the README's response that means failure is tried again, and the last one is handed back")
    func judging() async throws {
        let pipeline = Pipeline { Retry(maxRetries: 1, backoff: .none) }
        let client = Client(statuses: ScriptedOperation([.success(500), .success(502)]))
        let url = try #require(URL(string: "http://127.0.0.1/activities"))

        let get = RequestSemantics(method: "GET")
        let response = try await pipeline.run(
            options: RunOptions(for: get), judging: { $0.verdict(for: get) }
        ) { attempt in
            try await client.get(url)
        }
        #expect(response.statusCode == 502)
        #expect(client.statuses.callCount == 2)
    }

    #if HTTPTypes
        private struct TypedClient: Sendable {
            let replies: ScriptedOperation<Void, HTTPResponse>

            func send(_ request: HTTPRequest) async throws -> HTTPResponse { try await replies() }
        }

        @Test("the README's lines for swift-http-types")
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
    #endif
}
