import Foundation
import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct StatusTests {
    let fixture = Fixture()
    let wallClock = WallClock()

    private func queue() -> SyncQueue {
        SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: fixture.clock) {},
            configuration: SyncQueueConfiguration(maxInFlight: 1), observers: PolicyObservers(fixture.recorder),
            wallClock: { [wallClock] in wallClock.now }
        ) { [server = fixture.server] in try await server($0) }
    }

    @Test("the status reports how much is pending, in flight and dead, the oldest age, and until when the queue waits")
    func status() async throws {
        let (queue, server, clock) = (queue(), fixture.server, fixture.clock)
        server.enqueue(.refused(.gone), .refused(.throttled(retryAfter: .seconds(30))))
        try await queue.enqueue([Mutation("a1"), Mutation("b1", payload: "12345"), Mutation("c1", payload: "123")])
        wallClock.set(wallClock.now.addingTimeInterval(20))
        clock.advance(by: .seconds(20))
        let before = try await queue.status
        #expect(before.pending == 3 && before.bytes == 8 && before.dead == 0 && before.inFlight == 0)
        #expect(!before.isFlushing && before.pausedUntil == nil && before.oldestAge == .seconds(20))
        _ = try await queue.flush()
        let paused = try await queue.status
        #expect(paused.pending == 2 && paused.dead == 1 && paused.pausedUntil == clock.now + .seconds(30))
        server.hold()
        clock.advance(by: .seconds(30))
        await server.waitForCalls(3)
        let flushing = try await queue.status
        #expect(flushing.inFlight == 1 && flushing.isFlushing && flushing.pausedUntil == nil)
        server.release()
        _ = try await queue.flush()
        let empty = try await queue.status
        #expect(empty.pending == 0 && empty.bytes == 0 && empty.oldestAge == nil && empty.estimatedTimeLeft == .zero)
        #expect(empty.inFlight == 0)
    }

    @Test(
        "an impossible date in the store does not prevent a status", arguments: [-1e300, -.infinity, .infinity])
    func impossibleDate(seconds: Double) async throws {
        let store = MemoryStore()
        _ = try store.append([Mutation("a1")], under: AppendRules(), at: Date(timeIntervalSince1970: seconds))
        let queue = fixture.queue(store)
        #expect(try await queue.status.pending == 1)
    }

    @Test("a queue's stream has only its own events, even if another queue has the same observers")
    func sharedObservers() async throws {
        let observers = PolicyObservers()
        let queues = ["a", "b"].map { name in
            SyncQueue(
                name, store: MemoryStore(), pipeline: Pipeline(timeBase: fixture.clock) {}, observers: observers
            ) { _ in }
        }
        var events = queues[0].events().makeAsyncIterator()
        try await queues[1].enqueue(Mutation("b1"))
        try await queues[0].enqueue(Mutation.many(2))
        #expect(await events.next() == .enqueued(2))
    }

    @Test("a clock set back makes no age negative")
    func setBack() async throws {
        let queue = queue()
        try await queue.enqueue(Mutation("a1"))
        wallClock.set(wallClock.now.addingTimeInterval(-86_400))
        #expect(try await queue.status.oldestAge == .zero)
    }

    @Test("the estimated time follows the flush's deliveries so far; before any delivery it is unknown")
    func timeLeft() async throws {
        let (queue, server, clock) = (queue(), fixture.server, fixture.clock)
        server.hold()
        try await queue.enqueue(Mutation.many(12))
        #expect(try await queue.status.estimatedTimeLeft == nil)
        queue.trigger()
        for count in 1...4 {
            await server.waitForCalls(count)
            clock.advance(by: .seconds(2))
            server.release(1)
        }
        await server.waitForCalls(5)
        #expect(try await queue.status.estimatedTimeLeft == .seconds(16))
        server.release()
        _ = try await queue.flush()
    }

    @Test(
        "with a known rate, the estimated time follows from the rate and the mutations per request",
        arguments: [1, 5])
    func timeLeftByRate(batch: Int) async throws {
        let clock = fixture.clock
        let start = clock.now
        let server = Locked(TokenBucketServer(oneIn: .milliseconds(100), burst: 10))
        let queue = SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: clock) {},
            configuration: SyncQueueConfiguration(maxInFlight: 1),
            handlers: [
                .batch("create", upTo: batch) { mutations in
                    let now = MonotonicInstant(nanoseconds: 0) + start.duration(to: clock.now)
                    let isAdmitted = server.withLock { $0.admits(at: now) }
                    if !isAdmitted { throw Refusal.throttled(retryAfter: .seconds(1)) }
                    return mutations.map { _ in .success(()) }
                }
            ])
        let left = try clock.run {
            try await queue.enqueue(Mutation.many(1000 * batch))
            async let drain = queue.drain()
            while clock.now < start + .seconds(50) {
                _ = await PolicyWaiter().wait(until: clock.now + .seconds(1), on: clock)
            }
            let status = try await queue.status
            _ = try await drain
            return (told: status.estimatedTimeLeft ?? .zero, real: start.duration(to: clock.now) - .seconds(50))
        }
        #expect(left.told > left.real * 0.8 && left.told < left.real * 1.2, "\(left)")
    }

    @Test("a status is written with durations in seconds, and can be read back")
    func written() throws {
        let written: [String: Double] = [
            "pending": 3, "bytes": 30, "dead": 1, "deadBytes": 10, "inFlight": 2, "isFlushing": 1, "isPausedByHand": 1,
            "pausedUntilNanoseconds": 5, "rate": 1.5, "oldestAgeSeconds": 90.5, "estimatedTimeLeftSeconds": 2,
        ]
        let text = written.map { $0.key.hasPrefix("is") ? "\"\($0.key)\":true" : "\"\($0.key)\":\($0.value)" }
        let status = try JSONDecoder().decode(
            SyncStatus.self, from: Data("{\(text.joined(separator: ","))}".utf8))
        #expect(status.oldestAge == .milliseconds(90_500) && status.estimatedTimeLeft == .seconds(2))
        #expect(status.pausedUntil == MonotonicInstant(nanoseconds: 5) && status.rate == 1.5 && status.isFlushing)
        let again = try JSONSerialization.jsonObject(with: JSONEncoder().encode(status))
        #expect(again as? [String: Double] == written)
    }

    @Test("the stream of states shows the present one, then later ones, and finally an empty queue")
    func statusUpdates() async throws {
        let queue = queue()
        try await queue.enqueue(Mutation.many(20))
        var pending: [Int] = []
        for await status in queue.statusUpdates() {
            if pending.isEmpty { queue.trigger() }
            pending.append(status.pending)
            if status.pending == 0 { break }
        }
        #expect(pending.first == 20 && pending == pending.sorted(by: >))
    }

    @Test("the stream of events has all events in order, from its creation on")
    func events() async throws {
        let queue = queue()
        try await queue.enqueue(Mutation("a1"))
        var events = queue.events().makeAsyncIterator()
        _ = try await queue.flush()
        #expect(await events.next() == .attempted(id: "a1"))
        #expect(await events.next() == .delivered(id: "a1"))
        #expect(await events.next() == .drained)
    }

    @Test("a slow reader of events keeps the newest")
    func lagging() async throws {
        let queue = queue()
        var events = queue.events(bufferingNewest: 1).makeAsyncIterator()
        try await queue.enqueue(Mutation.many(5))
        _ = try await queue.flush()
        #expect(await events.next() == .drained)
    }
}
