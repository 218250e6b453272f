import Resilience
import ResilienceTraffic
import TestSupport
import Testing

private struct Client: Sendable {
    func search(replica: Int = 0) async throws -> String { "page" }
}

private let client = Client()

/// The code of Sources/ResilienceTraffic/ResilienceTraffic.docc/HedgeGuide.md, unchanged.
@Suite(.timeLimit(.minutes(20)), .responsive) struct HedgeGuideExamples {
    @Test("the examples run, and the order of their policies causes no warnings")
    func usual() async throws {
        let pipeline = Pipeline("search", isIdempotent: true) {
            Timeout(limit: .seconds(10))  // the whole call
            Hedge("search", after: .percentile(0.95))
            Timeout(limit: .seconds(5))  // each copy
        }
        let page = try await pipeline.runHedged { try await client.search() }
        #expect(page == "page" && pipeline.warnings.isEmpty)
        let replicas = Pipeline("replicas", isIdempotent: true) {
            Retry(maxRetries: 2)
            Hedge(after: .constant(.milliseconds(200)), maxHedges: 2)
            CircuitBreaker("search")
            Bulkhead(limit: 32)
        }
        let found = try await replicas.runHedged { attempt in
            try await client.search(replica: attempt.hedge)
        }
        #expect(found == "page" && replicas.warnings.isEmpty)
    }

    @Test("a hedge and a retry share one budget")
    func budget() async throws {
        let budget = RetryBudget.ratio(0.1)
        let hedge = Hedge("search", budget: budget)
        let sparing = Pipeline("search", isIdempotent: true) {
            Retry(maxRetries: 2, budget: budget)
            hedge
        }
        let first = try await sparing.runHedged { try await client.search() }
        if let delay = hedge.status.delay { print("\(delay)") }
        print("\(hedge.status.samples), \(hedge.status.hedgesLeft)")
        #expect(first == "page" && sparing.warnings.isEmpty && hedge.budget === budget)
        #expect(hedge.status.delay == nil && hedge.status.samples == 1)
    }
}
