import Resilience
import ResilienceTraffic
import TestSupport
import Testing

/// The code of Sources/ResilienceTraffic/ResilienceTraffic.docc/AdaptiveBulkheadGuide.md, unchanged.
@Suite struct AdaptiveBulkheadGuideExamples {
    struct Client {
        func report() async throws -> String { "report" }
    }

    let client = Client()

    @Test("a bulkhead finds its limit, and shows it")
    func adaptive() async throws {
        let catalog = AdaptiveBulkhead(
            "catalog", limit: .gradient(in: 2...500), queue: 32,
            maxWait: .seconds(1))
        let page = try await catalog.run { try await client.report() }
        let status = catalog.status
        print(status.bulkhead.limit, status.adaptive.baseline ?? .zero)
        #expect(page == "report" && status.bulkhead.limit == 20)
    }
}
