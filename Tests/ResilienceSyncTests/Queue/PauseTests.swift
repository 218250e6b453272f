import Foundation
import Resilience
import ResilienceSync
import ResilienceTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct PauseTests {
    let fixture = Fixture()

    @Test("queues with the same named wait come back at different times, none of them earlier (P55)")
    func jitter() async throws {
        var ends: Set<MonotonicInstant> = []
        for _ in 0..<20 {
            fixture.server.enqueue(.refused(.throttled(retryAfter: .seconds(100))))
            let queue = fixture.queue(configuration: SyncQueueConfiguration(maxInFlight: 1, pauseJitter: 0.1))
            try await queue.enqueue(Mutation("a1"))
            guard case .paused(let until) = try await queue.flush().end else {
                Issue.record("It is not paused.")
                return
            }
            ends.insert(until)
            #expect((fixture.clock.now + .seconds(100)...fixture.clock.now + .seconds(110)).contains(until))
        }
        #expect(ends.count > 15)
    }

    @Test("a pause ends exactly at its time, and its end starts a flush")
    func alarm() async throws {
        let (server, clock) = (fixture.server, fixture.clock)
        server.enqueue(.refused(.throttled(retryAfter: .seconds(7))))
        let queue = fixture.queue()
        try await queue.enqueue(Mutation("a1"))
        let end = clock.now + .seconds(7)
        #expect(try await queue.flush().end == .paused(until: end))
        #expect(queue.pausedUntil == end && clock.sleepers == [end])
        clock.advance(by: .milliseconds(6_999))
        queue.trigger()
        #expect(queue.pausedUntil == end && server.callCount == 1)
        clock.advance(by: .milliseconds(1))
        await server.waitForCalls(2)
        #expect(queue.pausedUntil == nil)
    }

    @Test(
        "a pause or an outage ends on time, even while another request is in flight (P72)",
        arguments: [.throttled(retryAfter: .seconds(5)), .unreachable] as [Refusal])
    func besideASlowOne(refusal: Refusal) async throws {
        let (server, slow, clock) = (fixture.server, Server(fallback: .ok), fixture.clock)
        let queue = SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: clock) {},
            configuration: SyncQueueConfiguration(maxInFlight: 2, isOffline: Fixture.isOffline)
        ) { mutation in
            try await mutation.id == "a1" ? slow(mutation) : server(mutation)
        }
        slow.hold()
        server.enqueue(.refused(refusal))
        try await queue.enqueue([Mutation("a1"), Mutation("b1")])
        queue.trigger()
        await slow.waitForCalls(1)
        await clock.waitForSleepers(1)
        clock.advanceToNextSleeper()
        await server.waitForCalls(2)
        #expect(server.ids == ["b1", "b1"])
        slow.release()
        #expect(try await queue.flush().end == .drained)
    }

    @Test("a flush started by hand cancels the alarm of the pause that it ends")
    func alarmIsTakenBack() async throws {
        let (server, clock, queue) = (fixture.server, fixture.clock, fixture.queue())
        server.enqueue(.refused(.throttled(retryAfter: .seconds(7))))
        try await queue.enqueue(Mutation("a1"))
        try await queue.flush()
        #expect(clock.sleepers == [clock.now + .seconds(7)])
        server.hold()
        try await queue.resume()
        await server.waitForCalls(2)
        #expect(clock.sleepers.isEmpty)
    }

    @Test("a flush that is cancelled after a 429 stores its pause, whose end starts a flush")
    func cancelledFlush() async throws {
        let (store, clock, server) = (MemoryStore(), fixture.clock, fixture.server)
        let queue = queueThatIsThrottledOnce(store)
        let events = queue.events()
        let end = clock.now + .seconds(60)
        try await queue.enqueue([Mutation("a1"), Mutation("b1")])
        let flush = Task { try await queue.flush() }
        for await event in events where event.kind == "paused" { break }
        await server.waitForCalls(1)
        flush.cancel()
        _ = try await flush.value
        #expect(queue.pausedUntil == end && clock.sleepers == [end])
        queue.trigger()
        #expect(store.pause() != nil && server.callCount == 1)
    }

    @Test("a pause that is ended while requests are in flight stays ended when they end")
    func resumedInFlight() async throws {
        let queue = queueThatIsThrottledOnce(MemoryStore())
        let events = queue.events()
        try await queue.enqueue([Mutation("a1"), Mutation("b1")])
        let flush = Task { try await queue.flush() }
        for await event in events where event.kind == "paused" { break }
        await fixture.server.waitForCalls(1)
        try await queue.resume()
        fixture.server.release()
        #expect(try await flush.value.end == .drained)
        #expect(queue.pausedUntil == nil)
    }

    /// "a1" is throttled at first; all others are held.
    private func queueThatIsThrottledOnce(_ store: MemoryStore) -> SyncQueue {
        let first = Server([.refused(.throttled(retryAfter: .seconds(60)))], fallback: .ok)
        fixture.server.hold()
        return SyncQueue(store: store, pipeline: Pipeline(timeBase: fixture.clock) {}) { [server = fixture.server] in
            if $0.id == "a1" { try await first($0) } else { try await server($0) }
        }
    }

    @Test("a pause that could not be stored still holds, and is stored as soon as possible")
    func notStored() async throws {
        let (inner, fails) = (MemoryStore(), Box<Bool>())
        let store = HookedStore(inner: inner) { step in
            if step == .before("set"), fails.value == true { throw SyncQueueError.storeFailed(path: "", reason: "") }
        }
        fails.value = true
        fixture.server.enqueue(.refused(.throttled(retryAfter: .seconds(60))))
        let queue = fixture.queue(store)
        let end = fixture.clock.now + .seconds(60)
        try await queue.enqueue(Mutation("a1"))
        await #expect(throws: SyncQueueError.self) { try await queue.flush() }
        fails.value = false
        #expect(try await queue.flush().end == .paused(until: end))
        #expect(inner.pause() != nil && fixture.clock.sleepers == [end])
    }

    @Test(
        "a server that asks for no wait, or for a useless wait, gets ever fewer requests (P44)",
        arguments: [0, 1])
    func uselessWaits(seconds: Int) async throws {
        let server = Server(fallback: .refused(.throttled(retryAfter: .seconds(seconds))))
        let queue = SyncQueue(store: MemoryStore(), pipeline: Pipeline(timeBase: fixture.clock) {}) {
            try await server($0)
        }
        try await queue.enqueue(Mutation.many(100))
        let start = fixture.clock.now
        _ = try await queue.flush()
        while fixture.clock.now < start + .seconds(3600) { try await fixture.passOneWait() }
        // Two requests at first; then one at 1, 3, 7, 15, 31, 63 s, and once a minute.
        #expect(server.callCount <= 70)
    }

    @Test(
        "stalls, and pauses after 429s without a named wait, end without a trigger, and grow until a success",
        arguments: [
            (1, [.unavailable, .unavailable, .unavailable, .unavailable], [1, 2, 4, 8]),
            (2, [.throttled, .throttled, .throttled, nil, .throttled], [1, 2, 4, 1]),
        ] as [(Int, [Refusal?], [Int])])
    func growing(mutations: Int, answers: [Refusal?], seconds: [Int]) async throws {
        for answer in answers { fixture.server.enqueue(answer.map { .refused($0) } ?? .ok) }
        let queue = fixture.queue()
        try await queue.enqueue(Mutation.many(mutations))
        queue.trigger()
        let waits = await fixture.clock.passWaits(4)
        #expect(waits == seconds.map { .seconds($0) })
    }

    @Test("with waits configured as zero, the queue does not retry at the same instant")
    func zeroWaits() async throws {
        fixture.server.enqueue(.refused(.throttled), .refused(.unreachable))
        let configuration = SyncQueueConfiguration(
            throttledBackoff: .none, failedBackoff: .none, maxPause: .zero, isOffline: Fixture.isOffline)
        let queue = fixture.queue(configuration: configuration)
        try await queue.enqueue(Mutation("a1"))
        let start = fixture.clock.now
        #expect(try await queue.flush().end == .paused(until: start + .milliseconds(1)))
        try await fixture.passOneWait()
        #expect(fixture.clock.sleepers == [start + .milliseconds(2)])
    }

    @Test("an alarm that is due before it is set does not deadlock the queue")
    func dueAlready() async throws {
        let (server, clock) = (fixture.server, fixture.clock)
        server.enqueue(.refused(.throttled(retryAfter: .seconds(1))))
        let store = HookedStore(inner: MemoryStore()) { step in
            if step == .after("set") { clock.advance(by: .seconds(5)) }
        }
        let queue = fixture.queue(store)
        try await queue.enqueue(Mutation("a1"))
        queue.trigger()
        await server.waitForCalls(2)
        #expect(try await queue.flush().end == .drained)
    }

    @Test("resuming ends the pause at once, resets the breaker, and sends")
    func resume() async throws {
        for _ in 0..<3 { try? await fixture.breaker.run { throw Refusal.throttled } }
        let store = MemoryStore()
        let queue = fixture.guardedQueue(store)
        try await queue.enqueue(Mutation("a1"))
        _ = try await queue.flush()
        #expect(queue.pausedUntil != nil && store.pause() != nil)
        try await queue.resume()
        await fixture.server.waitForCalls(1)
        #expect(queue.pausedUntil == nil && store.pause() == nil && !fixture.breaker.status.isTripped)
    }

    @Test("resuming resets the growth of pauses, or keeps it (B6)", arguments: [true, false])
    func resumeKeepingGrowth(keeps: Bool) async throws {
        // A second 429 without a wait pauses longer.
        let other = fixture.queue()
        fixture.server.enqueue(.refused(.throttled), .refused(.throttled))
        try await other.enqueue(Mutation("b1"))
        _ = try await other.flush()
        try await other.resume(keepingGrowth: keeps)
        _ = try await other.flush()
        #expect(other.pausedUntil == fixture.clock.now + .seconds(keeps ? 2 : 1))
    }

    @Test("resuming closes every breaker of the pipeline, even inside a custom policy")
    func resumeClosesAll() async throws {
        let inner = CircuitBreaker("inner", timeBase: fixture.clock)
        for breaker in [fixture.breaker, inner] { breaker.trip() }
        let pipeline = Pipeline(timeBase: fixture.clock) {
            fixture.breaker
            Guarding(inner)
        }
        try await fixture.queue(MemoryStore(), pipeline).resume()
        #expect(fixture.breaker.state == .closed && inner.state == .closed)
    }

    @Test(
        "a break after a resume is as long as without the resume, if the growth is kept (B6)",
        arguments: [true, false])
    func breakAfterResume(keeps: Bool) async throws {
        for _ in 0..<3 { try? await fixture.breaker.run { throw Refusal.throttled } }
        let queue = fixture.guardedQueue()
        for _ in 0..<3 { fixture.server.enqueue(.refused(.throttled(retryAfter: .seconds(1)))) }
        try await queue.enqueue(Mutation("a1"))
        try await queue.resume(keepingGrowth: keeps)
        while !fixture.breaker.status.isTripped {
            _ = try await queue.flush()
            if !fixture.breaker.status.isTripped { fixture.clock.advance(by: .seconds(10)) }
        }
        #expect(fixture.breaker.status.timeRemaining == .seconds(keeps ? 60 : 30))
    }

    @Test("the events report what happened, in order (C2)")
    func events() async throws {
        fixture.server.enqueue(.refused(.throttled(retryAfter: .seconds(7))), .refused(.unavailable))
        let queue = fixture.queue()
        try await queue.enqueue([Mutation("a1"), Mutation("b1")])
        _ = try await fixture.whileTimePasses { try await queue.drain() }
        #expect(
            fixture.events == [
                .enqueued(2), .attempted(id: "a1"), .paused(for: .seconds(7)), .attempted(id: "b1"),
                .failed(id: "b1", failures: 0, error: "Refusal"), .attempted(id: "a1"), .delivered(id: "a1"),
                .attempted(id: "b1"), .delivered(id: "b1"), .drained,
            ])
    }
}

