import Resilience
import ResilienceTraffic
import TestSupport
import Testing

/// The code of Sources/ResilienceTraffic/ResilienceTraffic.docc/EndpointPoolGuide.md, unchanged.
@Suite struct EndpointPoolGuideExamples {
    struct Client: Sendable {
        func search(at address: String) async throws -> String { address }
    }

    struct Reply {
        let isGood = true
    }

    private func lookup(_ name: String) async -> [String] { ["10.0.0.2", "10.0.0.3"] }
    private func send(_ text: String, to address: String) async -> Reply { Reply() }

    @Test("the examples run")
    func usual() async throws {
        let (client, addresses) = (Client(), ["10.0.0.1", "10.0.0.2"])
        let breakers = CircuitBreakerRegistry<String> { CircuitBreaker($0) }
        let hedged = Pipeline("search", isIdempotent: true) { Hedge() }
        let pool = EndpointPool("search", addresses)
        let pipeline = Pipeline("search", isIdempotent: true) {
            Retry(maxRetries: 2)
            Timeout(limit: .seconds(1))
            pool
        }
        let page = try await pipeline.run(over: pool) { address in
            try await client.search(at: address)
        }
        #expect(addresses.contains(page) && pipeline.warnings.isEmpty)
        pool.update(await lookup("search.internal"))
        #expect(pool.endpoints == ["10.0.0.2", "10.0.0.3"])
        let guarded = try await pipeline.run(over: pool) { address in
            try await breakers[address].run {
                try await client.search(at: address)
            }
        }
        let fastest = try await hedged.runHedged(over: pool) { address in
            try await client.search(at: address)
        }
        #expect(pool.endpoints.contains(guarded) && pool.endpoints.contains(fastest))
        func greet() async throws {
            var tried = TriedEndpoints()
            let permit = try pool.pick(after: &tried)
            let reply = await send("hello", to: permit.endpoint)
            permit.complete(reply.isGood ? .success : .transient)
        }
        try await greet()
        #expect(pool.isAtRest)
    }
}
