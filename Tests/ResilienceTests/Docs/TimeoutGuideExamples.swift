import Resilience
import TestSupport
import Testing

/// The code of Sources/Resilience/Resilience.docc/TimeoutGuide.md, word for word.
@Suite struct TimeoutGuideExamples {
    struct Client {
        func activities() async throws -> String { "activities" }
        func export() async throws -> String { "export" }
        func listing(timeout: Duration) async throws -> Duration { timeout }
    }

    @Test("the guide's total, attempt and abandoning timeouts return the operation's result")
    func examples() async {
        // In its own process: the limits are in real time, which concurrent tests use up.
        await #expect(processExitsWith: .success) {
            let client = Client()
            let pipeline = Pipeline("activities", isIdempotent: true) {
                Timeout("total", limit: .seconds(30))  // the whole call, waits between attempts included
                Retry(maxRetries: 3)
                Timeout("attempt", limit: .seconds(5))  // each attempt
            }
            let page = try await pipeline.run { try await client.activities() }
            let patience = AbandoningTimeout("export", limit: .seconds(5))
            let export = try await pipeline.run {
                try await patience.run { try await client.export() }
            }
            let all = try await patience.run { deadline in
                try await pipeline.run(options: RunOptions(deadline: deadline)) {
                    try await client.activities()
                }
            }
            #expect(page == "activities" && export == "export" && all == page)
        }
    }

    @Test("the guide's client gets the rest of its attempt's time")
    func client() async throws {
        let client = Client()
        let catalog = Pipeline("catalog", isIdempotent: true) {
            Retry(maxRetries: 2)
            ClientTimeout("attempt", limit: .seconds(2))
        }
        let listing = try await catalog.run { attempt in
            try await client.listing(timeout: attempt.remaining())
        }
        #expect(listing <= .seconds(2))
    }

    @Test("the guide's timeout with a limit for each attempt runs a call")
    func byAttempt() async throws {
        let patient = Timeout { attempt in .seconds(min(2 * attempt, 10)) }
        #expect(try await patient.run { 7 } == 7)
    }
}
