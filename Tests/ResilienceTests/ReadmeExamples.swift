import Resilience
import ResilienceTesting
import Testing

/// The examples of README.md, as they stand there.
// C6
@Suite struct ReadmeExamples {
    private struct Client: Sendable {
        func activities() async throws -> [String] { ["ride"] }
        func streams() async throws -> [Int] { [1] }
    }

    private struct Unavailable: Error {}

    private let client = Client()

    @Test("the README's pipeline")
    func pipeline() async throws {
        let breaker = CircuitBreaker("activities")

        let pipeline = Pipeline("activities", isIdempotent: true) {
            Timeout(limit: .seconds(30))
            Retry(maxRetries: 3)
            breaker
            Throttle(limit: .perSecond(10, burst: 20), maxWait: .seconds(5))
            Bulkhead(limit: 16, queue: 64)
            Timeout(limit: .seconds(5))
        }

        let page = try await pipeline.run { try await client.activities() }
        #expect(page == ["ride"])
        #expect(pipeline.warnings.isEmpty)
    }

    @Test("the README's breaker for each endpoint")
    func registry() async throws {
        let breakers = CircuitBreakerRegistry<String> { endpoint in
            CircuitBreaker(endpoint, openFor: .exponential(from: .seconds(30), cap: .seconds(300)))
        }
        let streams = try await breakers["/api/streams"].run { try await client.streams() }
        #expect(streams == [1])
        let statuses = breakers.statuses
        #expect(statuses["/api/streams"]?.state == .closed)
    }

    @Test("the README's test")
    func manualClock() throws {
        let clock = ManualClock()
        let retrying = Pipeline(timeBase: clock, isIdempotent: true) {
            Retry(maxRetries: 1, backoff: .constant(.seconds(5)))
        }
        let fetch = ScriptedOperation<Void, Int>([.failure(Unavailable()), .success(7)])
        #expect(try clock.run { try await retrying.run { try await fetch() } } == 7)
        #expect(fetch.callCount == 2)
    }
}
