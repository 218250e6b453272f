import Foundation
import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

/// One mutation is found or removed by its id.
@Suite(.timeLimit(.minutes(20))) struct CancelTests {
    let fixture = Fixture()

    private func kinds() -> [String] { fixture.events.map(\.kind) }

    @Test("a mutation is found by its id while it is pending and while it is dead, and not after that")
    func look() async throws {
        fixture.server.enqueue(.refused(.gone))
        let queue = fixture.queue()
        try await queue.enqueue([Mutation("a1", payload: "one"), Mutation("b1")])
        #expect(try await queue.pending().map(\.mutation.id) == ["a1", "b1"])
        #expect(try await queue.pending(after: 1, limit: 1).map(\.mutation.id) == ["b1"])
        let pending = try #require(try await queue.mutation("a1"))
        #expect(pending.mutation == Mutation("a1", payload: "one") && pending.diedAt == nil && !pending.isAttempted)
        try await queue.flush()
        let dead = try #require(try await queue.mutation("a1"))
        #expect(dead.diedAt != nil && dead.lastError == "410" && dead.position == pending.position)
        #expect(try await queue.mutation("b1") == nil)
        #expect(try await queue.cancel("a1") == nil, "it is dead")
        #expect(try await queue.dead().map(\.mutation.id) == ["a1"])
    }

    @Test("a pending mutation is removed, reported, and never sent; the next mutation of its entity is sent")
    func waiting() async throws {
        let queue = fixture.queue()
        try await queue.pause()
        try await queue.enqueue([Mutation("a1", payload: "one"), Mutation("a2"), Mutation("b1")])
        let cancelled = try await queue.cancel("a1")
        #expect(cancelled?.mutation == Mutation("a1", payload: "one") && cancelled?.isAttempted == false)
        #expect(try await queue.cancel("a1") == nil)
        #expect(try await queue.cancel("c1") == nil)
        #expect(fixture.events.filter { $0.kind == "cancelled" } == [.cancelled(id: "a1")])
        #expect(try await queue.status.pending == 2)
        try await queue.resume()
        #expect(try await queue.flush().end == .drained)
        #expect(fixture.server.ids == ["a2", "b1"])
    }

    @Test(
        "if a mutation in flight is removed, its failure changes nothing; a new one with its id waits for that request",
        arguments: [Refusal.gone, .unavailable, .abandoned, nil])
    func inFlight(refusal: Refusal?) async throws {
        fixture.server.hold()
        fixture.server.enqueue(refusal.map { .refused($0) } ?? .ok)
        let queue = fixture.queue(
            configuration: SyncQueueConfiguration(maxInFlight: 3, maxFailures: 1, failureCounting: .always))
        try await queue.enqueue(Mutation("a1", payload: "old"))
        let drain = Task { try await queue.drain() }
        await fixture.server.waitForCalls(1)
        #expect(try await queue.cancel("a1")?.isAttempted == true)
        try await queue.enqueue([Mutation("a1", payload: "new"), Mutation("b1")])
        queue.trigger()
        await fixture.server.waitForCalls(2)
        #expect(fixture.server.ids == ["a1", "b1"])
        fixture.server.release()
        let report = try await drain.value
        #expect(report.end == .drained && report.died == 0 && report.failed == 0)
        #expect(fixture.server.inputs.last == Mutation("a1", payload: "new"))
        #expect(Set(kinds()).isDisjoint(with: ["died", "failed"]))
        #expect(fixture.events.filter { $0 == .delivered(id: "a1") }.count == (refusal == nil ? 2 : 1))
        #expect(try await queue.status.dead == 0)
    }

    @Test("a mutation that is removed while it is held back after a failure stops holding back its lane at once")
    func held() async throws {
        fixture.server.enqueue(.refused(.unavailable))
        let queue = fixture.queue()
        try await queue.enqueue([Mutation("a1"), Mutation("a2")])
        guard case .stalled = try await queue.flush().end else {
            Issue.record("it is not held back")
            return
        }
        let drain = Task { try await queue.drain() }
        #expect(try await queue.cancel("a1")?.failures == 0)
        #expect(try await drain.value.end == .drained)
        #expect(fixture.server.ids == ["a1", "a2"])
    }

    @Test("if a mutation of a batch is removed, the others are answered as if it were still there")
    func batch() async throws {
        let gate = ScriptedOperation<[Mutation], Void>(fallback: .success(()))
        gate.hold()
        let queue = SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: fixture.clock) {},
            configuration: SyncQueueConfiguration(maxFailures: 1, failureCounting: .always),
            observers: PolicyObservers(fixture.recorder), wallClock: fixture.wallClock,
            handlers: [
                .batch("create", upTo: 3) { mutations in
                    try await gate(mutations)
                    return mutations.map { $0.id == "b1" ? .success(()) : .failure(Refusal.gone) }
                }
            ])
        try await queue.enqueue([Mutation("a1"), Mutation("b1"), Mutation("c1")])
        let flush = Task { try await queue.flush() }
        await gate.waitForCalls(1)
        #expect(try await queue.cancel("a1")?.isAttempted == true)
        gate.release()
        let report = try await flush.value
        #expect(report.delivered == 1 && report.died == 1 && report.end == .drained)
        #expect(try await queue.dead().map(\.mutation.id) == ["c1"])
    }

    @Test("a drain does not wait for a mutation that another queue on the store removes")
    func elsewhere() async throws {
        let store = MemoryStore()
        let (one, other) = (fixture.queue(store), Fixture().queue(store))
        fixture.server.enqueue(.refused(.unavailable))
        try await one.enqueue([Mutation("a1")])
        try await one.flush()
        await other.stop()
        #expect(try await other.cancel("a1") != nil, "a queue that was stopped can do it, too")
        let report = try await fixture.whileTimePasses { try await one.drain() }
        #expect(report.end == .drained && report.delivered == 0)
        #expect(fixture.server.ids == ["a1"])
    }

    @Test(
        "a mutation in flight that another queue removes has no effect on the store, whatever the answer",
        arguments: [true, false])
    func inFlightElsewhere(isRefused: Bool) async throws {
        let store = MemoryStore()
        let (one, other) = (fixture.queue(store), Fixture().queue(store))
        await other.stop()
        fixture.server.hold()
        fixture.server.enqueue(isRefused ? .refused(.gone) : .ok)
        try await one.enqueue(Mutation("a1"))
        let drain = Task { try await one.drain() }
        await fixture.server.waitForCalls(1)
        #expect(try await other.cancel("a1")?.isAttempted == true)
        try await other.enqueue(Mutation("a1", payload: "new"))
        fixture.server.release()
        #expect(try await drain.value.end == .drained)
        #expect(fixture.server.inputs.last == Mutation("a1", payload: "new"))
        #expect(store.totals() == QueueTotals())
    }

    @Test("the caller gets the store's error, and observers get no event")
    func failing() async throws {
        let fails = Box<Bool>()
        let queue = fixture.queue(HookedStore.failing(at: "mutation", while: fails))
        try await queue.enqueue(Mutation("a1"))
        fails.value = true
        await #expect(throws: Refusal.self) { try await queue.cancel("a1") }
        #expect(!kinds().contains("cancelled"))
    }
}
