import Foundation
import Resilience
import Testing

/// The code of Sources/Resilience/Resilience.docc/BulkheadGuide.md, word for word.
@Suite struct BulkheadGuideExamples {
    struct Client {
        func report() async throws -> String { "report" }
        func cleanUp() async throws {}
    }

    let client = Client()

    @Test("the first example returns what the operation returned")
    func usual() async throws {
        let bulkhead = Bulkhead("reports", limit: 16, queue: 64, maxWait: .seconds(2))
        let report = try await bulkhead.run { try await client.report() }
        #expect(report == "report")
    }

    @Test("a bulkhead with an order and a priority runs, and is resized")
    func orders() async throws {
        let search = Bulkhead("search", limit: 8, queue: 32, order: .lastInFirstOut)
        let database = Bulkhead("database", limit: 8, queue: 32, order: .byPriority)
        try await database.run(options: CallOptions(priority: .low)) { try await client.cleanUp() }
        if database.status.queued > 16 { database.setLimit(12) }
        #expect(search.order == .lastInFirstOut && database.status.limit == 8)
    }

    @Test("every line of the guide's code is in this file, and every log line is one of an event")
    func complete() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let guide = try String(
            contentsOf: root.appending(path: "Sources/Resilience/Resilience.docc/BulkheadGuide.md"), encoding: .utf8)
        let lines = Set(
            try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
                .split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) })
        let code = guide.components(separatedBy: "```swift\n").dropFirst()
            .flatMap { $0.components(separatedBy: "\n```")[0].split(separator: "\n") }
        #expect(code.count == 6)
        for line in code { #expect(lines.contains(line.trimmingCharacters(in: .whitespaces)), "\(line)") }
        for event in [
            Bulkhead.Event.queued, .refused(.full), .refused(.turnTooLate), .refused(.waitedTooLong),
            .refused(.displaced), .limitChanged(from: 8, to: 12), .queueChanged(from: 32, to: 64),
        ] {
            #expect(guide.contains("| `\(event)` |"), "\(event)")
        }
    }
}
