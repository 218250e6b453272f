import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

/// A queue that checks the other side's health before it sends (B10).
@Suite(.timeLimit(.minutes(20))) struct QueueHealthCheckTests {
    private let fixture = Fixture()
    private let check = ScriptedOperation<String, Void>(fallback: .success(()))

    private func make() -> SyncQueue {
        fixture.guardedQueue(
            configuration: SyncQueueConfiguration(
                maxInFlight: 1, healthCheck: { [check] in try await check("check") }, isOffline: Fixture.isOffline))
    }

    @Test("a flush checks once, before its first mutation, and never if there is nothing to send (B10)")
    func once() async throws {
        let queue = make()
        #expect(try await queue.flush().end == .drained)
        #expect(check.inputs.isEmpty)
        try await queue.enqueue([Mutation("a1"), Mutation("b1"), Mutation("a2")])
        #expect(try await queue.flush().delivered == 3)
        #expect(check.inputs.count == 1)
        try await queue.enqueue(Mutation("c1"))
        #expect(try await queue.flush().delivered == 1)
        #expect(check.inputs.count == 2)
    }

    @Test(
        "if the check fails, nothing is sent, whatever the error, and the queue retries without a trigger",
        arguments: [Refusal.unavailable, .gone, .unreachable, .abandoned])
    func fails(refusal: Refusal) async throws {
        let queue = make()
        try await queue.enqueue(Mutation("a1"))
        check.enqueue(.failure(refusal))
        check.enqueue(.failure(refusal))
        let start = fixture.clock.now
        let report = try await queue.flush()
        #expect(report.end == .offline(retryAt: start + .seconds(1)))
        #expect("\(report.lastError ?? Refusal.throttled)" == refusal.description)
        #expect(fixture.server.ids == [])
        #expect(fixture.events.contains(.offline(error: "Refusal")))
        try await fixture.passOneWait()
        #expect(fixture.clock.now == start + .seconds(1) && fixture.server.ids == [])
        fixture.clock.advance(by: .seconds(2))
        await fixture.server.waitForCalls(1)
        #expect(try await queue.drain().end == .drained)
        #expect(fixture.server.ids == ["a1"])
    }

    @Test("a 429 to the check pauses the queue, and the breaker counts it")
    func throttled() async throws {
        let queue = make()
        try await queue.enqueue(Mutation("a1"))
        for _ in 1...3 {
            check.enqueue(.failure(Refusal.throttled(retryAfter: .seconds(5))))
            _ = try await queue.flush()
            #expect(queue.pausedUntil != nil)
            if let until = queue.pausedUntil { fixture.clock.advance(to: until) }
        }
        #expect(fixture.server.ids == [] && fixture.breaker.status.isTripped)
    }

    @Test("a successful check does not end a mutation's series of 429s")
    func rows() async throws {
        let queue = SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: fixture.clock) {},
            configuration: SyncQueueConfiguration(healthCheck: {})
        ) { _ in throw Refusal.throttled }
        try await queue.enqueue(Mutation("a1"))
        for pause in [1, 2, 4] {
            let until = fixture.clock.now + .seconds(pause)
            let end = pause == 1 ? try await queue.flush().end : nil
            if end == nil { await fixture.clock.waitForSleepers(1) }
            #expect(queue.pausedUntil == until)
            fixture.clock.advance(to: until)
        }
    }

    @Test("while the breaker is open there is no check")
    func open() async throws {
        let queue = make()
        for _ in 1...3 { try? await queue.pipeline.run { throw Refusal.throttled(retryAfter: .seconds(30)) } }
        try await queue.enqueue(Mutation("a1"))
        #expect(try await queue.flush().end == .paused(until: fixture.clock.now + .seconds(30)))
        #expect(check.inputs.isEmpty && fixture.server.ids == [])
    }

    @Test("a flush that is cancelled during its check sends nothing and loses nothing")
    func cancelled() async throws {
        let queue = make()
        try await queue.enqueue(Mutation("a1"))
        check.hold()
        let flush = Task { try await queue.flush() }
        await check.waitForCalls(1)
        flush.cancel()
        #expect(try await flush.value.end == .cancelled)
        check.release()
        #expect(fixture.server.ids == [])
        #expect(try await queue.flush().delivered == 1)
    }
}
