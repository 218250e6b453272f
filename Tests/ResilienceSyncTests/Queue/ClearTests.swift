import Foundation
import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct ClearTests {
    let fixture = Fixture()

    @Test("clearing returns the number of pending mutations, resets the breaker and ends the pause (B9)")
    func clear() async throws {
        let store = MemoryStore()
        let queue = fixture.guardedQueue(store)
        for _ in 0..<3 { try? await fixture.breaker.run { throw Refusal.throttled } }
        try await queue.enqueue(Mutation.many(250))
        #expect(try await queue.flush().end == .paused(until: fixture.clock.now + .seconds(30)))
        #expect(try await queue.clear() == 250)
        #expect(fixture.breaker.state == .closed && fixture.breaker.status.failureCount == 0)
        #expect(queue.pausedUntil == nil && store.pause() == nil)
        #expect(try await queue.status.pending == 0)
        #expect(fixture.events.contains(.cleared(250)))
        try await queue.enqueue(Mutation("a1"))
        _ = try await queue.flush()
        #expect(fixture.server.ids == ["a1"])
    }

    @Test("clearing resets the growth of pauses (B9)")
    func growth() async throws {
        let queue = fixture.queue()
        fixture.server.enqueue(.refused(.throttled), .refused(.throttled))
        for id in ["a1", "b1"] {
            try await queue.enqueue(Mutation(id))
            #expect(try await queue.flush().end == .paused(until: fixture.clock.now + .seconds(1)))
            try await queue.clear()
        }
    }

    @Test("clearing an empty queue returns 0, and keeps dead mutations (B9)")
    func empty() async throws {
        fixture.server.enqueue(.refused(.gone))
        let queue = fixture.queue()
        try await queue.enqueue(Mutation("a1"))
        _ = try await queue.flush()
        #expect(try await queue.clear() == 0)
        #expect(try await queue.status.dead == 1)
    }

    @Test("clearing cancels mutations in flight; they count as cleared and are not sent again (B9, C7)")
    func inFlight() async throws {
        let (queue, server) = (fixture.queue(), fixture.server)
        server.hold()
        try await queue.enqueue(Mutation.many(3))
        let flush = Task { try await queue.flush() }
        await server.waitForCalls(1)
        queue.trigger()
        #expect(try await queue.clear() == 3)
        #expect(server.running == 0)
        server.release()
        #expect(try await flush.value.end == .drained)
        _ = try await queue.flush()
        #expect(server.callCount == 1)
    }

    @Test("an answer that comes after a clear has begun counts only for its own mutation (B9)")
    func lateAnswer() async throws {
        let server = fixture.server
        server.hold()
        // The request can't be undone; the answer comes after the flush is cancelled.
        let queue = SyncQueue(store: MemoryStore(), pipeline: Pipeline(timeBase: fixture.clock) {}) { mutation in
            try await withTaskCancellationHandler {
                try await Task { try await server(mutation) }.value
            } onCancel: {
                server.release()
            }
        }
        try await queue.enqueue([Mutation("a1"), Mutation("a2"), Mutation("a3")])
        queue.trigger()
        await server.waitForCalls(1)
        #expect(try await queue.clear() == 2)
        #expect(try await queue.status.pending == 0)
        try await queue.enqueue([Mutation("a1", key: "new"), Mutation("a2", key: "new too")])
        #expect(try await queue.status.pending == 2)
        _ = try await queue.flush()
        #expect(server.inputs.map(\.idempotencyKey) == ["key-a1", "new", "new too"])
    }

    @Test(
        "a mutation enqueued after the call stays, and is not coalesced into one that is cleared (P53)",
        arguments: [true, false])
    func enqueuedMeanwhile(isInFlight: Bool) async throws {
        let (server, box) = (fixture.server, Box<SyncQueue>())
        let store = HookedStore(inner: MemoryStore()) { step in
            guard step == .after("seal"), let queue = box.value else { return }
            try await queue.enqueue(
                Mutation(id: "new", entity: "b", kind: "rename", operation: .update, payload: Data("new".utf8)))
        }
        let queue = fixture.queue(store)
        server.hold()
        try await queue.enqueue([
            Mutation("a1"), Mutation(id: "b1", entity: "b", kind: "rename", operation: .update, payload: Data()),
        ])
        if isInFlight {
            queue.trigger()
            await server.waitForCalls(1)
        }
        box.value = queue
        #expect(try await queue.clear() == 2)
        server.release()
        #expect(try await queue.drain().delivered <= 1)
        #expect(server.ids.filter { $0 != "a1" } == ["new"])
    }

    @Test(
        "if the store fails during a clear, no mutation is sent that should have been cleared (P53)",
        arguments: ["seal", "removePending"])
    func storeFails(step: String) async throws {
        let (server, fails) = (fixture.server, Box<Bool>())
        let store = HookedStore.failing(at: step, while: fails)
        let queue = fixture.queue(store)
        server.hold()
        try await queue.enqueue([Mutation("a1"), Mutation("b1")])
        queue.trigger()
        await server.waitForCalls(1)
        fails.value = true
        await #expect(throws: Refusal.self) { try await queue.clear() }
        #expect(server.running == 0)
        #expect(try await !queue.status.isFlushing)
        fixture.clock.advance(by: .seconds(3600))
        await #expect(throws: Refusal.self) { try await queue.clear() }
        #expect(server.callCount == 1)
        fails.value = false
        #expect(try await queue.clear() == 2)
        server.release()
        #expect(try await queue.flush().end == .drained)
        #expect(server.callCount == 1)
    }

    @Test("if the store fails during a clear, the end of a pause sends no mutation that should have been cleared (P53)")
    func storeFailsInAPause() async throws {
        let (server, clock, fails) = (fixture.server, fixture.clock, Box<Bool>())
        let store = HookedStore.failing(at: "removePending", while: fails)
        let queue = fixture.queue(store)
        server.enqueue(.refused(.throttled(retryAfter: .seconds(60))))
        try await queue.enqueue(Mutation("a1"))
        _ = try await queue.flush()
        fails.value = true
        await #expect(throws: Refusal.self) { try await queue.clear() }
        #expect(clock.sleepers.isEmpty)
        clock.advance(by: .seconds(60))
        #expect(try await !queue.status.isFlushing)
        #expect(server.callCount == 1)
    }

    @Test("a flush that waits for a clear continues if the store fails during that clear (P53)")
    func storeFailsWhileAFlushWaits() throws {
        let (clock, flush, box) = (fixture.clock, Box<Task<FlushReport, any Error>>(), Box<SyncQueue>())
        let store = HookedStore(inner: MemoryStore()) { step in
            guard step == .before("removePending"), let queue = box.value else { return }
            flush.value = Task { try await queue.flush() }
            await clock.runUntilIdle()
            throw Refusal.unavailable
        }
        let queue = fixture.queue(store)
        try clock.run {
            try await queue.enqueue(Mutation("a1"))
            box.value = queue
            await #expect(throws: Refusal.self) { try await queue.clear() }
            #expect(try await flush.value?.value.delivered == 1)
        }
    }

    @Test(
        "if an acknowledgement could not be stored and a clear removes its mutation, no delivery is reported later (B9)"
    )
    func unsettled() async throws {
        let fails = Box<Bool>()
        let store = HookedStore.failing(at: "remove", while: fails)
        let queue = fixture.queue(store)
        try await queue.enqueue(Mutation("a1"))
        fails.value = true
        await #expect(throws: Refusal.self) { try await queue.flush() }
        fails.value = false
        #expect(try await queue.clear() == 1)
        let report = try await queue.flush()
        #expect(report.end == .drained && report.delivered == 0)
        #expect(fixture.events.filter { $0.kind == "delivered" || $0.kind == "cleared" } == [.cleared(1)])
    }

    @Test("removed mutations are reported even if the end of the pause can't be stored (B9)")
    func pauseIsNotStored() async throws {
        let fails = Box<Bool>()
        let store = HookedStore.failing(at: "set", while: fails)
        let queue = fixture.queue(store)
        try await queue.enqueue(Mutation("a1"))
        fails.value = true
        await #expect(throws: Refusal.self) { try await queue.clear() }
        #expect(fixture.events.contains(.cleared(1)))
    }

    @Test("an answer for a cleared mutation does not remove a later one with the same id (B9)")
    func positions() async throws {
        let store = MemoryStore()
        try await store.append([Mutation("a1")])
        let old = store.pending(after: 0, limit: 1)[0].position
        #expect(try await store.removePending() == 1)
        try await store.append([Mutation("a1")])
        _ = store.apply([.acknowledged(old)], claiming: [], keeping: DeadLimits(), at: Date())
        #expect(store.pendingCount() == 1)
    }

    @Test("on request a clear reports every mutation, a page at a time, before it removes any (B9)")
    func markFailed() async throws {
        let queue = fixture.queue(configuration: SyncQueueConfiguration(pageSize: 2))
        try await queue.enqueue(Mutation.many(5))
        var pages: [[String]] = []
        var pending: [Int] = []
        let count = try await queue.clear { page in
            pages.append(page.map(\.id))
            pending.append(try await queue.status.pending)
        }
        #expect(count == 5 && pages == [["0", "1"], ["2", "3"], ["4"]] && pending == [5, 5, 5])
    }

    @Test("if the report of the cleared mutations throws, nothing is removed and the queue continues (B9)")
    func markFailedThrows() async throws {
        let queue = fixture.queue()
        try await queue.enqueue(Mutation("a1"))
        await #expect(throws: Refusal.self) { try await queue.clear { _ in throw Refusal.gone } }
        await fixture.server.waitForCalls(1)
        #expect(try await queue.flush().end == .drained)
    }

    @Test("if the report of the cleared mutations throws in a pause, the end of the pause still starts a flush (B9)")
    func markFailedThrowsInAPause() async throws {
        let (queue, server, clock) = (fixture.queue(), fixture.server, fixture.clock)
        server.enqueue(.refused(.throttled(retryAfter: .seconds(60))))
        try await queue.enqueue(Mutation("a1"))
        _ = try await queue.flush()
        await #expect(throws: Refusal.self) { try await queue.clear { _ in throw Refusal.gone } }
        #expect(clock.sleepers == [clock.now + .seconds(60)])
        clock.advance(by: .seconds(60))
        await server.waitForCalls(2)
    }

    @Test("triggers and flushes during a clear send no cleared mutation (B9)", arguments: 0..<50)
    func triggersMeanwhile(round: Int) async throws {
        let queue = fixture.queue()
        try await queue.enqueue(Mutation.many(20))
        let flushes = Locked<[Task<FlushReport, any Error>]>([])
        let count = try await queue.clear { _ in
            queue.trigger()
            flushes.withLock { $0.append(Task { try await queue.flush() }) }
            // Enough time for a flush to begin, if one could.
            for _ in 0..<100 { _ = try await Task { try await queue.status.pending }.value }
        }
        #expect(count == 20)
        for flush in flushes.withLock({ $0 }) { #expect(try await flush.value.delivered == 0) }
        #expect(fixture.server.callCount == 0)
    }

    @Test("mutations enqueued after a clear are sent by the flush that waited for it (B9)")
    func waitingFlush() async throws {
        let box = Box<SyncQueue>()
        let flush = Box<Task<FlushReport, any Error>>()
        let store = HookedStore(inner: MemoryStore()) { step in
            guard step == .after("removePending"), let queue = box.value else { return }
            try await queue.enqueue(Mutation("b1"))
            flush.value = Task { try await queue.flush() }
        }
        let queue = fixture.queue(store)
        box.value = queue
        try await queue.enqueue(Mutation("a1"))
        #expect(try await queue.clear() == 1)
        #expect(try await flush.value?.value.end == .drained)
        #expect(fixture.server.ids == ["b1"])
    }

    @Test(
        "after a sign-out no mutation of the old user is sent or kept, whatever the late answers (B9)"
    )
    func signOut() async throws {
        let server = fixture.server
        server.enqueue(.refused(.gone))
        let queue = SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: fixture.clock) {},
            configuration: SyncQueueConfiguration(maxInFlight: 3)
        ) { mutation in
            try await withTaskCancellationHandler {
                try await Task { try await server(mutation) }.value
            } onCancel: {
                server.release()
            }
        }
        try await queue.enqueue(Mutation.many(10))
        _ = try await queue.flush()
        let old = try await queue.dead()
        server.hold()
        for refusal in [Refusal.unavailable, .throttled(retryAfter: .seconds(60)), .gone] {
            server.enqueue(.refused(refusal))
        }
        try await queue.enqueue((0..<9).map { Mutation("\(Character(Unicode.Scalar(UInt8(97 + $0))))1") })
        queue.trigger()
        await server.waitForCalls(13)
        #expect(try await queue.clear(discardsDead: true) == 9)
        let calls = server.callCount
        #expect(queue.pausedUntil == nil && old.count == 1)
        #expect(try await queue.retryDead() == 0)
        #expect(try await queue.flush().end == .drained)
        #expect(server.callCount == calls)
        let status = try await queue.status
        #expect(status.pending == 0 && status.dead == 0)
    }
}
