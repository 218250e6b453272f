import Resilience
import Testing

/// The example in README.md, word for word.
// C6
@Suite struct ReadmeExamples {
    private struct Client: Sendable {
        func activities() async throws -> [String] { ["ride"] }
    }

    private let client = Client()

    @Test("the README's pipeline runs")
    func pipeline() async throws {
        let breaker = CircuitBreaker("activities")

        let pipeline = Pipeline("activities", isIdempotent: true) {
            Timeout(limit: .seconds(30))
            Retry(maxRetries: 3)
            breaker
            Throttle(limit: .perSecond(10, burst: 20), maxWait: .seconds(5))
            Bulkhead(limit: 16, queue: 64)
            Timeout(limit: .seconds(5))
        }

        let page = try await pipeline.run { try await client.activities() }
        #expect(page == ["ride"])
        #expect(pipeline.warnings.isEmpty)
    }
}
