import Foundation
import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

/// Several queues on one store (P54).
@Suite(.timeLimit(.minutes(20))) struct SharedStoreTests {
    let one = Fixture()
    let other = Fixture()
    let store = MemoryStore()

    /// All flush concurrently and repeatedly until nothing is pending.
    private func flushTogether(_ queues: [SyncQueue]) async throws {
        let mutations = Mutation.many(300)
        for chunk in 0..<10 {
            try await queues[chunk % 2].enqueue(Array(mutations[(chunk * 30)..<(chunk * 30 + 30)]))
            async let report = queues[0].flush()
            _ = try await (queues[1].flush(), report)
        }
        _ = try await queues[1].flush()
        #expect(try await queues[0].status.pending == 0)
        #expect((one.server.ids + other.server.ids).sorted() == mutations.map(\.id).sorted())
    }

    @Test("two queues that flush one store at the same time send each mutation once (P54)")
    func together() async throws {
        try await flushTogether([one.queue(store), other.queue(store)])
    }

    @Test("the second queue waits while the first sends, reports it, and sends new mutations afterwards (P54)")
    func second() async throws {
        let (first, second) = (one.queue(store), other.queue(store))
        one.server.hold()
        try await first.enqueue(Mutation("a1"))
        let flush = Task { try await first.flush() }
        await one.server.waitForCalls(1)
        try await second.enqueue(Mutation("b1"))
        let report = try await second.flush()
        #expect(report.end == .lockedOut(retryAt: other.clock.now + .seconds(1)) && report.requests == 0)
        #expect(other.recorder.count(SyncEvent.self) { $0 == .lockedOut } == 1)

        let drain = Task { try await second.drain() }
        await other.clock.waitForSleepers(1)
        one.server.release()
        _ = try await flush.value
        other.clock.advance(by: .seconds(1))
        #expect(try await drain.value.end == .drained)
        // The first queue may still find the mutation before it ends.
        #expect((one.server.ids + other.server.ids) == ["a1", "b1"])
    }

    @Test("a queue that is stopped or cancelled lets the other queue send", arguments: [true, false])
    func givesBack(stops: Bool) async throws {
        let (first, second) = (one.queue(store), other.queue(store))
        one.server.hold()
        try await first.enqueue(Mutation("a1"))
        let flush = Task { try await first.flush() }
        await one.server.waitForCalls(1)
        if stops {
            await first.stop()
        } else {
            flush.cancel()
            _ = try await flush.value
        }
        #expect(try await second.flush().end == .drained)
        #expect(other.server.ids == ["a1"])
    }

    @Test("one queue's pause also holds the other, and ends by hand for both")
    func pause() async throws {
        let (first, second) = (one.queue(store), other.queue(store))
        // The second queue has looked once, and has found no pause.
        #expect(try await second.flush().end == .drained)
        one.server.enqueue(.refused(.throttled(retryAfter: .seconds(60))))
        try await first.enqueue(Mutation("a1"))
        _ = try await first.flush()
        guard case .paused(let until) = try await second.flush().end else {
            Issue.record("the second knows of no pause")
            return
        }
        #expect(until > other.clock.now + .seconds(59) && until <= other.clock.now + .seconds(60))
        try await second.resume()
        #expect(try await second.flush().end == .drained)
        #expect(other.server.ids == ["a1"])
    }

    @Test("a pause from one queue's pass also holds the flushes and passes of the other, which had the lock last (P54)")
    func pauseOfAPass() async throws {
        let (first, second) = (one.queue(store), other.queue(store))
        #expect(try await first.flush().end == .drained)
        #expect(try await pass(second) { throw Refusal.throttled(retryAfter: .seconds(600)) }.isPaused)
        try await first.enqueue(Mutation("a1"))
        #expect(try await pass(first) { Issue.record("it asks in a pause") }.isPaused)
        guard case .paused = try await first.flush().end else {
            Issue.record("it is not paused")
            return
        }
        #expect(one.server.callCount == 0)

        // The pause ends for both.
        try await second.resume()
        #expect(try await second.flush().end == .drained)
        #expect(try await pass(first) {} == .pulled(cursor: 1))
        #expect(other.server.ids == ["a1"])
    }

    private func pass(
        _ queue: SyncQueue, check: @escaping @Sendable () async throws -> Void
    ) async throws -> SyncPass.End {
        try await SyncPass(queue, check: check) {
            SyncPage("", cursor: 1)
        } increment: {
            SyncPage("", cursor: $0)
        } apply: { _, _ in
        }.run().end
    }

    @Test("an acknowledgement that one queue could not store is not reported once another has sent the mutation (P54)")
    func failedStore() async throws {
        let fails = Locked(true)
        let faulty = HookedStore(inner: store, locks: store) { step in
            if step == .before("park"), fails.withLock({ $0 }) { throw Refusal.unavailable }
        }
        let (first, second) = (one.queue(faulty), other.queue(store))
        try await first.enqueue(Mutation("a1"))
        one.server.enqueue(.refused(.gone))
        _ = try? await first.flush()
        fails.withLock { $0 = false }
        other.server.hold()
        let flush = Task { try await second.flush() }
        await other.server.waitForCalls(1)
        guard case .lockedOut = try await first.flush().end else {
            Issue.record("it is not locked out")
            return
        }
        other.server.release()
        #expect(try await flush.value.delivered == 1)
        #expect(try await first.flush().died == 0)
        #expect(store.totals() == QueueTotals())
    }

    #if SQLite
        @Test("two queues with their own stores on one file send each mutation once")
        func oneFile() async throws {
            let folder = try TemporaryFolder()
            let path = folder.path("queue.sqlite")
            try await flushTogether([
                one.queue(try SQLiteStore(path: path)), other.queue(try SQLiteStore(path: path)),
            ])
        }
    #endif
}

extension SyncPass.End {
    fileprivate var isPaused: Bool { if case .paused = self { true } else { false } }
}
