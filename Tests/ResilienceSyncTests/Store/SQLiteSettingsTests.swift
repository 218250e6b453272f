#if SQLite
    import Foundation
    import GRDB
    import ResilienceSync
    import Testing

    /// The settings of the connections in use.
    @Suite(.timeLimit(.minutes(20))) struct SQLiteSettingsTests {
        let folder: TemporaryFolder
        let path: String

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("queue.sqlite")
        }

        @Test(
            "a store's own file has each commit on the disk, also on Apple's disks, when new and when reopened"
        )
        func ownFile() async throws {
            for store in [try SQLiteStore(path: path), try SQLiteStore(path: path, check: .none), try .temporary()] {
                try await store.append([Mutation(UUID().uuidString)])
                #expect(try pragma("synchronous", store.database) == "2")
                #expect(try pragma("journal_mode", store.database) == "wal")
                #expect(try pragma("fullfsync", store.database) == "1")
                #expect(try pragma("checkpoint_fullfsync", store.database) == "1")
            }
        }

        @Test("a store's own file is released when the app reports its suspension")
        func suspension() throws {
            #expect(try SQLiteStore(path: path).database.configuration.observesSuspensionNotifications)
        }

        @Test("in the program's own database a queue is durable; a pool is durable after the guide's setting")
        func brought() throws {
            let queue = try SQLiteStore(in: DatabaseQueue(path: path))
            #expect(try pragma("synchronous", queue.database) == "2")
            let pool = try DatabasePool(path: folder.path("pool.sqlite"))
            _ = try SQLiteStore(in: pool)
            #expect(try pragma("synchronous", pool) == "1")
            try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
            _ = try SQLiteStore(in: pool)
            #expect(try pragma("synchronous", pool) == "2")
        }

        private func pragma(_ name: String, _ database: any DatabaseWriter) throws -> String? {
            try database.writeWithoutTransaction { try String.fetchOne($0, sql: "PRAGMA \(name)") }
        }
    }

    /// GRDB's migrator, set to erase the database when its schema has changed.
    @Suite(.timeLimit(.minutes(20))) struct SQLiteMigratorTests {
        let folder: TemporaryFolder
        let database: DatabaseQueue

        init() throws {
            folder = try TemporaryFolder()
            database = try DatabaseQueue(path: folder.path("app.sqlite"))
        }

        private func migrate(makingTables: Bool, adding column: String? = nil) throws {
            var migrator = DatabaseMigrator()
            migrator.eraseDatabaseOnSchemaChange = true
            migrator.registerMigration("notes") { db in
                try db.execute(sql: "CREATE TABLE note (\(column.map { "\($0), " } ?? "") text TEXT)")
            }
            if makingTables {
                migrator.registerMigration("outbox") { try SQLiteStore.createTables(in: $0) }
            }
            try migrator.migrate(database)
        }

        @Test("with the queue's tables made in a migration, a start without a schema change erases nothing")
        func made() async throws {
            for start in 1...3 {
                try migrate(makingTables: true)
                let store = try SQLiteStore(in: database)
                try await store.append([Mutation("a\(start)")])
                #expect(try await store.totals().pending == start)
            }
        }

        @Test("a store from before the migration is adopted")
        func before() async throws {
            try await SQLiteStore(in: database).append([Mutation("a1")])
            try await database.write { try SQLiteStore.createTables(in: $0) }
            #expect(try await SQLiteStore(in: database).totals().pending == 1)
        }

        /// Then GRDB erases the whole database, and nothing in it can prevent that.
        @Test("as the guide warns, without the migration or after a real change the outbox is erased with the rest")
        func erased() async throws {
            for makesTables in [false, true] {
                try migrate(makingTables: makesTables)
                let store = try SQLiteStore(in: database)
                try await store.append([Mutation("a1")])
                try migrate(makingTables: makesTables, adding: makesTables ? "title TEXT" : nil)
                #expect(try await SQLiteStore(in: database).totals().pending == 0)
            }
        }
    }
#endif
