import Resilience
import TestSupport
import Testing

/// The code of Sources/Resilience/Resilience.docc/BulkheadGuide.md, word for word.
@Suite struct BulkheadGuideExamples {
    struct Client {
        func report() async throws -> String { "report" }
        func cleanUp() async throws {}
    }

    let client = Client()

    @Test("the first example returns the operation's result")
    func usual() async throws {
        let bulkhead = Bulkhead(
            "reports", limit: 16, queue: 64, maxWait: .seconds(2))
        let report = try await bulkhead.run { try await client.report() }
        #expect(report == "report")
    }

    @Test("a bulkhead with an order and a priority runs calls")
    func orders() async throws {
        let search = Bulkhead(
            "search", limit: 8, queue: 32, order: .lastInFirstOut)
        let database = Bulkhead(
            "database", limit: 8, queue: 32, order: .byPriority)
        try await database.run(options: RunOptions(priority: .low)) {
            try await client.cleanUp()
        }
        if database.status.queued > 16 { database.setLimit(12) }
        #expect(search.settings.order == .lastInFirstOut && database.status.limit == 8)
    }

    @Test("a bulkhead can shed calls by priority")
    func shedding() {
        let api = Bulkhead(
            "api", limit: 64, queue: 1_000, order: .byPriority,
            shedding: LoadShedding())
        #expect(api.settings.shedding == LoadShedding() && api.settings.order == .byPriority)
    }
}
