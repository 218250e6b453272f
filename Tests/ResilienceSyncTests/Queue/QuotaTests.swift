import Foundation
import Resilience
import ResilienceTesting
import TestSupport
import Testing

@testable import ResilienceSync

/// Quotas that handlers report to the whole queue.
@Suite(.timeLimit(.minutes(20))) struct QuotaTests {
    let fixture = Fixture()

    /// A queue whose answers report these counts for a minute; the last count is repeated.
    private func queue(
        saying left: Int..., reset: Duration? = .seconds(60), store: MemoryStore = MemoryStore(), maxInFlight: Int = 1,
        healthCheck: (@Sendable () async throws -> Void)? = nil
    ) -> SyncQueue {
        let words = Locked(left)
        return SyncQueue(
            store: store, pipeline: Pipeline(timeBase: fixture.clock) {},
            configuration: SyncQueueConfiguration(
                maxInFlight: maxInFlight, maxPause: .seconds(600), healthCheck: healthCheck),
            observers: PolicyObservers(fixture.recorder), wallClock: fixture.wallClock
        ) { [server = fixture.server] mutation in
            let left = words.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
            SyncQueue.current?.note(ServerQuota(remaining: left, resetsAfter: reset))
            try await server(mutation)
        }
    }

    @Test("if nothing is left the queue pauses until the reset, reports it, and continues without a trigger")
    func silence() async throws {
        let queue = queue(saying: 1, 0, 1)
        try await queue.enqueue(Mutation.many(4))
        let end = fixture.clock.now + .seconds(60)
        #expect(try await queue.flush().end == .paused(until: end))
        #expect(fixture.server.callCount == 2 && queue.pausedUntil == end && fixture.clock.sleepers == [end])
        #expect(fixture.events.contains(.paused(for: .seconds(60))))
        queue.trigger()
        #expect(try await queue.flush().end == .paused(until: end))
        #expect(fixture.server.callCount == 2 && fixture.clock.sleepers == [end])
        fixture.clock.advance(by: .seconds(60))
        await fixture.server.waitForCalls(3)
        #expect(queue.pausedUntil == nil)
    }

    @Test("if nothing is pending a flush and a drain return at once, even with an empty quota")
    func nothingPending() async throws {
        let queue = queue(saying: 0)
        try await queue.enqueue(Mutation("a1"))
        #expect(try await queue.drain().end == .drained)
        #expect(try await queue.flush().end == .drained)
        #expect(queue.pausedUntil != nil)
    }

    @Test("the pause is not stored: another queue on the store sends a request")
    func notStored() async throws {
        let store = MemoryStore()
        let before = queue(saying: 0, store: store)
        try await before.enqueue(Mutation.many(3))
        _ = try await before.flush()
        #expect(store.pause() == nil)
        await before.stop()
        _ = try await queue(saying: 0, store: store).flush()
        #expect(fixture.server.callCount == 2)
    }

    @Test("during such a pause there is no health check")
    func healthCheck() async throws {
        let checks = ScriptedOperation<Void, Void>(fallback: .success(()))
        let queue = queue(saying: 0, healthCheck: { try await checks(()) })
        try await queue.enqueue(Mutation.many(2))
        queue.note(ServerQuota(remaining: 0, resetsAfter: .seconds(5)))
        #expect(try await queue.flush().end == .paused(until: fixture.clock.now + .seconds(5)))
        #expect(checks.callCount == 0 && fixture.server.callCount == 0)
    }

    @Test("a note that makes a pause longer while it lasts sets its own alarm")
    func prolonged() async throws {
        let queue = queue(saying: 0, 9)
        try await queue.enqueue(Mutation.many(2))
        _ = try await queue.flush()
        queue.note(ServerQuota(remaining: 0, resetsAfter: .seconds(90)))
        let end = fixture.clock.now + .seconds(90)
        #expect(queue.pausedUntil == end)
        fixture.clock.advance(by: .seconds(60))
        await fixture.clock.waitForSleepers(1)
        #expect(fixture.clock.sleepers == [end] && fixture.server.callCount == 1)
        fixture.clock.advance(by: .seconds(30))
        await fixture.server.waitForCalls(2)
    }

    @Test(
        "the estimated time assumes the earlier speed for the remaining quota, and then the window's speed",
        arguments: [(left: 50, milliseconds: 60), (left: 2, milliseconds: 4_020)])
    func timeLeft(left: Int, milliseconds: Int) async throws {
        let clock = fixture.clock
        let seen = Locked<SyncStatus?>(nil)
        let queue = SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: clock) {},
            configuration: SyncQueueConfiguration(maxInFlight: 1)
        ) { mutation in
            guard let queue = SyncQueue.current else { return }
            if mutation.id == "4" {
                let status = try await queue.status
                seen.withLock { $0 = status }
            }
            clock.advance(by: .milliseconds(10))
            let remaining = mutation.id == "3" ? left : 60
            queue.note(ServerQuota(limit: 60, remaining: remaining, resetsAfter: .seconds(60), window: .seconds(60)))
        }
        try await queue.enqueue(Mutation.many(10))
        try await queue.flush()
        let status = try #require(seen.withLock { $0 })
        let left = try #require(status.estimatedTimeLeft)
        #expect(status.rate == 1 && abs(left / .milliseconds(1) - Double(milliseconds)) < 0.001)
    }

    @Test("a note that allows more requests takes effect at once, even if no request ends")
    func seenAtOnce() async throws {
        let queue = queue(saying: 1, maxInFlight: 2)
        fixture.server.hold()
        try await queue.enqueue(Mutation.many(2))
        queue.trigger()
        await fixture.server.waitForCalls(1)
        fixture.clock.advance(by: .seconds(61))
        queue.note(ServerQuota(remaining: 9, resetsAfter: .seconds(60)))
        await fixture.server.waitForCalls(2)
        fixture.server.release()
        #expect(try await queue.flush().end == .drained)
    }

    @Test("resuming by hand ends the pause, and the queue sends at once")
    func resumed() async throws {
        let queue = queue(saying: 0)
        try await queue.enqueue(Mutation.many(2))
        _ = try await queue.flush()
        try await queue.resume()
        await fixture.server.waitForCalls(2)
    }

    @Test(
        "a 429 with an empty quota counts as the nth of its series: the backoff still grows (P44)", arguments: [0, 1])
    func throttled(milliseconds: Int64) async throws {
        let queue = queue(saying: 0, reset: .milliseconds(milliseconds))
        for _ in 0..<4 { fixture.server.enqueue(.refused(.throttled)) }
        try await queue.enqueue(Mutation("a1"))
        queue.trigger()
        let waits = await fixture.clock.passWaits(4)
        #expect(waits == [.seconds(1), .seconds(2), .seconds(4), .seconds(8)])
    }

    @Test("late notes of requests from before a clear are ignored; other notes count")
    func cleared() async throws {
        let (go, notes) = (PolicyWaiter(), Box<Task<Void, Never>>())
        let queue = SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: fixture.clock) {},
            configuration: SyncQueueConfiguration(isOffline: Fixture.isOffline)
        ) { _ in
            let queue = SyncQueue.current
            // A task that outlives its request.
            notes.value = Task {
                _ = await go.wait(until: .distantFuture, on: ManualClock())
                queue?.note(ServerQuota(remaining: 0, resetsAfter: .seconds(60)))
            }
            throw Refusal.unreachable
        }
        try await queue.enqueue(Mutation("a1"))
        _ = try await queue.flush()
        let late = try #require(notes.value)
        try await queue.clear()
        go.resume()
        await late.value
        #expect(queue.pausedUntil == nil)
        queue.note(ServerQuota(remaining: 0, resetsAfter: .seconds(60)))
        #expect(queue.pausedUntil != nil)
    }

    @Test("a note does no harm in any state: never triggered, cleared, stopped, or in a burst from many tasks")
    func anywhere() async throws {
        let queue = queue(saying: 9)
        let quotas = [
            ServerQuota(), ServerQuota(remaining: -1, resetsAfter: .seconds(-1)), ServerQuota(limit: 0, window: .zero),
            ServerQuota(remaining: .max, resetsAfter: .seconds(Int64.max)), ServerQuota(limit: .max, remaining: 0),
        ]
        await withDiscardingTaskGroup { group in
            for index in 0..<200 {
                group.addTask { queue.note(quotas[index % quotas.count]) }
            }
        }
        #expect(queue.pausedUntil == nil && queue.rate == nil)
        try await queue.enqueue(Mutation("a1"))
        #expect(try await queue.flush().end == .drained)
        try await queue.clear()
        for quota in quotas { queue.note(quota) }
        await queue.stop()
        for quota in quotas { queue.note(quota) }
        queue.note(ServerQuota(remaining: 0, resetsAfter: .seconds(Int64.max)))
        #expect(queue.pausedUntil == fixture.clock.now + .seconds(600))
        await #expect(throws: SyncQueueError.stopped) { try await queue.flush() }
        #expect(SyncQueue.current == nil)
    }

    @Test("the status shows limit and window as the rate")
    func rate() async throws {
        let queue = queue(saying: 9)
        queue.note(ServerQuota(limit: 50, remaining: 20, window: .seconds(10)))
        let status = try await queue.status
        #expect(queue.rate == 5 && status.rate == 5)
    }

    @Test("tokens are not counted as requests, but if none is left the queue waits for their reset")
    func otherUnits() throws {
        let (clock, start) = (fixture.clock, fixture.clock.now)
        let queue = SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: clock) {},
            configuration: SyncQueueConfiguration(maxInFlight: 8)
        ) { _ in
            SyncQueue.current?.note(
                ServerQuota(
                    name: "tokens", unit: "tokens", limit: 2, remaining: 1, resetsAfter: .seconds(60),
                    window: .seconds(60)))
        }
        let report = try clock.run {
            try await queue.enqueue(Mutation.many(20))
            return try await queue.drain()
        }
        #expect(report.delivered == 20 && clock.now == start)
        queue.note(ServerQuota(unit: "tokens", limit: 2, remaining: 0, resetsAfter: .seconds(30)))
        #expect(queue.pausedUntil == start + .seconds(30))
    }
}
