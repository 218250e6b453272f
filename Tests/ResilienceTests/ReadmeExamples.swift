import Resilience
import ResilienceTesting
import Synchronization
import Testing

/// The examples of README.md and Docs/WritingAPolicy.md, as they stand there.
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

        let pipeline = Pipeline("activities") {
            Timeout(.seconds(30))
            Retry(maxRetries: 3)
            breaker
            Throttle(.perSecond(10), burst: 20, maxWait: .seconds(5))
            Bulkhead(limit: 16, queue: 64)
            Timeout(.seconds(5))
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
        #expect(breakers.statuses["/api/streams"]?.state == .closed)
    }

    @Test("the README's test")
    func manualClock() throws {
        let clock = ManualClock()
        let pipeline = Pipeline(timeBase: clock) { Retry(maxRetries: 1, backoff: .constant(.seconds(5))) }
        let fetch = ScriptedOperation<Void, Int>([.failure(Unavailable()), .success(7)])
        #expect(try clock.run { try await pipeline.run { try await fetch() } } == 7)
        #expect(fetch.callCount == 2)
    }

    @Test("the policy of the guide")
    func maintenance() async throws {
        let maintenance = Maintenance()
        let pipeline = Pipeline { maintenance }
        #expect(try await pipeline.run { maintenance.callsInside } == 1)
        maintenance.begin()
        await #expect(throws: UnderMaintenance.self) { try await pipeline.run {} }
        maintenance.end()
        try await pipeline.run {}
        #expect(maintenance.callsInside == 0)
    }
}

private final class Maintenance: Policy {
    let name = "maintenance"
    private let isOn = Atomic(false)
    private let inside = Atomic(0)

    var callsInside: Int { inside.load(ordering: .relaxed) }

    func begin() { isOn.store(true, ordering: .relaxed) }
    func end() { isOn.store(false, ordering: .relaxed) }

    func enter(_ call: inout Call, _ slot: inout Slot) -> Entry {
        if isOn.load(ordering: .relaxed) { return .refuse(UnderMaintenance()) }
        inside.add(1, ordering: .relaxed)
        return .proceed
    }

    func exit(_ call: inout Call, _ slot: inout Slot, _ outcome: Outcome) -> Exit {
        inside.subtract(1, ordering: .relaxed)
        return .pass
    }
}

private struct UnderMaintenance: Rejection {
    var retryAfter: Duration? { .seconds(60) }
    var description: String { "Under maintenance." }
}
