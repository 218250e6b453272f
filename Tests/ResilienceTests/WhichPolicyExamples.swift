import Resilience
import Testing

/// The code of WhichPolicy.md, word for word.
@Suite struct WhichPolicyExamples {
    private struct Answer: Sendable {
        let status: Int
    }

    private struct Client: Sendable {
        func page() async throws -> String { "page" }
        func user(_ id: Int) async throws -> String { "user \(id)" }
        func answer() async throws -> Answer { Answer(status: 503) }
    }

    private struct File {
        let limit: Int
    }

    private let client = Client()

    @Test("the code that WhichPolicy.md recommends works, and has no warnings")
    func mistakes() async throws {
        let pages = Pipeline("pages") { CircuitBreaker() }
        func page() async throws -> String {
            try await pages.run { try await client.page() }
        }
        #expect(try await page() == "page")

        let breakers = CircuitBreakerRegistry<String> { CircuitBreaker($0) }
        let user = try await breakers["/users/{id}"].run { try await client.user(42) }
        #expect(user == "user 42")
        let route = breakers["/users/{id}"]
        #expect(route.name == "/users/{id}")

        let ordered = Pipeline {
            CircuitBreaker()
            Timeout(limit: .seconds(5))
        }
        let bounded = Pipeline {
            Timeout(limit: .seconds(30))
            Retry()
            Timeout(limit: .seconds(5))
        }
        let reads = Pipeline("orders", isIdempotent: true) { Retry() }
        let writes = Pipeline("orders", isIdempotent: false) { CircuitBreaker() }
        let budget = RetryBudget.tokens()
        let retry = Retry(maxRetries: 3, budget: budget)
        let polite = Pipeline {
            Retry()
            Throttle(limit: .unlimited, holdOnThrottled: true)
        }
        for pipeline in [ordered, bounded, writes, polite, Pipeline { retry }] {
            #expect(pipeline.warnings == [])
        }

        let answer = try await reads.run(judging: { $0.status < 500 ? .success : .transient }) {
            try await client.answer()
        }
        #expect(answer.status == 503)

        for limit in [16, -1] {
            let file = File(limit: limit)
            let bulkhead = Result {
                let bulkhead = try PolicySettings.checked { Bulkhead(limit: file.limit) }
                return bulkhead
            }
            #expect((try? bulkhead.get().settings.limit) == (limit > 0 ? limit : nil))
        }
    }
}
