import Foundation
import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

/// Dead mutations, and the mutations behind them.
@Suite(.timeLimit(.minutes(20))) struct DeadTests {
    let fixture = Fixture()

    private func queue(rule: LaneRule) -> SyncQueue {
        fixture.queue(configuration: SyncQueueConfiguration(maxInFlight: 1, failureCounting: .always, laneRule: rule))
    }

    @Test("a dead mutation can be listed, and retried at its old place, under its key, as if it had never failed")
    func retry() async throws {
        fixture.server.enqueue(.refused(.gone), .refused(.gone))
        let queue = queue(rule: .skip)
        try await queue.enqueue([Mutation("a1"), Mutation("b1")])
        _ = try await queue.flush()
        let dead = try await queue.dead()
        #expect(dead.map(\.mutation.id) == ["a1", "b1"])
        try await queue.enqueue(Mutation("a2"))
        #expect(try await queue.retryDead([dead[0].position, 77]) == 1)
        #expect(try await queue.flush().end == .drained)
        #expect(fixture.server.ids == ["a1", "b1", "a1", "a2"])
        #expect(fixture.server.inputs[2].idempotencyKey == "key-a1")
        #expect(try await queue.dead().map(\.mutation.id) == ["b1"])
        #expect(fixture.events.contains(.revived(1)))
        #expect(try await queue.retryDead() == 1)
    }

    @Test("retrying and discarding unknown mutations does nothing, and sends no event (C7)")
    func nothing() async throws {
        let queue = queue(rule: .skip)
        #expect(try await queue.retryDead([1, 2, .max]) == 0)
        #expect(try await queue.discardDead() == 0)
        #expect(!fixture.events.contains { [.revived(0), .discarded(0)].contains($0) })
    }

    @Test("a mutation that the other side has overtaken is retried only on request (P51)")
    func overtaken() async throws {
        fixture.server.enqueue(.refused(.gone), .refused(.gone), .ok)
        let queue = queue(rule: .skip)
        try await queue.enqueue([Mutation("a1"), Mutation("a2"), Mutation("b1")])
        _ = try await queue.flush()
        #expect(try await queue.dead().map(\.isOvertaken) == [true, false])
        #expect(try await queue.retryDead() == 1)
        #expect(try await queue.flush().end == .drained)
        #expect(fixture.server.ids == ["a1", "b1", "a2", "b1"])
        #expect(try await queue.retryDead(evenOvertaken: true) == 1)
        #expect(try await queue.flush().end == .drained)
        #expect(fixture.server.ids.last == "a1")
    }

    @Test("dead mutations are bounded, however many die, and those that make room are reported (P52)")
    func bounded() async throws {
        for _ in 0..<100 { fixture.server.enqueue(.refused(.gone)) }
        var configuration = SyncQueueConfiguration(maxInFlight: 1, failureCounting: .always)
        configuration.dead = DeadLimits(maxCount: 10, maxBytes: 70)
        let queue = fixture.queue(configuration: configuration)
        try await queue.enqueue((10..<110).map { Mutation("\($0)", payload: "ten bytes!") })
        #expect(try await queue.flush().died == 100)
        #expect(try await queue.dead().map(\.mutation.id) == (103..<110).map { "\($0)" })
        let status = try await queue.status
        #expect(status.dead == 7 && status.deadBytes == 70)
        #expect(
            fixture.events.filter { if case .dropped = $0 { true } else { false } }
                == (10..<103).map { .dropped(id: "\($0)") })
    }

    @Test(
        "the store keeps the start of an error's body (P52); an event has only the error's type, since logs keep events"
    )
    func longError() async throws {
        struct Page: Error, VerdictConvertible, CustomStringConvertible {
            let verdict = Verdict.permanent
            let description = String(repeating: "x", count: 4_000_000)
        }
        let queue = SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: fixture.clock) {},
            observers: PolicyObservers(fixture.recorder)
        ) { _ in throw Page() }
        try await queue.enqueue(Mutation("a1"))
        _ = try await queue.flush()
        let error = String(repeating: "x", count: 999) + "…"
        #expect(try await queue.dead().map(\.lastError) == [error])
        #expect(fixture.events.contains(.died(id: "a1", error: "Page")))
    }

    @Test(
        "a lane that a dead mutation blocked under an earlier rule stays blocked: the queue is not reported as drained")
    func blockedByAnotherRule() async throws {
        let store = MemoryStore()
        try await fixture.queue(store, nil, SyncQueueConfiguration(laneRule: .block)).enqueue([
            Mutation("a1"), Mutation("a2"),
        ])
        let first = try #require(await store.heads(after: .min, limit: 1).first)
        _ = store.apply(
            [.died(first.position, error: "x", rest: .block)], claiming: [], keeping: DeadLimits(), at: Date())
        #expect(try await fixture.queue(store).drain().end == .blocked)
        #expect(!fixture.events.contains(.drained))
    }

    @Test("a lane continues when the dead mutation that blocked it is removed to make room for another")
    func blockerMakesRoom() async throws {
        fixture.server.enqueue(.refused(.gone), .refused(.gone))
        var configuration = SyncQueueConfiguration(maxInFlight: 1, failureCounting: .always, laneRule: .block)
        configuration.dead = DeadLimits(maxCount: 1)
        let queue = fixture.queue(configuration: configuration)
        try await queue.enqueue([Mutation("a1"), Mutation("a2"), Mutation("b1"), Mutation("b2")])
        #expect(try await queue.flush().end == .blocked)
        #expect(fixture.server.ids == ["a1", "b1", "a2"])
        #expect(try await queue.dead().map(\.mutation.id) == ["b1"])
    }

    @Test("a mutation that has been dead for too long is removed when the queue sends next")
    func tooLongDead() async throws {
        let wallClock = WallClock()
        let (clock, server) = (fixture.clock, fixture.server)
        server.enqueue(.refused(.gone))
        var configuration = SyncQueueConfiguration()
        configuration.dead.maxAge = .seconds(60)
        let queue = SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: clock) {}, configuration: configuration,
            wallClock: { wallClock.now }
        ) { try await server($0) }
        try await queue.enqueue(Mutation("a1"))
        _ = try await queue.flush()
        #expect(try await queue.dead().map(\.diedAt) == [wallClock.now])
        for (seconds, left) in [(60.0, 1), (1, 0)] {
            wallClock.set(wallClock.now.addingTimeInterval(seconds))
            clock.advance(by: .seconds(seconds))
            try await queue.enqueue(Mutation("b\(left)"))
            _ = try await queue.flush()
            #expect(try await queue.status.dead == left)
        }
    }

    @Test(
        "a lane that a dead mutation blocks waits; other lanes continue, and a report shows it",
        arguments: [true, false])
    func block(byDiscarding: Bool) async throws {
        fixture.server.enqueue(.refused(.gone))
        let queue = queue(rule: .block)
        try await queue.enqueue([Mutation("a1"), Mutation("a2"), Mutation("b1")])
        let report = try await queue.flush()
        #expect(report.end == .blocked && report.delivered == 1)
        try await queue.enqueue(Mutation("a3"))
        #expect(try await queue.flush().end == .blocked)
        #expect(fixture.server.ids == ["a1", "b1"])
        if byDiscarding { try await queue.discardDead() } else { try await queue.retryDead() }
        // No other trigger comes.
        await fixture.server.waitForCalls(3)
        #expect(fixture.events.contains(byDiscarding ? .discarded(1) : .revived(1)))
        #expect(try await queue.flush().end == .drained)
        #expect(fixture.server.ids.dropFirst(2) == (byDiscarding ? ["a2", "a3"] : ["a1", "a2", "a3"]))
    }

    @Test("a revived mutation goes before those behind it, even if they were already found (P51)", arguments: [1, 2])
    func revivedInOrder(revived: Int) async throws {
        let (server, queue) = (fixture.server, queue(rule: .skip))
        server.enqueue(.refused(.gone), .refused(.gone))
        try await queue.enqueue([Mutation("a1"), Mutation("a2")])
        _ = try await queue.flush()
        let dead = try await queue.dead().suffix(revived)
        server.hold()
        try await queue.enqueue([Mutation("b1"), Mutation("a3"), Mutation("c1")])
        queue.trigger()
        await server.waitForCalls(3)
        // Now "a3" was found, and waits behind "b1".
        try await queue.retryDead(dead.map(\.position))
        server.release()
        #expect(try await queue.flush().end == .drained)
        let again = dead.map(\.mutation.id)
        #expect(server.ids.dropFirst(2).filter { $0.hasPrefix("a") } == again + ["a3"])
        #expect(server.ids.count == 5 + revived)
    }

    @Test(
        "a retried or unblocked mutation goes before mutations that a long walk has not yet found (P51)",
        arguments: [true, false])
    func beforeTheEndOfTheWalk(byDiscarding: Bool) async throws {
        let server = fixture.server
        server.enqueue(.refused(.gone))
        let queue = fixture.queue(
            configuration: SyncQueueConfiguration(
                maxInFlight: 1, failureCounting: .always, laneRule: .block, pageSize: 2))
        try await queue.enqueue([Mutation("a1"), Mutation("a2")])
        try await queue.flush()
        try await queue.enqueue(Mutation.many(30))
        server.hold()
        queue.trigger()
        for calls in 2...10 {
            await server.waitForCalls(calls)
            server.release(1)
        }
        await server.waitForCalls(11)
        if byDiscarding { try await queue.discardDead() } else { try await queue.retryDead() }
        server.release()
        #expect(try await queue.flush().end == .drained)
        let place = try #require(server.ids.dropFirst(11).firstIndex { $0.hasPrefix("a") })
        #expect(place <= 16, "it went as number \(place)")
    }
}

