#if SQLite
    import Foundation
    import GRDB
    import ResilienceSync
    import Testing

    /// The code of Docs/DurableOutbox.md about the file.
    @Suite struct DurableOutboxGuideFile {
        @Test("the guide's pool is durable, and its migration keeps the outbox")
        func poolAndMigration() async throws {
            let folder = try TemporaryFolder()
            let path = folder.path("app.sqlite")
            let pool = try DatabasePool(path: path)
            try await pool.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA synchronous = FULL")
            }
            var migrator = DatabaseMigrator()
            migrator.eraseDatabaseOnSchemaChange = true
            migrator.registerMigration("outbox") { db in
                try SQLiteStore.createTables(in: db)
            }
            for start in 1...2 {
                try migrator.migrate(pool)
                let store = try SQLiteStore(in: pool)
                try await store.append([Mutation("a\(start)")])
                #expect(try await store.totals().pending == start)
            }
            let level = try await pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
            #expect(level == 2)
        }
    }
#endif
