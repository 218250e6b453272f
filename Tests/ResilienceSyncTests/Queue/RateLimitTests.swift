import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct RateLimitTests {
    let fixture = Fixture()

    @Test("through the queue only 429s count, and the third in a row trips the breaker (B1)")
    func onlyThrottlesCount() async throws {
        let (server, breaker) = (fixture.server, fixture.breaker)
        server.enqueue(.refused(.unavailable), .refused(.unavailable), .refused(.unavailable))
        server.enqueue(.refused(.throttled), .refused(.throttled), .refused(.throttled))
        let queue = fixture.guardedQueue()
        try await queue.enqueue(Mutation.many(4))
        _ = try await queue.flush()
        #expect(server.callCount == 4 && breaker.status.failureCount == 1)
        try await fixture.passOneWait()
        #expect(server.callCount == 5 && !breaker.status.isTripped)
        try await fixture.passOneWait()
        #expect(server.callCount == 6 && breaker.status.isTripped)
    }

    @Test("429, 429, success, 429, 429 does not trip: any success sets the count to 0 (B5)")
    func successResets() async throws {
        let server = fixture.server
        server.enqueue(.refused(.throttled), .refused(.throttled), .ok, .refused(.throttled), .refused(.throttled))
        let queue = fixture.guardedQueue()
        try await queue.enqueue(Mutation.many(3))
        _ = try await queue.flush()
        while server.callCount < 5 { try await fixture.passOneWait() }
        #expect(!fixture.breaker.status.isTripped && fixture.breaker.status.failureCount == 2)
        #expect(try await queue.status.pending == 2)
    }

    @Test("no number of 429s costs a mutation an attempt (B7)")
    func throttleIsNotCounted() async throws {
        for _ in 0..<12 { fixture.server.enqueue(.refused(.throttled)) }
        let store = MemoryStore()
        let queue = fixture.queue(store)
        try await queue.enqueue(Mutation("a1"))
        _ = try await queue.flush()
        while fixture.server.callCount < 12 { try await fixture.passOneWait() }
        #expect(store.pending(after: 0, limit: 9).map(\.failures) == [0])
        let report = try await fixture.whileTimePasses { try await queue.drain() }
        #expect(report.delivered == 1 && report.failed == 0)
    }

    @Test("any other failure counts, and after the 5th the mutation is dead, with that error (B7)")
    func fifthFailure() async throws {
        for _ in 0..<5 { fixture.server.enqueue(.refused(.unavailable)) }
        let queue = fixture.queue(configuration: SyncQueueConfiguration(maxInFlight: 1, failureCounting: .always))
        try await queue.enqueue([Mutation("a1"), Mutation("a2")])
        let report = try await fixture.whileTimePasses { try await queue.drain() }
        #expect(report.failed == 5 && report.died == 1 && report.delivered == 1 && report.end == .drained)
        let dead = try await queue.dead()
        #expect(dead.map(\.mutation.id) == ["a1"])
        #expect(dead.map(\.failures) == [5] && dead.map(\.lastError) == ["503"])
    }

    @Test("a 429 pauses the whole queue: the next mutation is not tried (B8)")
    func throttlePausesAll() async throws {
        fixture.server.enqueue(.refused(.throttled(retryAfter: .seconds(7))))
        let queue = fixture.queue()
        try await queue.enqueue(Mutation.many(10))
        #expect(try await queue.flush().end == .paused(until: fixture.clock.now + .seconds(7)))
        #expect(fixture.server.callCount == 1)
    }

    @Test("a tripped breaker is asked once, for all mutations, and a flush reports when its break ends (B3, B8)")
    func tripPausesAll() async throws {
        await trip()
        fixture.breaker.observers.add(fixture.recorder)
        let queue = fixture.guardedQueue()
        try await queue.enqueue(Mutation.many(1000))
        let breakEnds = fixture.clock.now + .seconds(30)
        for _ in 0..<5 {
            #expect(try await queue.flush().end == .paused(until: breakEnds))
            fixture.clock.advance(by: .seconds(5))
        }
        #expect(fixture.server.callCount == 0)
        #expect(
            fixture.recorder.count(CircuitBreaker.Event.self) { if case .rejected = $0 { true } else { false } } == 1)
    }

    @Test("the queue never exceeds maxRate, from the first request on, with a server that never answers 429")
    func maxRate() async throws {
        let queue = fixture.queue(configuration: SyncQueueConfiguration(maxRate: ThrottleRate(10, per: .seconds(1))))
        try await queue.enqueue(Mutation.many(102))
        let start = fixture.clock.now
        _ = try await fixture.whileTimePasses { try await queue.flush() }
        #expect(start.duration(to: fixture.clock.now) >= .seconds(10))
        #expect(fixture.server.callCount == 102 && queue.rate == nil)
    }

    private func trip() async {
        for _ in 0..<3 { try? await fixture.breaker.run { throw Refusal.throttled } }
        #expect(fixture.breaker.status.isTripped)
    }
}