@Suite(.timeLimit(.minutes(20))) struct AgeLimitTests {
    let fixture = Fixture()
    let wallClock = WallClock()

    private func queue(
        _ store: MemoryStore = MemoryStore(), maxAge: Duration?, maxDeadAge: Duration? = nil
    ) -> SyncQueue {
        SyncQueue(
            store: store, pipeline: Pipeline(timeBase: fixture.clock) {},
            configuration: SyncQueueConfiguration(
                maxInFlight: 1, maxAge: maxAge, dead: DeadLimits(maxAge: maxDeadAge)),
            observers: PolicyObservers(fixture.recorder), wallClock: { [wallClock] in wallClock.now }
        ) { [server = fixture.server] in try await server($0) }
    }

    private func pass(_ seconds: Double) {
        wallClock.set(wallClock.now.addingTimeInterval(seconds))
        fixture.clock.advance(by: .seconds(seconds))
    }

    @Test("a mutation older than the age limit dies unsent; a mutation exactly at the limit is sent")
    func expired() async throws {
        let queue = queue(maxAge: .seconds(60))
        try await queue.enqueue([Mutation("a1"), Mutation("a2")])
        pass(1)
        try await queue.enqueue(Mutation("b1"))
        pass(60)
        let report = try await queue.flush()
        #expect(report.end == .drained && report.died == 2 && report.delivered == 1 && report.failed == 0)
        #expect(fixture.server.ids == ["b1"])
        let dead = try await queue.dead()
        #expect(dead.map(\.mutation.id) == ["a1", "a2"] && dead.allSatisfy { !$0.isAttempted })
        #expect(dead[0].lastError == "It is older than the age limit.")
        try await queue.retryDead()
        #expect(try await queue.flush().delivered == 2)
    }

    @Test("a fresh edit coalesced into an old mutation has its own age, and is sent (P47)")
    func freshEdit() async throws {
        func edit(_ id: String) -> Mutation {
            Mutation(id: id, entity: "note", kind: "note", operation: .update, payload: Data(id.utf8))
        }
        let queue = queue(maxAge: .seconds(60))
        try await queue.enqueue(edit("1"))
        pass(59)
        try await queue.enqueue(edit("2"))
        pass(59)
        let report = try await queue.flush()
        #expect(report.delivered == 1 && report.died == 0)
        #expect(fixture.server.inputs.map { String(decoding: $0.payload, as: UTF8.self) } == ["2"])
    }

    @Test(
        "a jump of the wall clock ages no mutation while the queue runs; after a restart the clock's time counts (P68)",
        arguments: [86_400.0, -86_400, 3e9, -3e9])
    func jumps(by seconds: TimeInterval) async throws {
        let store = MemoryStore()
        let (one, other) = (queue(store, maxAge: .seconds(3600)), Mutation("b1"))
        try await one.enqueue([Mutation("a1")])
        wallClock.set(wallClock.now.addingTimeInterval(seconds))
        try await one.flush()
        #expect(fixture.server.ids == ["a1"])
        wallClock.set(wallClock.now.addingTimeInterval(-seconds))
        try await one.enqueue(other)
        await one.stop()
        wallClock.set(wallClock.now.addingTimeInterval(seconds))
        try await queue(store, maxAge: .seconds(3600)).flush()
        #expect(fixture.server.ids == (seconds < 0 ? ["a1", "b1"] : ["a1"]))
        #expect(store.deadCount() + fixture.server.callCount == 2)
    }

    @Test(
        "a wall clock that is set back and then corrected ages no mutation, and drops no dead mutation",
        arguments: [3_600.0, 86_400, 3e9])
    func backAndForth(by seconds: TimeInterval) async throws {
        let store = MemoryStore()
        let queue = queue(store, maxAge: .seconds(60), maxDeadAge: .seconds(60))
        wallClock.set(wallClock.now.addingTimeInterval(-seconds))
        try await queue.enqueue(Mutation("a1"))
        fixture.server.enqueue(.refused(.gone))
        try await queue.flush()
        try await queue.enqueue(Mutation("b1"))
        wallClock.set(wallClock.now.addingTimeInterval(seconds))
        #expect(try await queue.status.oldestAge == .zero)
        pass(59)
        try await queue.flush()
        #expect(fixture.server.ids == ["a1", "b1"])
        #expect(store.deadCount() == 1)
        try await queue.enqueue(Mutation("c1"))
        pass(2)
        try await queue.flush()
        #expect(store.deadCount() == 0, "its time has come")
    }

    @Test("an age limit may be the longest possible duration, even with a clock jump")
    func endlessAge() async throws {
        let endless = Duration(attoseconds: .max)
        let queue = queue(maxAge: endless, maxDeadAge: endless)
        try await queue.enqueue(Mutation("a1"))
        wallClock.set(wallClock.now.addingTimeInterval(1))
        #expect(try await queue.flush().delivered == 1)
    }

    @Test("after a clock jump mutations still age: those too old are not sent, and a jump drops no dead mutation")
    func oldBesideJump() async throws {
        let store = MemoryStore()
        let queue = queue(store, maxAge: .seconds(60), maxDeadAge: .seconds(60))
        try await queue.enqueue(Mutation("a1"))
        wallClock.set(wallClock.now.addingTimeInterval(86_400))
        pass(60)
        try await queue.enqueue(Mutation("b1"))
        pass(1)
        #expect(try await queue.flush().died == 1)
        #expect(fixture.server.ids == ["b1"])
        wallClock.set(wallClock.now.addingTimeInterval(86_400))
        try await queue.enqueue(Mutation("c1"))
        try await queue.flush()
        #expect(store.deadCount() == 1)
    }
}
