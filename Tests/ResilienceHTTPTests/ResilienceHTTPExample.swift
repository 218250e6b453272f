#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif
import Foundation
import Resilience
import ResilienceHTTP
import ResilienceTesting
import Testing

/// The example of ResilienceHTTP.md, unchanged.
@Suite struct ResilienceHTTPExample {
    private struct Client: Sendable {
        let statuses: ScriptedOperation<URL, Int>

        func get(_ url: URL) async throws -> HTTPURLResponse {
            let status = try await statuses(url)
            return try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: nil))
        }
    }

    @Test("a response that means failure is retried, and the last one is returned")
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
}
