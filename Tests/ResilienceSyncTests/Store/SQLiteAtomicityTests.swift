#if SQLite
    import Foundation
    import GRDB
    import ResilienceSync
    import Testing

    /// A statement that fails in the middle of a change undoes the whole change.
    @Suite(.timeLimit(.minutes(20))) struct SQLiteAtomicityTests {
        let database: DatabaseQueue
        let store: SQLiteStore

        init() throws {
            database = try DatabaseQueue()
            store = try SQLiteStore(in: database)
        }

        @Test("a failed claim undoes the failure counted before it")
        func apply() async throws {
            try await fill()
            try await fail("UPDATE OF attempted", when: "NEW.position = 3")
            try await expectNothingChanges {
                _ = try await store.apply(
                    [.acknowledged(1), .failed(2, error: "503"), .died(4, error: "410", rest: .skip)],
                    claiming: [2, 3])
            }
        }

        @Test("a failed last change undoes the first")
        func changes() async throws {
            try await fill()
            try await fail("UPDATE OF state", when: "NEW.position = 4")
            try await expectNothingChanges {
                _ = try await store.apply(
                    [.failed(2, error: "503"), .died(4, error: "410", rest: .skip)], claiming: [])
            }
        }

        @Test("a failed append of several mutations stores none")
        func append() async throws {
            try await fill()
            try await fail("INSERT", when: "NEW.id = 'z2'")
            try await expectNothingChanges { try await store.append(["z1", "z2", "z3"].map { Mutation($0) }) }
        }

        @Test("if an append of several mutations fails in a transaction that the program continues, none is stored")
        func appendInTransaction() async throws {
            try await fill()
            try await fail("INSERT", when: "NEW.id = 'z2'")
            try await expectNothingChanges {
                let error = try await database.write { [store] db in
                    #expect(throws: SyncQueueError.self) {
                        try store.append(
                            ["z1", "z2"].map { Mutation($0) }, under: AppendRules(), at: Date(), in: db)
                    }
                }
                if let error { throw error }
            }
        }

        @Test("if reviving all dead mutations fails, none is revived")
        func revive() async throws {
            try await fill()
            try await fail("UPDATE OF state", when: "NEW.state = 0 AND NEW.position = 6")
            try await expectNothingChanges { _ = try await store.reviveAll(at: Date()) }
        }

        @Test(
            "if discarding all dead mutations, or removing the pending ones, fails, none is removed",
            arguments: [6, 4])
        func remove(position: Int) async throws {
            try await fill()
            try await fail("DELETE", when: "OLD.position = \(position)")
            try await expectNothingChanges {
                if position == 6 { _ = try await store.discardAll() } else { _ = try await store.removePending() }
            }
        }

        /// Four pending mutations, the second of which has failed once, and two dead ones.
        private func fill() async throws {
            try await store.append(["a1", "b1", "c1", "d1", "e1", "f1"].map { Mutation($0) })
            _ = try await store.apply(
                [.failed(2, error: "500")] + [5, 6].map { .died($0, error: "410", rest: .skip) }, claiming: [])
        }

        private func fail(_ event: String, when condition: String) async throws {
            try await database.write { db in
                try db.execute(
                    sql: """
                        CREATE TRIGGER stop BEFORE \(event) ON resilience_mutation WHEN \(condition)
                        BEGIN SELECT RAISE(ABORT, 'stopped'); END
                        """)
            }
        }

        private func expectNothingChanges(_ body: () async throws -> Void) async throws {
            func all() async throws -> [StoredMutation] {
                try await store.pending(after: .min, limit: 9) + store.dead(after: .min, limit: 9)
            }
            let (before, totals) = (try await all(), try await store.totals())
            let error = await #expect(throws: SyncQueueError.self) { try await body() }
            #expect(error?.description.contains("stopped") == true)
            #expect(try await all() == before)
            #expect(try await store.totals() == totals)
            #expect(try await store.heads(after: .min, limit: 9).map(\.position) == [1, 2, 3, 4])
        }
    }
#endif
