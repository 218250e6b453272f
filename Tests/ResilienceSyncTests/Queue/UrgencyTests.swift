import Foundation
import Resilience
import ResilienceTesting
import TestSupport
import Testing

@testable import ResilienceSync

/// Mutations for which somebody waits.
@Suite(.timeLimit(.minutes(20))) final class UrgencyTests: Sendable {
    private let clock = ManualClock()
    private let sent = Locked<[String]>([])

    private static func mutation(_ id: String, of entity: String? = nil, isUrgent: Bool = false) -> Mutation {
        Mutation(id: id, entity: entity ?? id, kind: "create", isUrgent: isUrgent)
    }

    /// The queue's requests take 100 ms each.
    private func queue(
        _ store: any MutationStore, lanes: Int = 1,
        _ send: @escaping @Sendable (Mutation) async throws -> Void = { _ in }
    ) -> SyncQueue {
        SyncQueue(
            store: store, pipeline: Pipeline(timeBase: clock) {},
            configuration: SyncQueueConfiguration(maxInFlight: lanes)
        ) { [self] mutation in
            sent.withLock { $0.append(mutation.id) }
            try await clock.sleep(for: .milliseconds(100))
            try await send(mutation)
        }
    }

    private static let many = (0..<10_000).map { mutation("\($0)") }
    private static let ten = (0..<10).map { mutation("urgent \($0)", isUrgent: true) }

    @Test("ten urgent mutations go with the first requests, although 10 000 others are before them", arguments: [1, 4])
    func ahead(lanes: Int) async throws {
        for store in try everyStore() {
            sent.withLock { $0 = [] }
            let queue = SyncQueue(
                store: store, pipeline: Pipeline {}, configuration: SyncQueueConfiguration(maxInFlight: lanes)
            ) { [self] mutation in
                let count = sent.withLock { ids in
                    ids.append(mutation.id)
                    return ids.count
                }
                if count > 20 { throw Refusal.throttled(retryAfter: .seconds(3_600)) }
            }
            try await queue.enqueue(Self.many + Self.ten)
            _ = try await queue.flush()
            await queue.stop()
            let ids = sent.withLock { $0 }
            // The tenth request goes in order.
            let first = Self.ten.prefix(9).map(\.id) + ["0", "urgent 9"]
            if lanes == 1 { #expect(Array(ids.prefix(11)) == first) }
            #expect(Set(ids.prefix(14)).isSuperset(of: first))
        }
    }

    @Test("urgent mutations enqueued during a flush go next, whichever queue enqueues them", arguments: [true, false])
    func meanwhile(isOwn: Bool) throws {
        let store = MemoryStore()
        let queue = queue(store)
        let other = isOwn ? queue : SyncQueue(store: store, pipeline: Pipeline(timeBase: clock) {}) { _ in }
        let ids = try clock.run { [self] in
            try await queue.enqueue(Self.many)
            queue.trigger()
            var ids: [[String]] = []
            for round in 0..<2 {
                try await clock.sleep(for: .milliseconds(5_050))
                try await other.enqueue(Self.ten.map { Self.mutation("\($0.id) \(round)", isUrgent: true) })
                queue.trigger()
                let before = sent.withLock { $0.count }
                try await clock.sleep(for: .seconds(12))
                ids.append(Array(sent.withLock { $0[before...] }))
            }
            await queue.stop()
            return ids
        }
        // The queue learns of another queue's first urgent mutations with the next page.
        let most = [isOwn ? 11 : 111, 11]
        for (ids, most) in zip(ids, most) {
            #expect(ids.prefix(most).filter { $0.hasPrefix("urgent") }.count == 10, "\(ids.prefix(most))")
        }
    }

    @Test("however many mutations are urgent, nothing waits for more than ten times its usual number of requests")
    func flood() throws {
        let store = MemoryStore()
        let queue = queue(store)
        let ids = try clock.run { [self] in
            try await queue.enqueue(Self.many.prefix(100).map(\.self))
            // Twice as many mutations as the queue can send.
            for round in 0..<550 {
                try await queue.enqueue((0..<4).map { Self.mutation("urgent \(round) \($0)", isUrgent: true) })
                queue.trigger()
                try await clock.sleep(for: .milliseconds(200))
            }
            await queue.stop()
            return sent.withLock { $0 }
        }
        let places = ids.indices.filter { !ids[$0].hasPrefix("urgent") }
        #expect(places.map { ids[$0] } == (0..<100).map(String.init))
        for (number, place) in places.enumerated() { #expect(place < 10 * (number + 1)) }
        #expect(places.prefix { $0 < 500 }.count <= 51)
        // Urgent mutations keep their order among themselves, including those sent by requests in order.
        let urgent = ids[...(places.last ?? 0)].filter { $0.hasPrefix("urgent") }
        #expect(urgent == (0..<urgent.count).map { "urgent \($0 / 4) \($0 % 4)" })
    }

    @Test(
        "no mutation goes later than ten times the later of two places: in the queue, and without urgency",
        arguments: 1...20 as ClosedRange<UInt64>)
    func tenTimes(seed: UInt64) async throws {
        var generator = SplitMix64(seed: seed)
        let pageSize = Int.random(in: 1...6, using: &generator)
        // A few lanes, then lanes of one mutation, most of them urgent.
        let mutations = (0..<150).map { number in
            let entity = number < 12 ? "few \(Int.random(in: 0..<4, using: &generator))" : "\(number)"
            return Self.mutation("\(number)", of: entity, isUrgent: number >= 12 && number % 16 < 15)
        }
        func places(_ mutations: [Mutation]) async throws -> [String: Int] {
            let ids = Locked<[String]>([])
            let queue = SyncQueue(
                store: MemoryStore(), pipeline: Pipeline {},
                configuration: SyncQueueConfiguration(maxInFlight: 1, pageSize: pageSize)
            ) { mutation in ids.withLock { $0.append(mutation.id) } }
            try await queue.enqueue(mutations)
            _ = try await queue.drain()
            return Dictionary(uniqueKeysWithValues: ids.withLock { $0 }.enumerated().map { ($1, $0 + 1) })
        }
        let places = (
            with: try await places(mutations),
            without: try await places(mutations.map { Self.mutation($0.id, of: $0.entity) })
        )
        for (number, mutation) in mutations.enumerated() {
            let (with, without) = (places.with[mutation.id] ?? .max, places.without[mutation.id] ?? 0)
            #expect(with <= 10 * max(number + 1, without), "\(mutation.id)")
        }
    }

    @Test("mutations before an urgent one of their entity go with it, in order, even after a restart")
    func lane() async throws {
        for store in try everyStore() {
            let fixture = Fixture()
            let (first, queue) = (fixture.queue(store), fixture.queue(store))
            try await first.enqueue(Array(Self.many.prefix(50)))
            try await first.enqueue(["x1", "x2"].map { Self.mutation($0, of: "x") })
            try await first.enqueue([Self.mutation("x3", of: "x", isUrgent: true), Self.mutation("x4", of: "x")])
            await first.stop()
            #expect(try await queue.flush().end == .drained)
            let ids = fixture.server.ids
            #expect(Array(ids.prefix(3)) == ["x1", "x2", "x3"] && ids.count == 54)
            #expect(ids.firstIndex(of: "x4") ?? 0 > 10)
        }
    }

    @Test("an urgent mutation that always fails keeps no other out, and stays urgent when it is dead and retried")
    func failing() throws {
        let store = MemoryStore()
        let isDown = Locked(true)
        let queue = queue(store) { mutation in
            if mutation.isUrgent, isDown.withLock({ $0 }) { throw Refusal.gone }
        }
        let (ids, again) = try clock.run { [self] in
            try await queue.enqueue(Array(Self.many.prefix(30)) + Self.ten)
            _ = try await queue.drain()
            let ids = sent.withLock { $0 }
            isDown.withLock { $0 = false }
            try await queue.enqueue(Self.many[30..<60].map(\.self))
            _ = try await queue.retryDead()
            _ = try await queue.drain()
            return (ids, Array(sent.withLock { $0[ids.count...] }))
        }
        #expect(ids.filter { !$0.hasPrefix("urgent") }.count == 30)
        #expect(again.prefix(12).filter { $0.hasPrefix("urgent") }.count == 10, "\(again.prefix(12))")
    }

    #if SQLite
        @Test(
            "a mutation is sent with any stored value of urgency, but only the value that a store writes is urgent",
            arguments: ["-1", "9223372036854775807", "-9223372036854775808", "3", "0.5", "'x'", "x'00'"])
        func stored(urgent: String) async throws {
            let folder = try TemporaryFolder()
            let store = try SQLiteStore(path: folder.path("queue.sqlite"))
            try await store.append([Self.mutation("a1", of: "a"), Self.mutation("b1", of: "b", isUrgent: true)])
            try Stranger.execute("UPDATE resilience_mutation SET urgent = \(urgent) WHERE id = 'a1'", at: store.path)
            #expect(try await store.pending(after: .min, limit: 9).map(\.mutation.isUrgent) == [false, true])
            try await store.append([Self.mutation("a2", of: "a", isUrgent: true)])
            let fixture = Fixture()
            #expect(try await fixture.queue(store).flush().end == .drained)
            #expect(fixture.server.ids == ["a1", "b1", "a2"])
        }
    #endif
}
