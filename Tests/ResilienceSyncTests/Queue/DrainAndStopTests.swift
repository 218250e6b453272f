import Resilience
import ResilienceTesting
import Testing

@testable import ResilienceSync

@Suite(.timeLimit(.minutes(20))) struct DrainTests {
    let fixture = Fixture()

    @Test("draining waits for pauses and stalls, and reports everything that happened")
    func drain() async throws {
        let start = fixture.clock.now
        fixture.server.enqueue(.refused(.throttled(retryAfter: .seconds(5))), .refused(.unavailable), .refused(.gone))
        let queue = fixture.queue()
        try await queue.enqueue(Mutation.many(4))
        let report = try await fixture.whileTimePasses { try await queue.drain() }
        #expect(report.end == .drained && report.delivered == 3 && report.failed == 1 && report.died == 1)
        #expect(fixture.clock.now == start + .seconds(6))
    }

    @Test("during a drain, each wait is still followed by one attempt", arguments: 0..<20)
    func oneAttemptAWait(round: Int) async throws {
        let times = Locked<[MonotonicInstant]>([])
        let (clock, server) = (fixture.clock, fixture.server)
        server.enqueue(.refused(.unavailable), .refused(.unavailable), .refused(.unavailable), .refused(.unavailable))
        let queue = SyncQueue(store: MemoryStore(), pipeline: Pipeline(timeBase: clock) {}) { mutation in
            times.withLock { $0.append(clock.now) }
            try await server(mutation)
        }
        try await queue.enqueue(Mutation("a1"))
        let start = clock.now
        let report = try await fixture.whileTimePasses { try await queue.drain() }
        #expect(report.delivered == 1 && report.failed == 4)
        let waits = times.withLock { $0.map { start.duration(to: $0) } }
        #expect(waits == [.zero, .seconds(1), .seconds(3), .seconds(7), .seconds(15)])
    }

    @Test("two concurrent drains both see the queue drained, and nothing is sent twice", arguments: 0..<20)
    func twoDrains(round: Int) async throws {
        fixture.server.enqueue(.refused(.throttled(retryAfter: .seconds(5))))
        let queue = fixture.queue()
        try await queue.enqueue(Mutation.many(4))
        let ends = try await fixture.whileTimePasses {
            async let other = queue.drain()
            return [try await queue.drain().end, try await other.end]
        }
        #expect(ends == [.drained, .drained])
        #expect(try await queue.status.pending == 0)
        #expect(fixture.server.callCount == 5)
    }

    @Test("a drain returns when the other side can't be reached")
    func offline() async throws {
        fixture.server.enqueue(.ok, .refused(.unreachable))
        let queue = fixture.queue()
        try await queue.enqueue(Mutation.many(3))
        let report = try await queue.drain()
        #expect(report.delivered == 1 && report.end == .offline(retryAt: fixture.clock.now + .seconds(1)))
        #expect(report.lastError is Refusal)
        #expect(try await queue.status.pending == 2)
    }

    @Test("draining an empty queue returns at once (C7)")
    func empty() async throws {
        #expect(try await fixture.queue().drain().end == .drained)
    }

    @Test("a cancelled drain returns, and the queue still continues")
    func cancelled() async throws {
        fixture.server.enqueue(.refused(.throttled(retryAfter: .seconds(5))))
        let queue = fixture.queue()
        try await queue.enqueue(Mutation("a1"))
        let drain = Task { try await queue.drain() }
        await fixture.clock.waitForSleepers(1)
        drain.cancel()
        #expect(try await drain.value.end == .cancelled)
        #expect(queue.state.withLock { $0.watchers.isEmpty && $0.drains.isEmpty })
        fixture.clock.advance(by: .seconds(5))
        await fixture.server.waitForCalls(2)
    }

    @Test("a drain throws the error of a store that fails during its wait", arguments: ["heads", "lock"])
    func storeFails(step: String) async throws {
        let fails = Box<Bool>()
        let store = HookedStore.failing(at: step, while: fails)
        fixture.server.enqueue(.refused(.throttled(retryAfter: .seconds(5))))
        let queue = fixture.queue(store)
        try await queue.enqueue(Mutation("a1"))
        let drain = Task { try await queue.drain() }
        await fixture.clock.waitForSleepers(1)
        fails.value = true
        fixture.clock.advance(by: .seconds(5))
        await #expect(throws: Refusal.self) { try await drain.value }
    }

    @Test("ending a pause by hand, or a clear, lets a drain return early", arguments: [true, false])
    func endedEarly(byClearing: Bool) async throws {
        fixture.server.enqueue(.refused(.throttled(retryAfter: .seconds(3000))))
        let (queue, start) = (fixture.queue(), fixture.clock.now)
        try await queue.enqueue(Mutation("a1"))
        let drain = Task { try await queue.drain() }
        await fixture.clock.waitForSleepers(1)
        if byClearing { try await queue.clear() } else { try await queue.resume() }
        #expect(try await drain.value.end == .drained)
        #expect(fixture.clock.now == start && fixture.server.callCount == (byClearing ? 1 : 2))
    }
}

