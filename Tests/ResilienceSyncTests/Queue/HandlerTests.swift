import Foundation
import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct HandlerTests {
    let fixture = Fixture()

    private func queue(
        _ handlers: [SyncHandler], configuration: SyncQueueConfiguration = SyncQueueConfiguration(maxInFlight: 1),
        @PipelineBuilder guardedBy policies: () -> [Pipeline.Element] = { [] }
    ) -> SyncQueue {
        SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: fixture.clock, policies), configuration: configuration,
            observers: PolicyObservers(fixture.recorder), handlers: handlers)
    }

    private static func mutation(_ id: String, kind: String) -> Mutation {
        Mutation(id: id, entity: id, kind: kind, payload: Data(id.utf8), idempotencyKey: "key-\(id)")
    }

    @Test("each kind goes to its own handler, and kinds without a handler go to the handler of other kinds")
    func byKind() async throws {
        let (creates, rest) = (Server(fallback: .ok), Server(fallback: .ok))
        let queue = queue([.each("create") { try await creates($0) }, .others { try await rest($0) }])
        try await queue.enqueue(
            ["create", "rename", "create", ""].enumerated().map { Self.mutation("\($0)", kind: $1) })
        #expect(try await queue.flush().end == .drained)
        #expect(creates.ids == ["0", "2"] && rest.ids == ["1", "3"])
    }

    @Test("a mutation without a handler dies unsent and uncounted, and affects no other")
    func missing() async throws {
        let creates = Server(fallback: .ok)
        let queue = queue([.each("create") { try await creates($0) }])
        try await queue.enqueue([Self.mutation("1", kind: "rename"), Self.mutation("2", kind: "create")])
        let report = try await queue.flush()
        #expect(report.end == .drained && report.died == 1 && report.delivered == 1 && report.failed == 0)
        let dead = try await queue.dead()
        #expect(dead.map(\.mutation.id) == ["1"] && dead[0].failures == 0 && !dead[0].isAttempted)
        #expect(dead[0].lastError == "No handler for its kind.")
    }

    private struct Rename: Codable, Equatable {
        let name: String
    }

    @Test("a mutation whose kind changes after it was found goes to the new kind's handler, and not with the batch")
    func kindChangedSinceItWasFound() async throws {
        let (updates, deletes) = (BatchServer(), BatchServer())
        let box = Box<SyncQueue>()
        let store = HookedStore(inner: MemoryStore(), at: .after("heads", rows: 3)) {
            try await box.value?.enqueue(Mutation(entity: "b", kind: "delete", operation: .delete))
        }
        let queue = SyncQueue(
            store: store, pipeline: Pipeline(timeBase: fixture.clock) {},
            configuration: SyncQueueConfiguration(
                appending: AppendRules(coalescing: .merging(acrossKinds: true) { $1.payload })),
            handlers: [.batch("update", upTo: 3) { try updates($0) }, .batch("delete", upTo: 3) { try deletes($0) }])
        box.value = queue
        try await queue.enqueue(
            ["a", "b", "c"].map {
                Mutation(id: $0, entity: $0, kind: "update", operation: .update, payload: Data($0.utf8))
            })
        #expect(try await queue.flush().delivered == 3)
        #expect(updates.batches == [["a", "c"]] && deletes.batches == [["b"]])
    }

    @Test("a batch never exceeds its bytes, even if mutations were coalesced after they were found")
    func bytesOfABatch() async throws {
        let server = BatchServer()
        let box = Box<SyncQueue>()
        let store = HookedStore(inner: MemoryStore(), at: .after("heads", rows: 3)) {
            try await box.value?.enqueue(
                Mutation(entity: "a", kind: "update", operation: .update, payload: Data(count: 8)))
        }
        let queue = SyncQueue(
            store: store, pipeline: Pipeline(timeBase: fixture.clock) {},
            handlers: [.batch("update", upTo: 3, bytes: 10) { try server($0) }])
        box.value = queue
        try await queue.enqueue(
            ["a", "b", "c"].map {
                Mutation(id: $0, entity: $0, kind: "update", operation: .update, payload: Data(count: 3))
            })
        #expect(try await queue.flush().delivered == 3)
        #expect(server.batches == [["a"], ["b", "c"]])
    }

    @Test("a payload is encoded and decoded as JSON; a mutation with an undecodable payload dies at once")
    func typed() async throws {
        let names = Locked<[String]>([])
        let queue = queue([
            .each("rename", as: Rename.self) { rename, mutation in
                names.withLock { $0.append("\(mutation.id): \(rename.name)") }
            }
        ])
        try await queue.enqueue(Mutation(id: "1", entity: "a", kind: "rename", encoding: Rename(name: "Ada")))
        try await queue.enqueue(Mutation(id: "2", entity: "b", kind: "rename", payload: Data("?".utf8)))
        #expect(try await queue.flush().died == 1)
        #expect(names.withLock { $0 } == ["1: Ada"])
        #expect(try await queue.dead().first?.lastError?.hasPrefix("The payload of mutation \"2\" can't") == true)
    }

    /// Plays results batch by batch; a batch without a result succeeds as a whole.
    private final class BatchServer: Sendable {
        private let state = Locked<(results: [Result<[String: Refusal], any Error>], batches: [[String]])>(([], []))

        func enqueue(_ results: Result<[String: Refusal], any Error>...) { state.withLock { $0.results += results } }

        var batches: [[String]] { state.withLock { $0.batches } }

        func callAsFunction(_ mutations: [Mutation]) throws -> [SyncHandler.ItemResult] {
            let result = state.withLock { state in
                state.batches.append(mutations.map(\.id))
                return state.results.isEmpty ? .success([:]) : state.results.removeFirst()
            }
            let refused = try result.get()
            return mutations.map { mutation in refused[mutation.id].map { .failure($0) } ?? .success(()) }
        }
    }

    @Test("creates go in batches up to the limit, updates and deletes singly, in order within an entity (B11)")
    func batches() async throws {
        let (creates, rest) = (BatchServer(), Server(fallback: .ok))
        let queue = queue([.batch("create", upTo: 4) { try creates($0) }, .others { try await rest($0) }])
        try await queue.enqueue((0..<10).map { Self.mutation("\($0)", kind: "create") })
        try await queue.enqueue(
            ["update", "delete"].map { Mutation(id: $0, entity: "3", kind: $0, payload: Data()) })
        let report = try await queue.flush()
        #expect(report.end == .drained && report.delivered == 12 && report.requests == 5)
        #expect(creates.batches == [["0", "1", "2", "3"], ["4", "5", "6", "7"], ["8", "9"]])
        #expect(rest.ids == ["update", "delete"])
    }

    @Test("each item of a batch follows its own result: sent, retried alone, or dead (B11)")
    func perItem() async throws {
        let creates = BatchServer()
        creates.enqueue(.success(["1": .unavailable, "2": .gone]))
        let queue = queue([.batch("create", upTo: 10) { try creates($0) }])
        try await queue.enqueue((0..<4).map { Self.mutation("\($0)", kind: "create") })
        let report = try await fixture.whileTimePasses { try await queue.drain() }
        #expect(report.delivered == 3 && report.failed == 1 && report.died == 1 && report.end == .drained)
        #expect(creates.batches == [["0", "1", "2", "3"], ["1"]])
        #expect(try await queue.dead().map(\.mutation.id) == ["2"])
    }

    @Test("a batch that fails as a whole counts once for the breaker, and once for each of its mutations (B11)")
    func wholeBatch() async throws {
        let (creates, breaker) = (
            BatchServer(), CircuitBreaker(tripping: .consecutiveFailures(2), timeBase: fixture.clock)
        )
        creates.enqueue(.failure(Refusal.unavailable))
        let queue = queue([.batch("create", upTo: 10) { try creates($0) }]) { breaker }
        try await queue.enqueue((0..<3).map { Self.mutation("\($0)", kind: "create") })
        let report = try await queue.flush()
        #expect(report.failed == 3 && report.requests == 1)
        #expect(breaker.state == .closed && breaker.status.failureCount == 1)
        _ = try await fixture.whileTimePasses { try await queue.drain() }
        #expect(creates.batches == [["0", "1", "2"], ["0"], ["1"], ["2"]])
    }

    @Test(
        "for the breaker, a batch without a success is one failure; a batch with an answer is a success",
        arguments: [
            (["0": .unavailable, "1": .unavailable, "2": .unavailable], 1),
            (["0": .unavailable, "1": .unavailable], 0),
            (["0": .unavailable, "1": .gone, "2": .unavailable], 0),
        ] as [([String: Refusal], Int)])
    func allOfABatch(refusals: [String: Refusal], failures: Int) async throws {
        let (creates, breaker) = (BatchServer(), CircuitBreaker(timeBase: fixture.clock))
        creates.enqueue(.success(refusals))
        let queue = queue([.batch("create", upTo: 10) { try creates($0) }]) { breaker }
        try await queue.enqueue((0..<3).map { Self.mutation("\($0)", kind: "create") })
        _ = try await queue.flush()
        #expect(breaker.status.failureCount == failures)
        #expect(creates.batches == [["0", "1", "2"]])
    }

    @Test("a batch with a throttled item pauses the queue, and none of its failures count")
    func throttledItem() async throws {
        let creates = BatchServer()
        creates.enqueue(.success(["1": .throttled(retryAfter: .seconds(9))]))
        let queue = queue([.batch("create", upTo: 10) { try creates($0) }])
        try await queue.enqueue((0..<3).map { Self.mutation("\($0)", kind: "create") })
        let report = try await queue.flush()
        #expect(report.end == .paused(until: fixture.clock.now + .seconds(9)))
        #expect(report.delivered == 2 && report.failed == 0 && report.throttled == 1)
        #expect(try await queue.status.pending == 1)
    }

    @Test(
        "a success after a 429 in a batch ends the breaker's series of 429s; a 429 after the last success continues it (B5)",
        arguments: [(["0"], 0), (["0", "1"], 0), (["2"], 3), (["0", "2"], 3), (["0", "1", "2"], 3)])
    func partlyThrottled(throttled: [String], failures: Int) async throws {
        let creates = BatchServer()
        let breaker = CircuitBreaker(circuit: BackoffGate(), timeBase: fixture.clock)
        for _ in 0..<2 { _ = try? await breaker.run { throw Refusal.throttled } }
        creates.enqueue(.success(Dictionary(uniqueKeysWithValues: throttled.map { ($0, .throttled) })))
        let queue = queue([.batch("create", upTo: 3) { try creates($0) }]) { breaker }
        try await queue.enqueue((0..<3).map { Self.mutation("\($0)", kind: "create") })
        _ = try await queue.flush()
        #expect(breaker.status.failureCount == failures)
    }

    @Test(
        "a handler that returns too few or too many results gets an error, and no mutation counts as sent",
        arguments: [0, 4])
    func mismatch(count: Int) async throws {
        let queue = queue([.batch("create", upTo: 3) { _ in (0..<count).map { _ in .success(()) } }])
        try await queue.enqueue((0..<3).map { Self.mutation("\($0)", kind: "create") })
        let report = try await queue.flush()
        #expect(report.delivered == 0 && report.failed == 3)
        #expect(
            report.lastError as? BatchResultsMismatch
                == BatchResultsMismatch(kind: "create", mutations: 3, results: count))
        #expect(try await queue.status.pending == 3)
    }
}
