import Foundation
import Resilience
import Testing

/// The code of Sources/Resilience/Resilience.docc/TimeoutGuide.md, word for word.
@Suite struct TimeoutGuideExamples {
    struct Client {
        func activities() async throws -> String { "activities" }
        func export() async throws -> String { "export" }
    }

    let client = Client()

    @Test("the total, the attempt's and the abandoning timeout of the guide return what the operation returned")
    func examples() async throws {
        let pipeline = Pipeline("activities") {
            Timeout("total", .seconds(30))  // the whole call, waits between attempts included
            Retry(maxRetries: 3)
            Timeout("attempt", .seconds(5))  // each attempt
        }
        let page = try await pipeline.run { try await client.activities() }
        let patience = AbandoningTimeout("export", .seconds(5))
        let export = try await pipeline.run {
            try await patience.run { try await client.export() }
        }
        let all = try await patience.run { deadline in
            try await pipeline.run(options: CallOptions(deadline: deadline)) { try await client.activities() }
        }
        #expect(page == "activities" && export == "export" && all == page)
    }

    @Test("the guide's limit by attempt is a timeout as well")
    func byAttempt() async throws {
        let patient = Timeout { attempt in .seconds(min(2 * attempt, 10)) }
        #expect(try await patient.run { 7 } == 7)
    }

    @Test("every line of the guide's code is in this file, and every log line is one of an event")
    func complete() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let guide = try String(
            contentsOf: root.appending(path: "Sources/Resilience/Resilience.docc/TimeoutGuide.md"), encoding: .utf8)
        let lines = Set(
            try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
                .split(separator: "\n").map(Self.words))
        let code = guide.components(separatedBy: "```swift\n").dropFirst()
            .flatMap { $0.components(separatedBy: "\n```")[0].split(separator: "\n") }
        #expect(code.count == 14)
        for line in code { #expect(lines.contains(Self.words(line)), "\(line)") }
        for event in [Timeout.Event.timedOut(.seconds(5)), .endedLate(by: .seconds(3))] {
            #expect(guide.contains("| `\(event)` |"), "\(event)")
        }
    }

    /// A line but for its spaces, which the formatter sets before a comment.
    private static func words(_ line: Substring) -> [Substring] { line.split(separator: " ") }
}
