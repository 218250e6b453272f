#if SQLite
    import Foundation
    import GRDB
    import ResilienceSync
    import Testing

    /// What the connections that are really used are set to.
    @Suite(.timeLimit(.minutes(5))) struct SQLiteSettingsTests {
        let folder: TemporaryFolder
        let path: String

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("queue.sqlite")
        }

        @Test(
            "a file of the store's own has each commit on the disk, also on Apple's disks, when new and when opened again"
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

        @Test("a file of the store's own is let go of when the app tells that it is suspended")
        func suspension() throws {
            #expect(try SQLiteStore(path: path).database.configuration.observesSuspensionNotifications)
        }

        @Test("the program's own database: a queue is durable, a pool after the guide's setting and not before")
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
#endif
