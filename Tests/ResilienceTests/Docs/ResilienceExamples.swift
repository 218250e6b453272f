import Resilience
import Testing

/// The code of Sources/Resilience/Resilience.docc/Resilience.md, word for word.
@Suite struct ResilienceExamples {
    private struct Client: Sendable {
        func activities() async throws -> [String] { ["ride"] }
    }

    private let client = Client()
    private let loaded = (limit: 16, queue: 64)

    @Test("the landing page's bulkhead is made from external settings, and a limit of 0 is an error")
    func settings() throws {
        let bulkhead = try PolicySettings.checked {
            Bulkhead(limit: loaded.limit, queue: loaded.queue)
        }
        #expect(bulkhead.status.limit == 16)
        #expect(throws: InvalidSettings.self) { try PolicySettings.checked { Bulkhead(limit: 0) } }
    }

    @Test("the landing page's pipeline runs, and has no warnings")
    func pipeline() async throws {
        let pipeline = Pipeline("activities", isIdempotent: true) {  // first = outermost
            Timeout(limit: .seconds(30))  // the whole call
            Retry(maxRetries: 3)
            CircuitBreaker("activities")
            Throttle(limit: .perSecond(10, burst: 20), maxWait: .seconds(5))
            Bulkhead(limit: 16, queue: 64)
            Timeout(limit: .seconds(5))  // each attempt
        }
        let page = try await pipeline.run { try await client.activities() }
        #expect(page == ["ride"] && pipeline.warnings.isEmpty)
    }
}