@Suite(.timeLimit(.minutes(20))) struct StopTests {
    let fixture = Fixture()

    @Test(
        "stopping ends mutations in flight and loses nothing; flushes and drains then report that the queue is stopped"
    )
    func inFlight() async throws {
        let (queue, server) = (fixture.queue(), fixture.server)
        server.hold()
        try await queue.enqueue(Mutation.many(3))
        let flush = Task { try await queue.flush() }
        await server.waitForCalls(1)
        queue.trigger()
        await queue.stop()
        #expect(server.running == 0)
        await #expect(throws: SyncQueueError.stopped) { try await flush.value }
        await #expect(throws: SyncQueueError.stopped) { try await queue.flush() }
        await #expect(throws: SyncQueueError.stopped) { try await queue.drain() }
        queue.trigger()
        #expect(try await queue.status.pending == 3)
        #expect(server.callCount == 1 && fixture.clock.sleepers.isEmpty)
    }

    @Test("a stopped queue no longer sends on its own, and its drains return")
    func paused() async throws {
        fixture.server.enqueue(.refused(.throttled(retryAfter: .seconds(5))))
        let queue = fixture.queue()
        try await queue.enqueue(Mutation("a1"))
        let drain = Task { try await queue.drain() }
        await fixture.clock.waitForSleepers(1)
        await queue.stop()
        await #expect(throws: SyncQueueError.stopped) { try await drain.value }
        #expect(fixture.clock.sleepers.isEmpty && queue.state.withLock { $0.watchers.isEmpty })
    }

    @Test("a mutation enqueued after the stop waits for the next start")
    func enqueueAfterwards() async throws {
        let store = MemoryStore()
        let queue = fixture.queue(store)
        await queue.stop()
        try await queue.enqueue(Mutation("a1"))
        #expect(fixture.server.callCount == 0)
        #expect(try await fixture.queue(store).flush().delivered == 1)
    }

    @Test("a stopped queue can still be cleared")
    func clear() async throws {
        let queue = fixture.queue()
        try await queue.enqueue(Mutation("a1"))
        await queue.stop()
        #expect(try await queue.clear() == 1)
    }

    /// Stops within ten seconds while one of three mutations is in flight.
    private func stop(_ queue: SyncQueue, meanwhile body: () -> Void) async throws {
        fixture.server.hold()
        try await queue.enqueue(Mutation.many(3))
        queue.trigger()
        await fixture.server.waitForCalls(1)
        let stop = Task { await queue.stop(within: .seconds(10)) }
        await fixture.clock.waitForSleepers(1)
        body()
        await stop.value
    }

    @Test("within the grace period requests in flight may end, and are not sent again; nothing new is sent")
    func grace() async throws {
        let (queue, server) = (fixture.queue(), fixture.server)
        try await stop(queue) { server.release() }
        #expect(server.callCount == 1 && fixture.clock.sleepers.isEmpty)
        #expect(try await queue.status.pending == 2)
        #expect(fixture.events.contains(.delivered(id: "0")))
    }

    @Test("requests that have not ended by the end of the grace period are cancelled, and stay pending")
    func graceIsOver() async throws {
        let (queue, server) = (fixture.queue(), fixture.server)
        try await stop(queue) { fixture.clock.advance(by: .seconds(10)) }
        #expect(server.running == 0 && server.callCount == 1)
        #expect(try await queue.status.pending == 3)
    }

    @Test("an idle queue stops at once, however long the grace period", arguments: [1, 2])
    func idle(times: Int) async throws {
        let queue = fixture.queue()
        for _ in 0..<times { await queue.stop(within: .seconds(1_000_000)) }
        #expect(fixture.clock.sleepers.isEmpty)
    }
}
