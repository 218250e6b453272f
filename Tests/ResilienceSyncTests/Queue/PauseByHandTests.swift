import Foundation
import Resilience
import ResilienceTesting
import TestSupport
import Testing

@testable import ResilienceSync

@Suite(.timeLimit(.minutes(20))) struct PauseByHandTests {
    let fixture = Fixture()

    /// How a flush ends if something happens during its first request.
    private func endOfFlush(
        of queue: SyncQueue, _ meanwhile: () async throws -> Void
    ) async throws -> FlushReport.End {
        fixture.server.hold()
        let flush = Task { try await queue.flush() }
        await fixture.server.waitForCalls(1)
        try await meanwhile()
        fixture.server.release()
        return try await flush.value.end
    }

    @Test("nothing is sent while the queue is paused by hand, with any trigger, until it is resumed")
    func endless() async throws {
        let queue = fixture.queue()
        try await queue.enqueue([Mutation("a1"), Mutation("b1")])
        try await queue.pause()
        #expect(try await queue.flush().end == .paused(until: .distantFuture))
        #expect(try await queue.drain().end == .paused(until: .distantFuture), "it does not wait for ever")
        fixture.clock.advance(by: .seconds(1e9))
        #expect(try await queue.flush().end == .paused(until: .distantFuture))
        #expect(fixture.server.callCount == 0 && queue.pausedUntil == .distantFuture)
        let status = try await queue.status
        #expect(status.isPausedByHand && status.pausedUntil == nil && status.estimatedTimeLeft == nil)
        try await queue.resume()
        #expect(try await queue.flush().end == .drained)
        #expect(fixture.server.ids == ["a1", "b1"])
        #expect(try await !queue.status.isPausedByHand)
        let told = fixture.events.filter { $0.kind == "pausedByHand" || $0.kind == "resumed" }
        #expect(told.map(\.description) == ["paused by hand, until it is resumed", "resumed by hand"])
    }

    @Test("the end of a pause by hand starts a flush; zero or less does not pause")
    func finite() async throws {
        let queue = fixture.queue()
        try await queue.enqueue(Mutation("a1"))
        try await queue.pause(for: .seconds(90))
        #expect(try await queue.flush().end == .paused(until: fixture.clock.now + .seconds(90)))
        fixture.clock.advance(by: .seconds(89))
        #expect(fixture.server.callCount == 0)
        fixture.clock.advance(by: .seconds(1))
        await fixture.server.waitForCalls(1)
        for length in [.zero, .seconds(-1), .seconds(Int64.min)] as [Duration] {
            try await queue.pause(for: length)
            try await queue.enqueue(Mutation("b\(length)"))
            #expect(try await queue.flush().end == .drained)
        }
        try await queue.pause(for: .seconds(Int64.max))
        #expect(try await queue.flush().end == .paused(until: .distantFuture))
    }

    @Test("a pause by hand survives a restart, a clear, and any maxPause")
    func outlasts() async throws {
        let store = MemoryStore()
        let queue = fixture.queue(store)
        try await queue.pause(for: .seconds(86_400))
        try await queue.clear()
        try await queue.enqueue(Mutation("a1"))
        #expect(try await queue.flush().end == .paused(until: fixture.clock.now + .seconds(86_400)))
        await queue.stop()
        let again = fixture.queue(store)
        #expect(try await again.flush().end == .paused(until: fixture.clock.now + .seconds(86_400)))
        #expect(fixture.server.callCount == 0)
        try await again.resume()
        try await again.flush()
        #expect(fixture.server.ids == ["a1"])
    }

    @Test("a 429 in flight makes its own pause: the later end counts, and resuming ends both")
    func besideThrottling() async throws {
        let queue = fixture.queue()
        try await queue.enqueue([Mutation("a1"), Mutation("b1")])
        fixture.server.enqueue(.refused(.throttled(retryAfter: .seconds(300))))
        let end = try await endOfFlush(of: queue) { try await queue.pause(for: .seconds(10)) }
        #expect(end == .paused(until: fixture.clock.now + .seconds(300)))
        try await queue.pause()
        try await queue.resume()
        #expect(try await queue.flush().end == .drained)
    }

    @Test(
        "after a restart a clock that was set back does not lengthen a pause",
        arguments: [3_600.0, 86_400, 3e9], [10, 100])
    func clockSetBack(by seconds: TimeInterval, after passed: Int) async throws {
        let store = MemoryStore()
        try await fixture.queue(store).pause(for: .seconds(90))
        fixture.clock.advance(by: .seconds(passed))
        let next = Fixture()
        let queue = SyncQueue(
            store: HookedStore(inner: store) { _ in }, pipeline: Pipeline(timeBase: next.clock) {},
            wallClock: { [now = fixture.wallClock] in now().addingTimeInterval(-seconds) }
        ) { _ in }
        #expect(try await queue.flush().end == .paused(until: next.clock.now + .seconds(90)))
    }

    @Test("a pause that is ended while it is being stored is over, and the flush continues")
    func endedWhileStored() async throws {
        let known = Box<SyncQueue>()
        let queue = fixture.queue(
            HookedStore(inner: MemoryStore(), at: .after("set")) { try await known.value?.resume() })
        known.value = queue
        try await queue.enqueue([Mutation("a1"), Mutation("a2")])
        let end = try await endOfFlush(of: queue) { try await queue.pause() }
        #expect(end == .drained)
        #expect(fixture.server.ids == ["a1", "a2"])
    }

    #if SQLite
        @Test(
            "after another queue pauses their store, a queue stops at its next claim, even if the other reads it first")
        func sameStore() async throws {
            let store = try SQLiteStore.temporary()
            let (queue, other) = (fixture.queue(store), Fixture().queue(store))
            try await queue.enqueue([Mutation("a1"), Mutation("a2")])
            let end = try await endOfFlush(of: queue) {
                try await other.pause()
                #expect(try await other.status.isPausedByHand)
            }
            #expect(end == .paused(until: .distantFuture))
            #expect(fixture.server.ids == ["a1"])
        }

        @Test("a program that sends obeys another program's stored pause at its next claim, and the other can end it")
        func anotherProcess() async throws {
            let folder = try TemporaryFolder()
            let path = folder.url.appendingPathComponent("queue.sqlite").path
            let queue = fixture.queue(try SQLiteStore(path: path))
            let other = Fixture().queue(try SQLiteStore(path: path))
            try await queue.enqueue([Mutation("a1"), Mutation("a2")])
            let end = try await endOfFlush(of: queue) { try await other.pause() }
            #expect(end == .paused(until: .distantFuture))
            #expect(fixture.server.ids == ["a1"])
            // The first of the two sends the rest.
            try await other.resume()
            while try await queue.status.pending > 0 { try await queue.flush() }
            #expect(!(try await queue.status.isPausedByHand))
        }
    #endif
}
