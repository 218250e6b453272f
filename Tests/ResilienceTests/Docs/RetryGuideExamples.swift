import Resilience
import ResilienceTesting
import TestSupport
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

    @Test("the guide's pipeline retries a failing call, and the caller's options reach the retry")
    func pipeline() async throws {
        let client = Client(operation: ScriptedOperation([.failure(Outage())], fallback: .success("activities")))
        let budget = RetryBudget.tokens()  // shared by all who call this service
        let pipeline = Pipeline("activities", isIdempotent: true) {
            Retry(maxRetries: 3, maxElapsed: .seconds(30), budget: budget)
            CircuitBreaker("activities")
            Timeout(limit: .seconds(5))
        }
        let page = try await pipeline.run { try await client.activities() }
        let options = RunOptions(firstAttempt: 2, isIdempotent: true)
        try await pipeline.run(options: options) { try await client.rename() }
        #expect(page == "activities" && client.operation.callCount == 3 && !budget.isExhausted)
    }

    @Test("the guide's rule and hooks refresh a token, retry, and log all failures at the end")
    func hooks() async {
        let journal = Journal()
        let tokens = Tokens(journal: journal)
        let log = { @Sendable (line: String) in journal.note(line) }
        let retry = Retry(
            maxRetries: 2,
            rules: { failure in
                failure.error is Unauthorized ? .retry(after: .none) : nil
            },
            beforeRetry: { failure, wait in
                if failure.error is Unauthorized { tokens.refresh() }
            },
            onGiveUp: { history, reason in
                log("\(reason) after \(history.failures.map(\.verdict))")
            })
        let pipeline = Pipeline(timeBase: RushingClock()) { retry }
        await #expect(throws: Unauthorized.self) { try await pipeline.run { throw Unauthorized() } }
        let permanent = "permanent"
        #expect(
            journal.lines == [
                "refreshed", "refreshed", "no attempt is left after [\(permanent), \(permanent), \(permanent)]",
            ])
    }

    @Test("a request that is itself a retry is tried only once")
    func layers() async throws {
        let client = Client(operation: ScriptedOperation([.failure(Outage())], fallback: .success("activities")))
        let pipeline = Pipeline(timeBase: RushingClock()) { Retry() }
        func show(_ page: String) { Issue.record("no attempt of \(page) should follow") }
        await #expect(throws: Outage.self) {
            try await CallOrigin(attempt: 2).run {
                // One attempt: the caller of this request retries.
                let page = try await pipeline.run { try await client.activities() }
                show(page)
            }
        }
        #expect(client.operation.callCount == 1)
    }
}
