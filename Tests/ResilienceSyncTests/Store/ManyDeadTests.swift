import Foundation
import ResilienceSync
import Testing

/// All means all, however many there are.
@Suite(.timeLimit(.minutes(5))) struct ManyDeadTests {
    @Test("2 500 dead mutations are revived, and discarded, at once")
    func all() async throws {
        var stores: [any MutationStore] = [MemoryStore()]
        #if SQLite
            stores.append(try SQLiteStore.temporary())
        #endif
        for store in stores {
            try await store.append(Mutation.many(2_500))
            let parkAll = (1...2_500).map { MutationChange.parked($0, error: "410", rest: .skip) }
            _ = try await store.apply(parkAll, claiming: [])
            #expect(try await store.revive(nil, at: Date()) == 2_500)
            var totals = try await store.totals()
            #expect(totals.pending == 2_500 && totals.dead == 0)
            _ = try await store.apply(parkAll, claiming: [])
            #expect(try await store.discard(nil) == 2_500)
            totals = try await store.totals()
            #expect(totals.pending == 0 && totals.dead == 0)
        }
    }
}
