#if SQLite
    import Foundation
    import GRDB
    import Resilience
    import ResilienceSync
    import ResilienceSyncTesting
    import ResilienceTesting
    import TestSupport
    import Testing

    /// The queue in a program's existing database, and in the same transaction as the program's own writes.
    @Suite(.timeLimit(.minutes(20)), .heavy) struct SQLiteOutboxTests {
        enum Kind: String, CaseIterable {
            case queue, pool, memory

            func open(_ path: String) throws -> any DatabaseWriter {
                switch self {
                case .queue: try DatabaseQueue(path: path)
                case .pool: try DatabasePool(path: path)
                case .memory: try DatabaseQueue()
                }
            }
        }

        let folder: TemporaryFolder
        let path: String

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("app.sqlite")
        }

        @Test("a store in a program's database keeps the contract", arguments: Kind.allCases)
        func contract(kind: Kind) async throws {
            let contract = StoreContract {
                try SQLiteStore(in: kind.open(folder.path("\(UUID().uuidString).sqlite")))
            } reopening: { store in
                kind == .memory ? store : try SQLiteStore(in: kind.open(store.path))
            }
            let report = await contract.check(steps: 100, tasks: 8)
            #expect(report.violations == [])
        }

        @Test("an append in the caller's transaction is committed with it", arguments: Kind.allCases)
        func commits(kind: Kind) async throws {
            let database = try open(kind)
            let store = try SQLiteStore(in: database)
            try await database.write { db in
                try db.execute(sql: "INSERT INTO note VALUES ('one')")
                let first = try store.append([Mutation("a1")], under: AppendRules(), at: Date(), in: db)
                let second = try store.append([Mutation("a2")], under: AppendRules(), at: Date(), in: db)
                #expect(first.added == 1 && second.added == 1)
            }
            #expect(try await notes(database) == 1)
            #expect(try await store.heads(after: .min, limit: 9).map(\.id) == ["a1"])
            #expect(try await store.totals().pending == 2)
        }

        @Test("a pass applies a page and asks what is unsent in one transaction", arguments: Kind.allCases)
        func pull(kind: Kind) async throws {
            let database = try open(kind)
            let queue = SyncQueue(store: try SQLiteStore(in: database), pipeline: Pipeline {}) { _ in
                throw Refusal.unavailable
            }
            try await queue.enqueue([Mutation("a1"), Mutation("b\0")])
            let unsent = Box<Set<String>>()
            let pass = SyncPass(queue) {
                SyncPage("", cursor: 7)
            } increment: {
                SyncPage("", cursor: $0)
            } apply: { _, pull in
                unsent.value = try await database.write { db in
                    try db.execute(sql: "INSERT INTO note VALUES ('one')")
                    return try pull.unsent(among: ["c", "b\0", "a"], in: db)
                }
            }
            #expect(try await pass.run().end == .pulledInPart(cursor: 0))
            #expect(unsent.value == ["a", "b\0"])
            #expect(try await notes(database) == 1)
            await queue.stop()
        }

        @Test("unsent mutations can't be asked for in another database, or from a store without a database")
        func pullElsewhere() async throws {
            let other = try open(.memory)
            for store in [MemoryStore(), try SQLiteStore(path: path)] as [any MutationStore] {
                func run(_ store: some MutationStore) async throws {
                    let pass = SyncPass(SyncQueue(store: store, pipeline: Pipeline {}) { _ in }) {
                        SyncPage("", cursor: 7)
                    } increment: {
                        SyncPage("", cursor: $0)
                    } apply: { _, pull in
                        _ = try await other.write { try pull.unsent(among: ["a"], in: $0) }
                    }
                    await #expect { try await pass.run() } throws: { error in
                        if case SyncQueueError.unreadable = error { true } else { false }
                    }
                }
                try await run(store)
            }
        }

        @Test("an append in the caller's transaction is rolled back with it", arguments: Kind.allCases)
        func rollsBack(kind: Kind) async throws {
            struct Changed: Error {}
            let database = try open(kind)
            let store = try SQLiteStore(in: database)
            await #expect(throws: Changed.self) {
                try await database.write { db in
                    try db.execute(sql: "INSERT INTO note VALUES ('one')")
                    _ = try store.append([Mutation("a1")], under: AppendRules(), at: Date(), in: db)
                    throw Changed()
                }
            }
            #expect(try await notes(database) == 0)
            #expect(try await store.totals() == QueueTotals())
            #expect(try await store.heads(after: .min, limit: 9).isEmpty)
        }

        @Test("after a rejected append the caller's transaction continues without it")
        func refused() async throws {
            let database = try open(.queue)
            let store = try SQLiteStore(in: database)
            try await database.write { db in
                try db.execute(sql: "INSERT INTO note VALUES ('one')")
                let rules = AppendRules(maxCount: 1)
                #expect(throws: SyncQueueError.full(count: 2, bytes: 0)) {
                    try store.append([Mutation("a1"), Mutation("b1")], under: rules, at: Date(), in: db)
                }
            }
            #expect(try await notes(database) == 1)
            #expect(try await store.totals() == QueueTotals())
        }

        @Test("an append without a transaction makes its own")
        func noTransaction() async throws {
            let database = try open(.queue)
            let store = try SQLiteStore(in: database)
            try await database.writeWithoutTransaction { db in
                _ = try store.append([Mutation("a1")], under: AppendRules(), at: Date(), in: db)
                #expect(!db.isInsideTransaction)
            }
            #expect(try await store.totals().pending == 1)
        }

        @Test("another database is rejected, and nothing is written to it", arguments: Kind.allCases)
        func foreign(kind: Kind) async throws {
            let store = try SQLiteStore(in: open(.queue))
            let other = try kind.open(folder.path("other.sqlite"))
            // A database that a mistake could write to.
            let there = try SQLiteStore(in: other)
            let error = await #expect(throws: SyncQueueError.self) {
                try await other.write { db in
                    _ = try store.append([Mutation("a1")], under: AppendRules(), at: Date(), in: db)
                }
            }
            #expect(error?.description.contains(path) == true)
            #expect(try await there.totals() == QueueTotals())
            #expect(try await store.totals() == QueueTotals())
        }

        @Test("two databases in memory have the same name, but are distinct")
        func inMemory() async throws {
            let store = try SQLiteStore(in: DatabaseQueue())
            let other = try DatabaseQueue()
            _ = try SQLiteStore(in: other)
            await #expect(throws: SyncQueueError.self) {
                try await other.write { db in
                    _ = try store.append([Mutation("a1")], under: AppendRules(), at: Date(), in: db)
                }
            }
            #expect(try await store.totals() == QueueTotals())
        }

        @Test("another connection to the same file also works")
        func sameFile() async throws {
            let store = try SQLiteStore(path: path)
            let other = try DatabaseQueue(path: path)
            try await other.write { db in
                _ = try store.append([Mutation("a1")], under: AppendRules(), at: Date(), in: db)
            }
            #expect(try await store.heads(after: .min, limit: 9).map(\.id) == ["a1"])
        }

        @Test("an append in a read access is rejected")
        func reading() async throws {
            let database = try open(.pool)
            let store = try SQLiteStore(in: database)
            await #expect(throws: SyncQueueError.self) {
                try await database.read { db in
                    _ = try store.append([Mutation("a1")], under: AppendRules(), at: Date(), in: db)
                }
            }
            #expect(try await store.totals() == QueueTotals())
        }

        @Test("a program's database keeps its marks, its journal and its tables", arguments: [Kind.queue, .pool])
        func untouched(kind: Kind) async throws {
            let database = try open(kind)
            let pragmas = ["application_id", "user_version", "journal_mode", "synchronous"]
            func values() async throws -> [String] {
                try await database.read { db in
                    try pragmas.map { try String.fetchOne(db, sql: "PRAGMA \($0)") ?? "" }
                }
            }
            try await database.write { try $0.execute(sql: "PRAGMA application_id = 77; PRAGMA user_version = 5") }
            let before = try await values()
            _ = try SQLiteStore(in: database)
            _ = try SQLiteStore(in: database)
            #expect(try await values() == before)
            #expect(before[...1] == ["77", "5"])
            #expect(try await notes(database) == 0)
        }

        @Test("tables of a newer version, or that are not the queue's, are rejected and left unchanged")
        func newer() async throws {
            let database = try open(.queue)
            do { _ = try SQLiteStore(in: database) }
            func setVersion(_ value: String) async throws {
                try await database.write {
                    try $0.execute(sql: "UPDATE resilience_setting SET value = ?", arguments: [value])
                }
            }
            try await setVersion("7")
            #expect(throws: SyncQueueError.newerSchema(path: path, version: 7)) { try SQLiteStore(in: database) }
            try await setVersion("x")
            #expect(throws: SyncQueueError.self) { try SQLiteStore(in: database) }
            try await setVersion("6")
            _ = try SQLiteStore(in: database)
            try await database.write { try $0.execute(sql: "DROP INDEX resilience_head") }
            #expect(throws: SyncQueueError.self) { try SQLiteStore(in: database) }
        }

        private func open(_ kind: Kind) throws -> any DatabaseWriter {
            let database = try kind.open(path)
            try database.write { try $0.execute(sql: "CREATE TABLE note (text TEXT)") }
            return database
        }

        private func notes(_ database: any DatabaseWriter) async throws -> Int? {
            try await database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM note") }
        }
    }
#endif
