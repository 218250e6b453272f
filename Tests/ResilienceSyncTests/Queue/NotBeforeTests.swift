import Foundation
import Resilience
import ResilienceTesting
import Testing

@testable import ResilienceSync

/// Mutations that must not be sent before a date.
@Suite(.timeLimit(.minutes(20))) struct NotBeforeTests {
    let fixture = Fixture()

    private var date: Date { fixture.wallClock() }
    private var now: MonotonicInstant { fixture.clock.now }

    private func mutation(_ id: String, in seconds: Double?) -> Mutation {
        Mutation(
            id: id, entity: String(id.prefix { !$0.isNumber }), kind: "create",
            notBefore: seconds.map { date.addingTimeInterval($0) })
    }

    /// The test sets its clock.
    private func queue(
        _ store: some MutationStore = MemoryStore(), wall: Box<TimeInterval>,
        _ configuration: SyncQueueConfiguration = SyncQueueConfiguration(maxInFlight: 1)
    ) -> SyncQueue {
        SyncQueue(
            store: store, pipeline: Pipeline(timeBase: fixture.clock) {}, configuration: configuration,
            wallClock: { [wallClock = fixture.wallClock] in wallClock().addingTimeInterval(wall.value ?? 0) }
        ) { [server = fixture.server] in try await server($0) }
    }

    @Test("a mutation and those behind it wait for its date, and are then sent without a trigger; other lanes continue")
    func waits() async throws {
        for store in try everyStore() {
            let fixture = Fixture()
            let queue = fixture.queue(store)
            let date = fixture.wallClock().addingTimeInterval(60)
            try await queue.enqueue(Mutation(id: "a1", entity: "a", kind: "create", notBefore: date))
            try await queue.enqueue([Mutation("a2"), Mutation("b1")])
            let drain = Task { try await queue.drain() }
            await fixture.clock.waitForSleepers(1)
            #expect(fixture.server.ids == ["b1"])
            #expect(try await queue.flush().end == .waiting(until: fixture.clock.now + .seconds(60)))
            #expect(try await queue.mutation("a1")?.mutation.notBefore == date)
            let status = try await queue.status
            #expect(status.nextDue == date && status.pending == 2)
            fixture.clock.advance(by: .seconds(59))
            #expect(try await queue.flush().end == .waiting(until: fixture.clock.now + .seconds(1)))
            fixture.clock.advance(by: .seconds(1))
            #expect(try await drain.value.end == .drained)
            #expect(fixture.server.ids == ["b1", "a1", "a2"])
            #expect(try await queue.status.nextDue == nil)
        }
    }

    @Test("a restart changes nothing, even if nothing ran on the date")
    func restart() async throws {
        for store in try everyStore() {
            let fixture = Fixture()
            let date = fixture.wallClock()
            let first = fixture.queue(store)
            for (id, seconds) in [("a", 10.0), ("b", 60)] {
                try await first.enqueue(
                    Mutation(id: id, entity: id, kind: "create", notBefore: date.addingTimeInterval(seconds)))
            }
            await first.stop()
            fixture.clock.advance(by: .seconds(30))
            let second = fixture.queue(store)
            #expect(try await second.flush().end == .waiting(until: fixture.clock.now + .seconds(30)))
            #expect(fixture.server.ids == ["a"])
            fixture.clock.advance(by: .seconds(30))
            await fixture.server.waitForCalls(2)
            #expect(fixture.server.ids == ["a", "b"])
        }
    }

    @Test("a past, distant or missing date causes no trap and no busy wait")
    func odd() async throws {
        let queue = fixture.queue()
        await #expect(throws: SyncQueueError.invalid(id: "n", reason: "its date is no number.")) {
            try await queue.enqueue(mutation("n", in: .nan))
        }
        for (number, seconds) in [0, -1, -1e300, -.infinity, 1e11, 1e300, .infinity].enumerated() {
            try await queue.enqueue(mutation("\(UnicodeScalar(UInt8(97 + number)))1", in: seconds))
        }
        // The remaining dates are too far away to wait for.
        #expect(try await queue.drain().end == .waiting(until: .distantFuture))
        #expect(fixture.server.ids == ["a1", "b1", "c1", "d1"])
        #expect(try await queue.status.pending == 3)
        fixture.clock.advance(by: .seconds(1e9))
        #expect(try await queue.flush().end == .waiting(until: .distantFuture))
        for id in ["e1", "f1", "g1"] { #expect(try await queue.cancel(id) != nil) }
        #expect(try await queue.drain().end == .drained)
    }

    @Test("a clock that jumps ahead at runtime makes nothing due, and new dates count by the new time")
    func jump() async throws {
        let wall = Box<TimeInterval>()
        let queue = queue(wall: wall)
        try await queue.enqueue(mutation("a1", in: 60))
        #expect(try await queue.flush().end == .waiting(until: now + .seconds(60)))
        wall.value = 3_600
        #expect(try await queue.flush().end == .waiting(until: now + .seconds(60)))
        try await queue.enqueue(Mutation("b1"))
        fixture.clock.advance(by: .seconds(30))
        #expect(try await queue.flush().end == .waiting(until: now + .seconds(30)))
        #expect(fixture.server.ids == ["b1"])
        fixture.clock.advance(by: .seconds(30))
        await fixture.server.waitForCalls(2)
        // Ten seconds by the clock's current time.
        try await queue.enqueue(mutation("c1", in: 3_610))
        #expect(try await queue.flush().end == .waiting(until: now + .seconds(10)))
        fixture.clock.advance(by: .seconds(10))
        await fixture.server.waitForCalls(3)
        #expect(fixture.server.ids == ["b1", "a1", "c1"])
    }

    @Test(
        "if a clock is set back, the queue waits until the clock shows the date, without missed alarms or busy waiting"
    )
    func setBack() async throws {
        let wall = Box<TimeInterval>()
        let looks = Locked(0)
        let store = HookedStore(inner: MemoryStore()) { if $0 == .before("heads") { looks.withLock { $0 += 1 } } }
        let queue = queue(store, wall: wall)
        try await queue.enqueue(mutation("a1", in: 60))
        #expect(try await queue.flush().end == .waiting(until: now + .seconds(60)))
        wall.value = -100
        // By the alarm's time, the date has passed.
        fixture.clock.advance(by: .seconds(60))
        await fixture.clock.waitForSleepers(1)
        #expect(try await queue.flush().end == .waiting(until: now + .seconds(100)))
        #expect(fixture.server.callCount == 0)
        fixture.clock.advance(by: .seconds(100))
        await fixture.server.waitForCalls(1)
        #expect(looks.withLock { $0 } < 20, "\(looks.withLock { $0 })")
    }

    @Test("a date that comes during a request is not missed")
    func besideARequest() async throws {
        let queue = fixture.queue(configuration: SyncQueueConfiguration(maxInFlight: 2))
        fixture.server.hold()
        try await queue.enqueue([mutation("a1", in: 5), mutation("b1", in: nil)])
        let flush = Task { try await queue.flush() }
        await fixture.server.waitForCalls(1)
        await fixture.clock.waitForSleepers(1)
        fixture.clock.advance(by: .seconds(5))
        await fixture.server.waitForCalls(2)
        fixture.server.release()
        #expect(try await flush.value.end == .drained)
    }

    @Test("a mutation's age counts from its date; those behind it age meanwhile")
    func age() async throws {
        let queue = fixture.queue(configuration: SyncQueueConfiguration(maxAge: .seconds(50)))
        try await queue.enqueue([mutation("a1", in: 60), mutation("a2", in: nil), mutation("b1", in: 5)])
        #expect(try await queue.flush().end == .waiting(until: now + .seconds(5)))
        await queue.stop()
        let other = fixture.queue(configuration: SyncQueueConfiguration(maxAge: .seconds(50)))
        try await other.enqueue([mutation("a1", in: 60), mutation("a2", in: nil), mutation("b1", in: 5)])
        // The queue does not look at the date of the last mutation.
        fixture.clock.advance(by: .seconds(60))
        let report = try await other.flush()
        #expect(report.end == .drained && report.died == 2 && fixture.server.ids == ["a1"])
        #expect(try await other.dead().map(\.mutation.id) == ["a2", "b1"])
    }

    @Test("a mutation whose date comes between the last look and the flush's end is sent by that flush")
    func atTheEnd() async throws {
        let store = HookedStore(inner: MemoryStore(), at: .before("totals")) { [clock = fixture.clock] in
            clock.advance(by: .seconds(60))
        }
        let queue = fixture.queue(store)
        try await queue.enqueue(mutation("a1", in: 60))
        #expect(try await queue.flush().end == .drained)
        #expect(fixture.server.ids == ["a1"])
    }

    @Test("two queues on a store both wait for the date, and one sends")
    func two() async throws {
        let store = MemoryStore()
        let queues = [fixture.queue(store), fixture.queue(store)]
        try await queues[0].enqueue(mutation("a1", in: 60))
        for queue in queues { #expect(try await queue.flush().end == .waiting(until: now + .seconds(60))) }
        fixture.clock.advance(by: .seconds(60))
        for queue in queues { try await queue.drain() }
        #expect(fixture.server.ids == ["a1"])
    }
}
