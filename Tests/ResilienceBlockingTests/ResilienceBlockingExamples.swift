import Foundation
import Resilience
import ResilienceBlocking
import Testing

/// The code of ResilienceBlocking.md and of Integrations.md, unchanged.
@Suite struct ResilienceBlockingExamples {
    private struct Database: Sendable {
        func query(_ sql: String, timeout: Duration = .seconds(60)) throws -> [String] {
            #expect(timeout > .zero && timeout <= .seconds(60))
            return [sql]
        }
    }

    @Test("a query on a thread of its own")
    func query() async {
        let database = Database()
        let sql = "SELECT 1"
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                do {
                    let pipeline = Pipeline("database") {
                        Retry(maxRetries: 3)
                        CircuitBreaker("database")
                        ClientTimeout(limit: .seconds(5))
                    }
                    let rows = try pipeline.runBlocking { attempt in
                        try database.query(sql, timeout: attempt.remaining())
                    }
                    #expect(rows == [sql])
                    try Self.short(pipeline, database, sql)
                } catch {
                    Issue.record(error)
                }
                continuation.resume()
            }
        }
    }

    private static func short(_ pipeline: Pipeline, _ database: Database, _ sql: String) throws {
        let rows = try pipeline.runBlocking { try database.query(sql) }
        #expect(rows == [sql])
    }
}
