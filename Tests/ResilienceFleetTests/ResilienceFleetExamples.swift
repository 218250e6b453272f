#if Redis
    import Resilience
    import ResilienceFleet
    import Testing

    /// The code of ResilienceFleet.md and of Integrations.md, unchanged.
    @Suite struct ResilienceFleetExamples {
        @Test("a client that shares everything with the other processes")
        func payments() async throws {
            let password = "sesame"
            let engine = RedisEngine(host: "10.0.0.7", user: "limits", password: password)
            let fleet = Fleet("shop", engine: engine, expectedMembers: 8)
            let pipeline = Pipeline("payments") {
                Retry(budget: .tokens("payments", in: fleet))
                CircuitBreaker("payments", in: fleet)
                Throttle("payments", limit: .perSecond(100, burst: 20), in: fleet, maxWait: .seconds(2))
                Bulkhead("payments", limit: 32, in: fleet, queue: 64)
            }
            #expect(pipeline.elements.count == 4)
        }
    }
#endif