/// Another queue on the same store stands for the next start of the app.
@Suite(.timeLimit(.minutes(20))) struct PauseOverRestartsTests {
    let fixture = Fixture()
    let wallClock = WallClock()
    let store = MemoryStore()

    @Test("after a restart the queue waits for the rest of a pause, and the end of the pause starts a flush")
    func restart() async throws {
        try await pause(for: .seconds(60))
        wallClock.set(wallClock.now.addingTimeInterval(20))
        let (queue, next) = restarted()
        let end = next.clock.now + .seconds(40)
        #expect(try await queue.flush().end == .paused(until: end))
        #expect(next.server.callCount == 0 && next.clock.sleepers == [end])
        next.clock.advance(to: end)
        await next.server.waitForCalls(1)
    }

    @Test(
        "a clock set back an hour, a day or a century extends no pause beyond maxPause, not even over another restart",
        arguments: [3600, 86_400, 3.2e9])
    func clockSetBack(by seconds: TimeInterval) async throws {
        try await pause(for: .seconds(60))
        wallClock.set(wallClock.now.addingTimeInterval(-seconds))
        let (queue, next) = restarted()
        #expect(try await queue.flush().end == .paused(until: next.clock.now + .seconds(600)))
        wallClock.set(wallClock.now.addingTimeInterval(400))
        let (third, last) = restarted()
        #expect(try await third.flush().end == .paused(until: last.clock.now + .seconds(200)))
    }

    @Test(
        "a stored pause is waited for to the millisecond, up to maxPause; a past or invalid one is ignored",
        arguments: [
            ("1700000000.5", .milliseconds(500)), ("1700000000", nil), ("1699999999", nil), ("nan", nil), ("soon", nil),
            ("1e300", .seconds(600)), ("inf", .seconds(600)),
        ] as [(String, Duration?)])
    func stored(pause: String, left: Duration?) async throws {
        store.set("pausedUntil", to: pause)
        let (queue, next) = restarted()
        #expect(try await queue.flush().end == left.map { .paused(until: next.clock.now + $0) } ?? .drained)
        #expect(next.clock.sleepers.count == (left == nil ? 0 : 1))
    }

    @Test(
        "if a stored pause is ended while a flush reads it, the pause is over, even before the queue has learned of it"
    )
    func endIsStoredWhileItIsRead() async throws {
        try await pause(for: .seconds(60))
        let flush = Box<Task<FlushReport, any Error>>()
        let reading = ScriptedOperation<Void, Void>(fallback: .success(()))
        reading.hold()
        let hooked = HookedStore(inner: store) { step in
            if step == .after("setting"), reading.callCount == 0 { try await reading(()) }
            guard step == .after("set"), reading.callCount == 1, let flush = flush.value else { return }
            reading.release()
            #expect(try await flush.value.end == .drained)
        }
        let (queue, next) = restarted(hooked)
        flush.value = Task { try await queue.flush() }
        await reading.waitForCalls(1)
        try await queue.resume()
        #expect(next.server.ids == ["a1"])
    }

    @Test("a stored pause that is ended by hand while it is being read is over", arguments: [true, false])
    func endedWhileItIsRead(readsFirst: Bool) async throws {
        try await pause(for: .seconds(60))
        let (box, flush) = (Box<SyncQueue>(), Box<Task<FlushReport, any Error>>())
        let reading = ScriptedOperation<Void, Void>(fallback: .success(()))
        reading.hold()
        let hooked = HookedStore(inner: store) { step in
            guard let queue = box.value else { return }
            // The flush has read the old pause, but learns its meaning only after it is over.
            if step == .after("setting"), reading.callCount == 0 { try await reading(()) }
            guard step == .before("set"), !readsFirst else { return }
            flush.value = Task { try await queue.flush() }
            await reading.waitForCalls(1)
        }
        let (queue, _) = restarted(hooked)
        box.value = queue
        if readsFirst {
            flush.value = Task { try await queue.flush() }
            await reading.waitForCalls(1)
        }
        try await queue.resume()
        reading.release()
        #expect(try await flush.value?.value.end == .drained)
    }

    @Test("clearing before the first flush also ends a stored pause (B9)")
    func cleared() async throws {
        try await pause(for: .seconds(60))
        let (queue, next) = restarted()
        #expect(try await queue.clear() == 1)
        try await queue.enqueue(Mutation("a2"))
        #expect(try await queue.flush().end == .drained)
        #expect(next.server.ids == ["a2"])
    }

    private func pause(for wait: Duration) async throws {
        let (queue, first) = restarted()
        first.server.enqueue(.refused(.throttled(retryAfter: wait)))
        try await queue.enqueue(Mutation("a1"))
        #expect(try await queue.flush().end == .paused(until: first.clock.now + wait))
        await queue.stop()
    }

    private func restarted(_ hooked: HookedStore? = nil) -> (SyncQueue, Fixture) {
        let next = Fixture()
        let queue = SyncQueue(
            store: hooked ?? HookedStore(inner: store) { _ in }, pipeline: Pipeline(timeBase: next.clock) {},
            configuration: SyncQueueConfiguration(maxPause: .seconds(600)), wallClock: { [wallClock] in wallClock.now }
        ) { try await next.server($0) }
        return (queue, next)
    }
}
