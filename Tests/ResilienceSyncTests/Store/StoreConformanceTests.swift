import Foundation
import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

/// What every store must do, whichever it is.
@Suite(.timeLimit(.minutes(1))) struct StoreConformanceTests {
    enum Kind: String, CaseIterable {
        case memory
        #if SQLite
            case sqlite
        #endif

        func make() throws -> any MutationStore {
            switch self {
            case .memory: MemoryStore()
            #if SQLite
                case .sqlite: try SQLiteStore.temporary()
            #endif
            }
        }
    }

    @Test("what comes out is what went in, in order", arguments: Kind.allCases)
    func roundTrip(kind: Kind) async throws {
        let store = try kind.make()
        let mutations = (0..<50).map { Mutation(id: "\($0)", entity: "e", kind: "k", payload: Data([UInt8($0)])) }
        try await store.append(Array(mutations[..<20]))
        try await store.append(Array(mutations[20...]))
        let stored = try await store.pending(after: .min, limit: .max)
        #expect(stored.map(\.mutation) == mutations)
        #expect(stored.map(\.position) == stored.map(\.position).sorted() && Set(stored.map(\.position)).count == 50)
        #expect(stored.allSatisfy { $0.failures == 0 && $0.lastError == nil })
    }

    @Test("appending is all or none", arguments: Kind.allCases)
    func allOrNone(kind: Kind) async throws {
        let store = try kind.make()
        try await store.append([Mutation("a1")])
        await #expect(throws: SyncQueueError.duplicate(id: "a1")) {
            try await store.append([Mutation("b1"), Mutation("a1"), Mutation("c1")])
        }
        await #expect(throws: SyncQueueError.duplicate(id: "b1")) {
            try await store.append([Mutation("b1"), Mutation("b1")])
        }
        #expect(try await store.pending(after: .min, limit: 9).map(\.mutation.id) == ["a1"])
        try await store.append([])
        try await store.append([Mutation("b1")])
        #expect(try await store.pendingCount() == 2)
    }

    @Test(
        "a page begins after a position, holds as many as asked for at most, and none for zero or less",
        arguments: Kind.allCases)
    func paging(kind: Kind) async throws {
        let store = try kind.make()
        try await store.append(Mutation.many(5))
        let positions = try await store.pending(after: .min, limit: 9).map(\.position)
        #expect(try await store.pending(after: positions[1], limit: 2).map(\.position) == Array(positions[2...3]))
        #expect(try await store.pending(after: positions[4], limit: 2).isEmpty)
        #expect(try await store.pending(after: .max, limit: 2).isEmpty)
        for limit in [0, -1, Int.min] {
            #expect(try await store.pending(after: .min, limit: limit).isEmpty)
            #expect(try await store.dead(after: .min, limit: limit).isEmpty)
        }
    }

    @Test("removing what is gone, set aside or was never there changes nothing", arguments: Kind.allCases)
    func removeTwice(kind: Kind) async throws {
        let store = try kind.make()
        try await store.append(Mutation.many(3))
        let positions = try await store.pending(after: .min, limit: 9).map(\.position)
        try await store.park(at: positions[0], error: "x")
        for position in [positions[1], positions[1], positions[0], .min, .max, 0] {
            try await store.remove(at: position)
            try await store.countFailure(at: position == positions[2] ? .max : position, error: "late")
            try await store.park(at: position, error: "late")
        }
        #expect(try await store.pending(after: .min, limit: 9).map(\.position) == [positions[2]])
        #expect(try await store.dead(after: .min, limit: 9).map(\.lastError) == ["x"])
        #expect(try await store.pendingCount() == 1)
        #expect(try await store.deadCount() == 1)
    }

    @Test("a failure is counted with what it said, and the last one stays", arguments: Kind.allCases)
    func failures(kind: Kind) async throws {
        let store = try kind.make()
        try await store.append(Mutation.many(2))
        let first = try await store.pending(after: .min, limit: 1)[0]
        try await store.countFailure(at: first.position, error: "one")
        try await store.countFailure(at: first.position, error: "two")
        let stored = try await store.pending(after: .min, limit: 9)
        #expect(stored.map(\.failures) == [2, 0] && stored.map(\.lastError) == ["two", nil])
        #expect(stored.map(\.mutation) == Mutation.many(2))
    }

    @Test(
        "what is set aside is no longer pending, keeps its place among the dead, and its id stays taken",
        arguments: Kind.allCases)
    func park(kind: Kind) async throws {
        let store = try kind.make()
        try await store.append(Mutation.many(4))
        let positions = try await store.pending(after: .min, limit: 9).map(\.position)
        for index in [2, 0, 1] { try await store.park(at: positions[index], error: "dead \(index)") }
        let dead = try await store.dead(after: .min, limit: 9)
        #expect(dead.map(\.position) == Array(positions[...2]) && dead.map(\.failures) == [1, 1, 1])
        #expect(dead.map(\.lastError) == ["dead 0", "dead 1", "dead 2"])
        #expect(try await store.dead(after: positions[0], limit: 1).map(\.position) == [positions[1]])
        #expect(try await store.pending(after: .min, limit: 9).map(\.position) == [positions[3]])
        await #expect(throws: SyncQueueError.duplicate(id: "0")) { try await store.append([Mutation.many(1)[0]]) }
    }

    @Test("removing everything pending returns how many, and spares the dead", arguments: Kind.allCases)
    func removePending(kind: Kind) async throws {
        let store = try kind.make()
        try await store.append(Mutation.many(4))
        let first = try await store.pending(after: .min, limit: 1)[0]
        try await store.park(at: first.position, error: "x")
        #expect(try await store.removePending() == 3)
        #expect(try await store.removePending() == 0)
        #expect(try await store.pendingCount() == 0)
        #expect(try await store.deadCount() == 1)
    }

    @Test("a position is never given twice, not even after everything was removed (B9)", arguments: Kind.allCases)
    func positions(kind: Kind) async throws {
        let store = try kind.make()
        var seen: Set<Int64> = []
        for _ in 0..<3 {
            try await store.append(Mutation.many(3))
            let stored = try await store.pending(after: .min, limit: 9)
            #expect(stored.map(\.position).allSatisfy { position in seen.allSatisfy { $0 < position } })
            seen.formUnion(stored.map(\.position))
            try await store.remove(at: stored[2].position)
            #expect(try await store.removePending() == 2)
        }
        #expect(seen.count == 9)
    }

    @Test("the pause is kept to the microsecond, replaced, and ended", arguments: Kind.allCases)
    func pause(kind: Kind) async throws {
        let store = try kind.make()
        #expect(try await store.pause() == nil)
        for seconds in [1_700_000_000.123_456, 1_600_000_000] {
            try await store.setPause(until: Date(timeIntervalSince1970: seconds))
            let kept = try await store.pause()?.timeIntervalSince1970 ?? 0
            #expect(abs(kept - seconds) < 1e-6)
        }
        try await store.setPause(until: nil)
        #expect(try await store.pause() == nil)
    }

    @Test(
        "texts of any characters come back as they were, a NUL and what follows it included", arguments: Kind.allCases,
        [
            "", "a\0b", "\0", "\u{FEFF}a\0b", "👩‍👩‍👧‍👦", "é", "e\u{301}", "'; DROP TABLE mutation; --", "\u{FFFF}\u{10FFFF}",
            "\n\r\t",
        ])
    func texts(kind: Kind, text: String) async throws {
        let store = try kind.make()
        let mutation = Mutation(
            id: text, entity: text, kind: text, payload: Data(text.utf8), idempotencyKey: text, createdAt: Date())
        try await store.append([mutation, Mutation("a")])
        let stored = try await store.pending(after: .min, limit: 9).map(\.mutation)
        #expect(stored.first == mutation && stored.count == 2)
        #expect(stored.first.map { Array($0.id.utf8) } == Array(text.utf8))
        await #expect(throws: SyncQueueError.duplicate(id: text)) { try await store.append([mutation]) }
        try await store.park(at: 1, error: text)
        #expect(try await store.dead(after: .min, limit: 9).map(\.lastError) == [text])
    }

    @Test("ids that differ only after a NUL are two ids", arguments: Kind.allCases)
    func afterNUL(kind: Kind) async throws {
        let store = try kind.make()
        try await store.append([Mutation("a\0b1"), Mutation("a\0c1"), Mutation("a")])
        #expect(try await store.pendingCount() == 3)
    }

    @Test("payloads come back byte by byte, from none to 10 MB", arguments: Kind.allCases, [0, 1, 4096, 10_000_000])
    func payloads(kind: Kind, size: Int) async throws {
        let store = try kind.make()
        let payload = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try await store.append([Mutation(id: "a1", entity: "a", kind: "k", payload: payload)])
        #expect(try await store.pending(after: .min, limit: 1).first?.mutation.payload == payload)
    }

    @Test("dates far off and with fractions come back as they were", arguments: Kind.allCases)
    func dates(kind: Kind) async throws {
        let store = try kind.make()
        let dates = [Date(), .distantPast, .distantFuture, Date(timeIntervalSinceReferenceDate: 0.1)]
        try await store.append(
            dates.enumerated().map { number, date in
                Mutation(id: "\(number)", entity: "a", kind: "k", payload: Data(), createdAt: date)
            })
        #expect(try await store.pending(after: .min, limit: 9).map(\.mutation.createdAt) == dates)
    }
}
