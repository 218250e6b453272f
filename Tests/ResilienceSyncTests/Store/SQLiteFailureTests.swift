#if SQLite
    import Foundation
    import GRDB
    import ResilienceSync
    import Testing

    /// Databases that temporarily can't be written: each change fails as a whole, and works again later.
    @Suite(.timeLimit(.minutes(20))) struct SQLiteFailureTests {
        let folder: TemporaryFolder
        let path: String

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("queue.sqlite")
        }

        @Test("on a full disk nothing is appended, nothing is lost, and commands that free space still work")
        func full() async throws {
            let database = try DatabaseQueue(path: path)
            let store = try SQLiteStore(in: database)
            try await store.append((0..<20).map { Mutation("a\($0)", payload: String(repeating: "x", count: 300)) })
            let before = try await store.pending(after: .min, limit: 99)
            try await database.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA max_page_count = \(Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0)")
            }
            await expectFailure {
                try await store.append([Mutation("z1", payload: String(repeating: "x", count: 99_999))])
            }
            #expect(try await store.pending(after: .min, limit: 99) == before)
            #expect(try await store.totals().pending == 20)
            _ = try await store.apply([.acknowledged(before[0].position)], claiming: [before[1].position])
            #expect(try await store.totals().pending == 19)
            try await database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = 100000") }
            try await store.append([Mutation("z1", payload: String(repeating: "x", count: 99_999))])
        }

        @Test("a file that another process has locked is left unchanged, with an error that says so")
        func locked() async throws {
            do { try await SQLiteStore(path: path).append([Mutation("a1")]) }
            let store = try SQLiteStore(path: path, check: .none, busyTimeout: 0, removesFile: false)
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let other = try DatabaseQueue(path: path, configuration: configuration)
            try Stranger.execute("BEGIN IMMEDIATE", with: other)
            await expectFailure { try await store.append([Mutation("b1")]) }
            await expectFailure { _ = try await store.apply([.acknowledged(1)], claiming: []) }
            await expectFailure { _ = try await store.removePending() }
            await expectFailure { _ = try SQLiteStore(path: path, check: .none, busyTimeout: 0, removesFile: false) }
            #expect(try await store.pending(after: .min, limit: 9).map(\.mutation.id) == ["a1"])
            try Stranger.execute("ROLLBACK", with: other)
            try await store.append([Mutation("b1")])
            #expect(try await store.totals().pending == 2)
        }

        @Test("calls that wait behind a call that waits for another process's lock time out with it")
        func lockedVolley() async throws {
            let store = try SQLiteStore(path: path, check: .none, busyTimeout: 1, removesFile: false)
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let other = try DatabaseQueue(path: path, configuration: configuration)
            try Stranger.execute("BEGIN IMMEDIATE", with: other)
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask { await expectFailure { try await store.append([Mutation("a\(number)")]) } }
                }
            }
            func wait() async throws -> Int? {
                try await store.database.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA busy_timeout") }
            }
            #expect(try #require(await wait()) < 1_000)
            try Stranger.execute("ROLLBACK", with: other)
            try await store.append([Mutation("b1")])
            #expect(try await wait() == 1_000)
        }

        @Test("a read-only database is reported as such")
        func readOnly() async throws {
            let database = try DatabaseQueue(path: path)
            let store = try SQLiteStore(in: database)
            try await store.append([Mutation("a1")])
            try await database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA query_only = 1") }
            await expectFailure { try await store.append([Mutation("b1")]) }
            await expectFailure { try await store.set("x", to: "y") }
            try await database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA query_only = 0") }
            #expect(try await store.pending(after: .min, limit: 9).map(\.mutation.id) == ["a1"])

            var configuration = Configuration()
            configuration.readonly = true
            let reader = try DatabaseQueue(path: path, configuration: configuration)
            let same = try SQLiteStore(in: reader)
            await expectFailure { try await same.append([Mutation("b1")]) }
            #expect(try await same.totals().pending == 1)
        }

        @Test("in a transaction that the program left open nothing is reported as stored")
        func openTransaction() async throws {
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let database = try DatabaseQueue(path: path, configuration: configuration)
            let store = try SQLiteStore(in: database)
            try await database.writeWithoutTransaction { try $0.beginTransaction() }
            await expectFailure { try await store.append([Mutation("a1")]) }
            #expect(try await store.totals() == QueueTotals())
            try await database.writeWithoutTransaction { try $0.rollback() }
            try await store.append([Mutation("a1")])
        }

        @Test("a failing statement throws the queue's own error, with the path, and changes nothing")
        func failingStatement() async throws {
            let store = try SQLiteStore(path: path)
            try await store.append([Mutation("a1")])
            try Stranger.execute(
                "DROP TABLE resilience_setting; ALTER TABLE resilience_mutation RENAME COLUMN kind TO sort", at: path)
            await expectFailure { try await store.append([Mutation("b1")]) }
            await expectFailure { try await store.set("x", to: "y") }
            await expectFailure { _ = try await store.setting("x") }
            await expectFailure { _ = try await store.pending(after: .min, limit: 1) }
            await expectFailure { _ = try await store.heads(after: .min, limit: 1) }
            #expect(try await store.totals().pending == 1)
        }

        @Test("cancelling a task does not undo its write")
        func cancelled() async throws {
            let store = try SQLiteStore(path: path)
            try await store.append([Mutation("a1")])
            try await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                _ = try await store.apply([.acknowledged(1)], claiming: [])
            }.value
            #expect(try await store.totals().pending == 0)
        }

        private func expectFailure(_ body: () async throws -> Void) async {
            let error = await #expect(throws: SyncQueueError.self) { try await body() }
            guard case .storeFailed(path, _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }
#endif
