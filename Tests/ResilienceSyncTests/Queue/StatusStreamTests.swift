import Resilience
import ResilienceTesting
import Testing

@testable import ResilienceSync

/// The stream's last status is the queue's current one (P50).
@Suite(.timeLimit(.minutes(20))) struct StatusStreamTests {
    private let fixture = Fixture()

    /// The first status for which a condition holds. `afterFirst` runs once the first status has come.
    private func read(
        _ queue: SyncQueue, afterFirst: () async throws -> Void, until condition: (SyncStatus) -> Bool
    ) async throws -> SyncStatus? {
        var isFirst = true
        for await status in queue.statusUpdates() {
            if isFirst { try await afterFirst() }
            isFirst = false
            if condition(status) { return status }
        }
        return nil
    }

    @Test("the end of a flight is reported, however it ends (P50)", arguments: [Refusal.unavailable, .unreachable])
    func flightEnds(refusal: Refusal) async throws {
        let queue = fixture.queue()
        fixture.server.enqueue(.refused(refusal))
        fixture.server.hold()
        try await queue.enqueue(Mutation("a1"))
        var isReleased = false
        for await status in queue.statusUpdates() {
            if !isReleased {
                queue.trigger()
                await fixture.server.waitForCalls(1)
                fixture.server.release()
                isReleased = true
            } else if !status.isFlushing {
                #expect(status.pending == 1)
                return
            }
        }
    }

    @Test("if the answer to another request in flight makes a pause longer, this is reported (P50)")
    func longerPause() async throws {
        let (server, clock) = (fixture.server, fixture.clock)
        let queue = SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: clock) {},
            configuration: SyncQueueConfiguration(maxInFlight: 2)
        ) { try await server($0) }
        let start = clock.now
        server.enqueue(.refused(.throttled(retryAfter: .seconds(5))), .refused(.throttled(retryAfter: .seconds(30))))
        server.hold()
        try await queue.enqueue([Mutation("a1"), Mutation("b1")])
        queue.trigger()
        await server.waitForCalls(2)
        let first = try await read(queue, afterFirst: { server.release(1) }) { $0.pausedUntil != nil }
        #expect(first?.pausedUntil == start + .seconds(5))
        let second = try await read(queue, afterFirst: { server.release() }) {
            $0.pausedUntil == start + .seconds(30) && !$0.isFlushing
        }
        #expect(second?.pending == 2)
    }

    @Test("a failed read does not end the stream (P50)")
    func failedRead() async throws {
        let fails = Locked(1)
        let store = HookedStore(inner: MemoryStore()) { step in
            guard step == .before("totals") else { return }
            let isFailing = fails.withLock { fails in
                fails -= 1
                return fails >= 0
            }
            if isFailing { throw Refusal.unavailable }
        }
        let queue = fixture.queue(store)
        var statuses = queue.statusUpdates().makeAsyncIterator()
        async let status = statuses.next()
        await fixture.clock.waitForSleepers(1)
        fixture.clock.advance(by: .seconds(1))
        #expect(await status?.pending == 0)
        fails.withLock { $0 = 1 }
        async let next = statuses.next()
        try await queue.enqueue(Mutation("a1"))
        await fixture.clock.waitForSleepers(1)
        fixture.clock.advance(by: .seconds(1))
        #expect(await next?.pending == 1)
    }

    @Test("a change in the store alone is reported, even without observers")
    func enqueued() async throws {
        let queue = fixture.queue()
        let status = try await read(queue, afterFirst: { try await queue.enqueue(Mutation("a1")) }) { $0.pending == 1 }
        #expect(status?.pending == 1)
    }

    @Test("a stream that has ended leaves nothing behind")
    func ended() async throws {
        let queue = fixture.queue()
        _ = try await read(queue, afterFirst: {}) { _ in true }
        #expect(queue.state.withLock { $0.statusReaders.isEmpty })
    }
}
