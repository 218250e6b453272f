import Foundation
import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

/// Limits and coalescing, as the queue reports them.
@Suite(.timeLimit(.minutes(20))) struct LimitTests {
    let fixture = Fixture()

    private func queue(_ rules: AppendRules, store: some MutationStore = MemoryStore()) -> SyncQueue {
        fixture.queue(store, nil, SyncQueueConfiguration(maxInFlight: 1, appending: rules))
    }

    private static func mutation(_ id: String, _ operation: Mutation.Operation, _ payload: String) -> Mutation {
        Mutation(
            id: id, entity: "e", kind: "note", operation: operation, payload: Data(payload.utf8),
            idempotencyKey: "key-\(id)")
    }

    @Test("a queue that drops the oldest reports each mutation that made room")
    func drops() async throws {
        let queue = queue(AppendRules(maxCount: 2, overflow: .dropOldest))
        for id in ["a1", "b1"] { #expect(try await queue.enqueue(Mutation(id)).dropped.isEmpty) }
        #expect(try await queue.enqueue(Mutation("c1")).dropped == ["a1"])
        #expect(fixture.events == [.enqueued(1), .enqueued(1), .enqueued(1), .dropped(id: "a1")])
        _ = try await queue.flush()
        #expect(fixture.server.ids == ["b1", "c1"])
    }

    @Test("a mutation coalesced before it is sent goes out once, with the last payload and its own key")
    func coalesces() async throws {
        let queue = queue(AppendRules())
        for (id, operation, payload) in [
            ("1", .create, "x"), ("2", .update, "y"), ("3", .update, "z"),
        ] as [(String, Mutation.Operation, String)] {
            try await queue.enqueue(Self.mutation(id, operation, payload))
        }
        let merges = ["2", "3"].map { SyncEvent.coalesced(id: $0, into: "1", cancelsOut: false) }
        #expect(fixture.events == [.enqueued(1)] + merges)
        _ = try await queue.flush()
        let sent = try #require(fixture.server.inputs.first)
        #expect(fixture.server.callCount == 1 && sent.id == "1" && sent.operation == .create)
        #expect(String(decoding: sent.payload, as: UTF8.self) == "z" && sent.idempotencyKey == "key-3")
    }

    @Test("an update that comes between the look and the sending is sent with its mutation, and is not lost")
    func coalescedAfterTheLook() async throws {
        let late = Box<SyncQueue>()
        let store = HookedStore(inner: MemoryStore(), at: .after("heads", rows: 1)) {
            try await late.value?.enqueue(Self.mutation("2", .update, "new"))
        }
        let queue = queue(AppendRules(), store: store)
        try await queue.enqueue(Self.mutation("1", .create, "old"))
        late.value = queue
        #expect(try await queue.flush().end == .drained)
        #expect(fixture.server.inputs.map { String(decoding: $0.payload, as: UTF8.self) } == ["new"])
    }

    @Test("an update that comes while its entity is in flight is kept apart, and sent after it (C7)")
    func inFlight() async throws {
        let (queue, server) = (queue(AppendRules()), fixture.server)
        server.hold()
        try await queue.enqueue(Self.mutation("1", .create, "old"))
        queue.trigger()
        await server.waitForCalls(1)
        try await queue.enqueue(Self.mutation("2", .update, "new"))
        try await queue.enqueue(Self.mutation("3", .update, "newer"))
        server.release()
        _ = try await queue.flush()
        #expect(server.inputs.map { String(decoding: $0.payload, as: UTF8.self) } == ["old", "newer"])
    }

    @Test(
        "for an entity created and deleted before it is sent, nothing is sent, and a flush that has seen it continues"
    )
    func cancelsOut() async throws {
        let late = Box<SyncQueue>()
        let store = HookedStore(inner: MemoryStore(), at: .after("heads", rows: 1)) {
            try await late.value?.enqueue(Self.mutation("2", .delete, ""))
        }
        let queue = queue(AppendRules(), store: store)
        try await queue.enqueue(Self.mutation("1", .create, "old"))
        late.value = queue
        let report = try await queue.flush()
        #expect(report.end == .drained && report.requests == 0 && fixture.server.callCount == 0)
        #expect(fixture.events.contains(.coalesced(id: "2", into: "1", cancelsOut: true)))
    }
}
