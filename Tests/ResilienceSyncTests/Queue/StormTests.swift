import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

// C6
@Suite(.timeLimit(.minutes(20))) struct StormTests {
    let fixture = Fixture()
    /// If two were in flight together, both would be sent, and rejected as one.
    private let oneByOne = SyncQueueConfiguration(maxInFlight: 1)

    @Test(
        "in the replayed storm, 1000 pending and every answer a 429, 3 requests go, then none until a break ends (B13)",
        arguments: [Duration.seconds(1), nil])
    func storm(retryAfter: Duration?) async throws {
        let (clock, breaker) = (fixture.clock, fixture.breaker)
        let server = Server(fallback: .refused(.throttled(retryAfter: retryAfter)))
        let queue = SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: clock) { breaker }, configuration: oneByOne
        ) { try await server($0) }
        try await queue.enqueue(Mutation.many(1000))
        queue.trigger()
        await clock.waitForSleepers(1)
        while server.callCount < 3 { try await fixture.passOneWait() }
        let breakEnds = clock.now + .seconds(30)
        #expect(breaker.status.timeRemaining == .seconds(30))

        while let next = clock.sleepers.first, next < breakEnds {
            try await fixture.passOneWait()
            queue.trigger()
        }
        #expect(clock.sleepers == [breakEnds])
        clock.advance(to: MonotonicInstant(nanoseconds: breakEnds.nanoseconds - 1))
        #expect(try await queue.flush().end == .paused(until: breakEnds))
        #expect(server.callCount == 3)
        #expect(try await queue.status.pending == 1000)

        clock.advance(to: breakEnds)
        await server.waitForCalls(4)
        await clock.waitForSleepers(1)
        #expect(breaker.status.timeRemaining == .seconds(60))
        #expect(try await queue.status.dead == 0)
    }

    @Test("an hour of the storm costs 17 requests: breaks grow to 300 s, and each ends with one request (B13)")
    func anHour() async throws {
        let clock = fixture.clock
        let server = ScriptedOperation<MonotonicInstant, Void>(fallback: .refused(.throttled))
        let queue = SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: clock) { fixture.breaker }, configuration: oneByOne
        ) { _ in try await server(clock.now) }
        try await queue.enqueue(Mutation.many(1000))
        let start = clock.now
        let end = start + .seconds(3600)
        queue.trigger()
        await fixture.clock.waitForSleepers(1)
        while let next = fixture.clock.sleepers.first, next <= end { try await fixture.passOneWait() }
        let seconds = server.inputs.map { start.duration(to: $0).components.seconds }
        #expect(seconds == [0, 1, 3, 33, 93, 213] + stride(from: 453, to: 3600, by: 300))
    }

    @Test(
        "a storm with the seed's two retry layers, 4 attempts per request, 5 tries per mutation: 20 000 requests (B13)"
    )
    func twoLayers() async {
        let server = ScriptedOperation<Int, Void>(fallback: .refused(.throttled))
        let client = Pipeline(timeBase: fixture.clock) {
            Retry(maxRetries: 3, throttledBackoff: .none, on: .throttled)
        }
        for mutation in 0..<1000 {
            for _ in 0..<5 { try? await client.run { try await server(mutation) } }
        }
        #expect(server.callCount == 20_000)
    }
}
