import Resilience
import TestSupport
import Testing

/// The code of Docs/Migrating.md, word for word. Its queue is in ResilienceSyncTests.
@Suite(.responsive) struct MigratingExamples {
    private struct NotFound: Error {}
    private struct Unavailable: Error {}
    private struct Lost: Error {}

    private struct Client: Sendable {
        func activities() async throws -> [String] { ["ride"] }
    }

    private let client = Client()

    /// A call that is tried once.
    private let once = RunOptions(isIdempotent: false)

    /// The number of attempts that a pipeline makes if each of them fails.
    private func attempts(of pipeline: Pipeline, failingWith error: any Error) async -> Int {
        var attempts = 0
        _ = try? await pipeline.run {
            attempts += 1
            throw error
        }
        return attempts
    }

    @Test(
        "the page's classifier: transient errors are retried, permanent never, unknown only if the call is idempotent")
    func classifier() async {
        let classifier = Classifier { error in
            switch error {
            case is NotFound: .permanent
            case is Unavailable: .transient
            default: nil
            }
        }
        #expect(classifier.verdict(for: Lost()) == .uncertain)
        let careful = Pipeline(classifier: classifier) { Retry(maxRetries: 1, backoff: .none) }
        #expect(await attempts(of: careful, failingWith: NotFound()) == 1)
        #expect(await attempts(of: careful, failingWith: Unavailable()) == 2)
        #expect(await attempts(of: careful, failingWith: Lost()) == 1)
        let repeatable = Pipeline(classifier: classifier, isIdempotent: true) { Retry(maxRetries: 1, backoff: .none) }
        #expect(await attempts(of: repeatable, failingWith: NotFound()) == 1)
        #expect(await attempts(of: repeatable, failingWith: Lost()) == 2)
    }

    @Test("the page's breakers: the fifth failure in a row opens a circuit, and the other endpoint still works")
    func breakers() async throws {
        let breakers = CircuitBreakerRegistry<String> { endpoint in
            CircuitBreaker(endpoint)
        }
        let page = try await breakers["/api/activities"].run {
            try await client.activities()
        }
        #expect(page == ["ride"])
        for _ in 1...5 {
            #expect(breakers.isAllowed("/search"))
            await #expect(throws: Lost.self) { try await breakers["/search"].run { throw Lost() } }
        }
        #expect(breakers.statuses["/search"]?.state == .open)
        #expect(breakers.isAllowed("/api/activities"))
        breakers.reset("/search")
        #expect(breakers.isAllowed("/search"))
    }

    @Test("the page's settings from Polly: after 90 successes, the tenth failure opens the circuit")
    func polly() async throws {
        let catalog = Pipeline("catalog", isIdempotent: true) {
            Retry(maxRetries: 3, backoff: .constant(.seconds(2)))
            CircuitBreaker(
                "catalog",
                tripping: .failureRatio(
                    0.1, over: .time(.seconds(30)), minimumCalls: 100),
                openFor: .seconds(5))
            Timeout(limit: .seconds(30))
        }
        let breaker = try #require(catalog.circuitBreakers.first)
        for _ in 1...90 { try await catalog.run {} }
        for _ in 1...10 {
            #expect(breaker.state == .closed)
            await #expect(throws: Lost.self) { try await catalog.run(options: once) { throw Lost() } }
        }
        #expect(breaker.state == .open)
        #expect(catalog.warnings == [])
    }

    @Test("the page's settings from resilience4j: 50 failures of 100 calls open the circuit, 6 probes close it")
    func resilience4j() async throws {
        let orders = Pipeline("orders", isIdempotent: true) {
            Retry(maxRetries: 2, backoff: .constant(.milliseconds(500)))
            CircuitBreaker(
                "orders",
                circuit: ThreeStateCircuit(
                    tripping: .failureRatio(0.5, minimumCalls: 100),
                    probes: 10, closing: .failureRatio(0.5, of: 10)))
            Bulkhead(limit: 25)
            Timeout(limit: .seconds(1))
        }
        let breaker = try #require(orders.circuitBreakers.first)
        for _ in 1...50 { try await orders.run {} }
        for _ in 1...50 {
            #expect(breaker.state == .closed)
            await #expect(throws: Lost.self) { try await orders.run(options: once) { throw Lost() } }
        }
        await #expect(throws: CircuitOpen.self) { try await orders.run {} }
        breaker.endBreak()
        for _ in 1...6 {
            #expect(breaker.state == .halfOpen)
            try await orders.run {}
        }
        #expect(breaker.state == .closed)
        #expect(orders.warnings == [])
    }

    @Test("the page's settings from failsafe-go: five failed probes open the circuit, one success closes it")
    func failsafe() throws {
        let search = CircuitBreaker(
            "search",
            circuit: ThreeStateCircuit(
                tripping: .consecutiveFailures(5),
                probes: 5, closing: .successes(1, of: 5)))
        for _ in 1...5 { try search.tryAcquire().complete(.transient) }
        #expect(search.state == .open)
        search.endBreak()
        for _ in 1...5 {
            #expect(search.state == .halfOpen)
            try search.tryAcquire().complete(.transient)
        }
        #expect(search.state == .open)
        search.endBreak()
        for _ in 1...4 { try search.tryAcquire().complete(.transient) }
        try search.tryAcquire().complete(.success)
        #expect(search.state == .closed)
    }
}
