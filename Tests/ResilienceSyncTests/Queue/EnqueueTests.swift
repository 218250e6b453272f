import Foundation
import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct EnqueueTests {
    let fixture = Fixture()

    @Test("enqueuing stores a mutation and does not send it")
    func storesOnly() async throws {
        let queue = fixture.queue()
        try await queue.enqueue(Mutation("a1"))
        #expect(try await queue.status.pending == 1)
        #expect(fixture.server.callCount == 0 && fixture.events == [.enqueued(1)])
    }

    @Test("an empty list adds no mutation and sends no event (C7)")
    func emptyList() async throws {
        let queue = fixture.queue(
            HookedStore(inner: MemoryStore()) { if $0 == .before("append") { throw Refusal.gone } })
        try await queue.enqueue([])
        #expect(try await queue.status.pending == 0)
        #expect(fixture.events.isEmpty)
    }

    @Test("default ids begin with the time, and are distinct UUIDs of version 7")
    func ids() throws {
        let ids = (0..<100).map { _ in Mutation(entity: "a", kind: "create").id }
        let now = Date().timeIntervalSince1970 * 1_000
        for id in ids {
            #expect(UUID(uuidString: id) != nil && id.split(separator: "-")[2].first == "7")
            let made = try #require(Double("0x\(id.replacing("-", with: "").prefix(12))"))
            #expect(abs(made - now) < 3_600_000)
        }
        #expect(Set(ids).count == 100)
    }

    @Test("an empty id is rejected, and nothing of the list is stored (C7)")
    func emptyID() async throws {
        let queue = fixture.queue()
        let nameless = Mutation(id: "", entity: "a", kind: "create", payload: Data())
        let error = await #expect(throws: SyncQueueError.self) {
            try await queue.enqueue([Mutation("a1"), nameless])
        }
        #expect(error?.description.contains("its id is empty") == true)
        #expect(try await queue.status.pending == 0)
    }

    @Test("an idempotency key has 1 to 255 characters", arguments: [(0, false), (1, true), (255, true), (256, false)])
    func keyLength(length: Int, isFine: Bool) async throws {
        let queue = fixture.queue()
        let mutation = Mutation("a1", key: String(repeating: "k", count: length))
        if isFine {
            try await queue.enqueue(mutation)
        } else {
            let error = await #expect(throws: SyncQueueError.self) { try await queue.enqueue(mutation) }
            #expect(error?.description.contains("has \(length) characters, not 1 to 255") == true)
        }
        #expect(try await queue.status.pending == (isFine ? 1 : 0))
    }

    @Test("an id that is pending, dead or twice in the list is skipped, and the others of the list are stored (C7)")
    func duplicates() async throws {
        fixture.server.enqueue(.refused(.gone), .refused(.unreachable))
        let queue = fixture.queue()
        try await queue.enqueue([Mutation("dead1"), Mutation("pending1")])
        _ = try await queue.flush()
        #expect(try await queue.status.dead == 1)
        for (list, twice) in [
            (["x1", "dead1"], ["dead1"]), (["pending1", "y1"], ["pending1"]), (["z1", "z2", "z1"], ["z1"]),
            (["x1", "y1"], ["x1", "y1"]),
        ] {
            let appended = try await queue.enqueue(list.map { Mutation($0) })
            #expect(appended.duplicates == twice && appended.added == list.count - twice.count)
            #expect(fixture.events.suffix(twice.count) == twice.map { .duplicate(id: $0) })
        }
        #expect(try await queue.status.pending == 5)
    }

    @Test("a single mutation whose id is taken is rejected")
    func duplicate() async throws {
        let queue = fixture.queue()
        try await queue.enqueue(Mutation("a1"))
        await #expect(throws: SyncQueueError.duplicate(id: "a1")) { try await queue.enqueue(Mutation("a1")) }
        #expect(try await queue.status.pending == 1)
    }

    @Test("a mutation's earlier failures count: it dies at the fifth failure in all, and is never coalesced")
    func earlierFailures() async throws {
        fixture.server.enqueue(.ok, .refused(.unavailable))
        let queue = fixture.queue(configuration: SyncQueueConfiguration(maxInFlight: 1, failureCounting: .always))
        func old(_ id: String, _ failures: Int) -> Mutation {
            Mutation(id: id, entity: "a", kind: "k", operation: .update, earlierFailures: failures)
        }
        #expect(try await queue.enqueue([old("1", 0), old("2", 4)]).added == 2)
        await #expect(throws: SyncQueueError.self) { try await queue.enqueue(old("3", -1)) }
        let report = try await queue.flush()
        #expect(report.delivered == 1 && report.died == 1)
        #expect(try await queue.dead().map(\.failures) == [5])
    }

    @Test("a mutation is encoded; a mutation written before dates, urgency and failures existed has none of them")
    func coded() throws {
        let mutation = Mutation(
            id: "1", entity: "a", kind: "k", notBefore: Date(timeIntervalSince1970: 1_800_000_000), isUrgent: true,
            earlierFailures: 3)
        let data = try JSONEncoder().encode(mutation)
        #expect(try JSONDecoder().decode(Mutation.self, from: data) == mutation)
        var fields = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
        for name in ["notBefore", "isUrgent", "earlierFailures"] { fields[name] = nil }
        let old = try JSONDecoder().decode(Mutation.self, from: JSONSerialization.data(withJSONObject: fields))
        #expect(old.notBefore == nil && !old.isUrgent && old.earlierFailures == 0 && old.id == "1")
    }

    @Test("an id is free again once its mutation was acknowledged (C7)")
    func reuse() async throws {
        let queue = fixture.queue()
        for _ in 0..<3 {
            try await queue.enqueue(Mutation("a1"))
            #expect(try await queue.flush().delivered == 1)
        }
    }

    @Test("a mutation is sent as enqueued, with the same key at every attempt (B14)")
    func asEnqueued() async throws {
        fixture.server.enqueue(.refused(.unavailable), .refused(.throttled), .refused(.unreachable))
        let queue = fixture.queue()
        let mutation = Mutation(id: "a1", entity: "a", kind: "create", payload: Data([1, 2, 3]))
        try await queue.enqueue(mutation)
        _ = try await queue.flush()
        while fixture.server.callCount < 3 { try await fixture.passOneWait() }
        _ = try await queue.flush()
        #expect(fixture.server.inputs == [mutation, mutation, mutation, mutation])
    }

    @Test("every error's text names its mutation or file")
    func texts() {
        #expect("\(SyncQueueError.duplicate(id: "a1"))".contains("\"a1\""))
        #expect("\(SyncQueueError.invalid(id: "a1", reason: "r."))".contains("\"a1\""))
        #expect("\(SyncQueueError.unreadable(path: "/p", reason: "r."))".contains("/p"))
        #expect("\(SyncQueueError.newerSchema(path: "/p", version: 7))".contains("7"))
        #expect("\(SyncQueueError.storeFailed(path: "/p", reason: "r."))".contains("/p"))
    }

    @Test("an invalid setting traps with a message that names it")
    func badConfiguration() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = SyncQueueConfiguration(maxFailures: 0)
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("maxFailures is 0"))
    }

    @Test("the defaults match the guide's table")
    func defaults() {
        let configuration = SyncQueueConfiguration()
        #expect(configuration.maxInFlight == 4 && configuration.maxFailures == 5 && configuration.pageSize == 100)
        #expect(configuration.failureCounting == .whileOthersSucceed && configuration.laneRule == .skip)
        let backoff = Backoff.exponential(from: .seconds(1), cap: .seconds(60), jitter: .none)
        #expect(configuration.throttledBackoff == backoff && configuration.failedBackoff == backoff)
        #expect(configuration.maxPause == .seconds(3600) && configuration.pauseJitter == 0)
        #expect(configuration.maxAge == nil && configuration.maxRate == nil)
    }

    @Test("invalid settings from outside are thrown, all at once, and do not trap (P40)")
    func settingsFromOutside() {
        let error = #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked {
                var configuration = SyncQueueConfiguration(
                    maxFailures: 0, maxAge: .seconds(-1), pageSize: 0, maxPause: .seconds(-1), pauseJitter: 2)
                configuration.maxInFlight = 0
                let batch = SyncHandler.batch("move", upTo: 0) { _ in [] }
                _ = AppendRules(maxCount: 0, maxBytes: 0)
                _ = SyncQueue(
                    store: MemoryStore(), pipeline: Pipeline {}, configuration: configuration, handlers: [batch])
            }
        }
        #expect(
            error?.problems.map(\.description) == [
                "SyncQueue: maxFailures is 0, and must be at least 1",
                "SyncQueue: maxAge is -1 s, and must not be negative",
                "SyncQueue: pageSize is 0, and must be at least 1",
                "SyncQueue: maxPause is -1 s, and must not be negative",
                "SyncQueue: pauseJitter is 2.0, and must lie in 0...1",
                "SyncHandler: the batch limit of \"move\" is 0, and must be at least 1",
                "AppendRules: maxCount is 0, and must be at least 1",
                "AppendRules: maxBytes is 0, and must be at least 1",
                "SyncQueue: maxInFlight is 0, and must be at least 1",
            ])
    }
}
