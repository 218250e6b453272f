#if SQLite
    import Foundation
    import GRDB
    import Resilience
    import ResilienceSync
    import Testing

    /// Traces of removed mutations in the files: there are none once everything was removed.
    @Suite(.timeLimit(.minutes(20))) struct SQLiteErasureTests {
        let folder: TemporaryFolder
        let path: String

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("queue.sqlite")
        }

        @Test("after everything was removed, the files contain no payload and no error, and are small (P52)")
        func ownFile() async throws {
            let store = try SQLiteStore(path: path)
            try await fillAndDeliver(store)
            #expect(try isSecretInFiles())
            #expect(try await store.removePending() == 500)
            _ = try await store.discardAll()
            #expect(try !isSecretInFiles())
            #expect(try size() < 200_000)
            // The file works as a queue again.
            try await store.append([Mutation("z1")])
            #expect(try await store.pending(after: .min, limit: 9).map(\.mutation.id) == ["z1"])
        }

        @Test("after one mutation was cancelled, the files contain nothing of it")
        func cancelled() async throws {
            let store = try SQLiteStore(path: path)
            try await store.append([
                Mutation("a1", payload: String(repeating: "SECRET", count: 1_000)), Mutation("b1"),
            ])
            #expect(try isSecretInFiles())
            #expect(try await store.mutation("a1", cancelling: true) != nil)
            #expect(try !isSecretInFiles())
            #expect(try await store.pending(after: .min, limit: 9).map(\.mutation.id) == ["b1"])
        }

        @Test("dead mutations may stay: the file shrinks to little more than these need")
        func onlyPending() async throws {
            let store = try SQLiteStore(path: path)
            try await store.append([Mutation("a1", payload: "kept")])
            _ = try await store.apply([.died(1, error: "410", rest: .skip)], claiming: [])
            try await fillAndDeliver(store)
            #expect(try size() > 3_000_000)
            _ = try await store.removePending()
            #expect(try size() < 1_500_000)
            #expect(try await store.dead(after: .min, limit: 1).first?.mutation.payload == Data("kept".utf8))
        }

        @Test(
            "erasure does not wait for readers, however long the program's own statements would wait",
            arguments: [true, false])
        func reader(hasCallback: Bool) async throws {
            let isAsked = Locked(false)
            var configuration = Configuration()
            configuration.busyMode =
                hasCallback
                ? .callback { _ in
                    isAsked.withLock { $0 = true }
                    return false
                } : .timeout(3_600)
            let database = try DatabasePool(path: path, configuration: configuration)
            let store = try SQLiteStore(in: database)
            try await store.append([Mutation("a1"), Mutation("b1")])
            let snapshot = try database.makeSnapshot()
            #expect(
                try await snapshot.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM resilience_mutation") } == 2)
            _ = try await store.apply([.died(1, error: "410", rest: .skip)], claiming: [])
            #expect(try await store.discard([1]) == 1)
            #expect(try await store.removePending() == 1)
            #expect(!isAsked.withLock { $0 })
            let timeout = try await database.writeWithoutTransaction {
                try Int.fetchOne($0, sql: "PRAGMA busy_timeout")
            }
            #expect(timeout == (hasCallback ? 0 : 3_600_000))
        }

        @Test(
            "in the program's own database, a clear overwrites what it removes, and empties the log",
            arguments: [true, false])
        func outbox(isPool: Bool) async throws {
            var configuration = Configuration()
            configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA secure_delete = OFF") }
            let database: any DatabaseWriter =
                try isPool
                ? DatabasePool(path: path, configuration: configuration)
                : DatabaseQueue(path: path, configuration: configuration)
            let store = try SQLiteStore(in: database)
            // A clear does not erase the place that a row had before SQLite moved it; whether such a place shows
            // depends on the rows' sizes.
            try await database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA secure_delete = ON") }
            try await store.append(secrets())
            _ = try await store.apply((1...200).map { .died($0, error: "SECRET", rest: .skip) }, claiming: [])
            try await database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA secure_delete = OFF") }
            #expect(try await store.removePending() == 800)
            _ = try await store.discardAll()
            #expect(try !isSecretInFiles())
            let after = try await database.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA secure_delete") }
            #expect(after == 0)
        }

        @Test("the program's own database is not rewritten, however much of it is free")
        func outboxKeepsItsSize() async throws {
            let database = try DatabaseQueue(path: path)
            let store = try SQLiteStore(in: database)
            try await store.append(secrets())
            #expect(try await store.removePending() == 1_000)
            #expect(try await freePages(database) > 100)
        }

        @Test("a file that is less than half free is not rewritten")
        func partlyFree() async throws {
            let store = try SQLiteStore(path: path)
            try await store.append(secrets())
            _ = try await store.apply((1...600).map { .died($0, error: "410", rest: .skip) }, claiming: [])
            #expect(try await store.removePending() == 400)
            #expect(try await freePages(DatabaseQueue(path: path)) > 100)
        }

        @Test("once nothing is left, data that was removed earlier but not overwritten is also gone from the file")
        func earlierTraces() async throws {
            let store = try SQLiteStore(path: path)
            try await store.append([Mutation("a1", payload: "SECRET")])
            try Stranger.execute("PRAGMA secure_delete = OFF; DELETE FROM resilience_mutation", at: path)
            #expect(try isSecretInFiles())
            #expect(try await store.removePending() == 0)
            #expect(try !isSecretInFiles())
        }

        @Test("a file that is mostly free shrinks when it is opened")
        func opened() async throws {
            do {
                let store = try SQLiteStore(path: path)
                try await store.append(secrets())
                _ = try await store.apply((1...999).map { .acknowledged($0) }, claiming: [])
            }
            #expect(try size() > 1_000_000)
            do { #expect(try await SQLiteStore(path: path).totals().pending == 1) }
            #expect(try size() < 100_000)
        }

        private func secrets() -> [Mutation] {
            Mutation.many(1_000).map { mutation in
                Mutation(
                    id: mutation.id, entity: mutation.entity, kind: "k",
                    payload: Data(String(repeating: "SECRET \(mutation.id) ", count: 200).utf8))
            }
        }

        /// 500 pending, 250 dead, and 250 delivered.
        private func fillAndDeliver(_ store: SQLiteStore) async throws {
            try await store.append(secrets())
            let positions = try await store.heads(after: .min, limit: 500).map(\.position)
            _ = try await store.apply(
                positions.prefix(250).map { .acknowledged($0) }
                    + positions.suffix(250).map { .died($0, error: "SECRET", rest: .skip) }, claiming: [])
        }

        private func isSecretInFiles() throws -> Bool {
            try folder.contents().values.contains { $0.range(of: Data("SECRET".utf8)) != nil }
        }

        private func freePages(_ database: DatabaseQueue) async throws -> Int {
            try await database.read { try Int.fetchOne($0, sql: "PRAGMA freelist_count") } ?? 0
        }

        private func size() throws -> Int { try folder.contents().values.map(\.count).reduce(0, +) }
    }
#endif
