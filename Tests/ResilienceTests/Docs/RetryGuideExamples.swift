import Foundation
import Resilience
import ResilienceTesting
import Testing

/// The code of Sources/Resilience/Resilience.docc/RetryGuide.md, word for word.
@Suite struct RetryGuideExamples {
    struct Unauthorized: Error, VerdictConvertible {
        var verdict: Verdict { .permanent }
    }

    struct Client {
        let operation: ScriptedOperation<Void, String>

        func activities() async throws -> String { try await operation() }
        func rename() async throws { _ = try await operation() }
    }

    struct Tokens {
        let journal: Journal

        func refresh() { journal.note("refreshed") }
    }

    @Test("the pipeline of the guide tries a failing call again, and the caller's options reach the retry")
    func pipeline() async throws {
        let client = Client(operation: ScriptedOperation([.failure(Outage())], fallback: .success("activities")))
        let budget = RetryBudget.tokens()  // shared by all who call this service
        let pipeline = Pipeline("activities") {
            Retry(maxRetries: 3, maxElapsed: .seconds(30), budget: budget)
            CircuitBreaker("activities")
            Timeout(.seconds(5))
        }
        let page = try await pipeline.run { try await client.activities() }
        try await pipeline.run(options: CallOptions(firstAttempt: 2, isIdempotent: true)) { try await client.rename() }
        #expect(page == "activities" && client.operation.callCount == 3 && !budget.isExhausted)
    }

    @Test("the guide's rule and hooks refresh a token, try again, and tell of all failures at the end")
    func hooks() async {
        let journal = Journal()
        let tokens = Tokens(journal: journal)
        let log = { @Sendable (line: String) in journal.note(line) }
        let retry = Retry(
            maxRetries: 2,
            rules: { failure in failure.error is Unauthorized ? .retry(Backoff.none) : nil },
            beforeRetry: { failure, wait in if failure.error is Unauthorized { tokens.refresh() } },
            onGiveUp: { history, reason in log("\(reason) after \(history.failures.map(\.verdict))") })
        let pipeline = Pipeline(timeBase: RushingClock()) { retry }
        await #expect(throws: Unauthorized.self) { try await pipeline.run { throw Unauthorized() } }
        let permanent = "Resilience.Verdict.permanent"
        #expect(
            journal.lines == [
                "refreshed", "refreshed", "attemptsExhausted after [\(permanent), \(permanent), \(permanent)]",
            ])
    }

    @Test("every line of the guide's code is in this file, and its log lines and reasons are those of the events")
    func complete() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let guide = try String(
            contentsOf: root.appending(path: "Sources/Resilience/Resilience.docc/RetryGuide.md"), encoding: .utf8)
        let lines = Set(
            try String(contentsOf: URL(filePath: #filePath), encoding: .utf8).split(separator: "\n").map(Self.words))
        let code = guide.components(separatedBy: "```swift\n").dropFirst()
            .flatMap { $0.components(separatedBy: "\n```")[0].split(separator: "\n") }
        #expect(code.count == 13)
        for line in code { #expect(lines.contains(Self.words(line)), "\(line)") }
        let events: [Retry.Event] = [
            .retrying(attempt: 1, of: 4, after: .milliseconds(200), .transient),
            .gaveUp(attempt: 4, .attemptsExhausted),
        ]
        for event in events { #expect(guide.contains("| `\(event)` |"), "\(event)") }
        let reasons: [Retry.GivingUp] = [
            .attemptsExhausted, .deadlineTooNear, .retryAfterTooLong, .elapsedTooLong, .budgetExhausted, .notIdempotent,
        ]
        #expect(guide.contains("Reasons: \(reasons.map { "`\($0)`" }.joined(separator: ", "))."))
    }

    /// A line but for its spaces, which the formatter sets before a comment.
    private static func words(_ line: Substring) -> [Substring] { line.split(separator: " ") }
}
