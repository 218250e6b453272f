#if SQLite
    import Foundation
    import GRDB
    import Resilience
    import ResilienceSync
    import ResilienceTesting
    import Testing

    /// A queue in the app's own database.
    @Suite(.timeLimit(.minutes(20))) struct OutboxTests {
        let fixture = Fixture()
        let folder: TemporaryFolder
        let database: DatabaseQueue
        let queue: SyncQueue

        init() throws {
            folder = try TemporaryFolder()
            database = try DatabaseQueue(path: folder.path("app.sqlite"))
            try database.write { try $0.execute(sql: "CREATE TABLE note (id TEXT PRIMARY KEY)") }
            queue = fixture.queue(try SQLiteStore(in: database))
        }

        private func notes() throws -> Int {
            try database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM note") ?? -1 }
        }

        @Test("a mutation enqueued in the app's own transaction is sent only after the commit")
        func commit() async throws {
            try await database.write { [queue, server = fixture.server] db in
                try db.execute(sql: "INSERT INTO note VALUES ('1')")
                #expect(try queue.enqueue([Mutation("a1"), Mutation("b1")], in: db).added == 2)
                #expect(server.callCount == 0)
            }
            await fixture.server.waitForCalls(2)
            #expect(try await queue.flush().end == .drained)
            #expect(try notes() == 1 && fixture.server.ids == ["a1", "b1"])
            #expect(fixture.events.first == .enqueued(2))
        }

        @Test("after a rollback a mutation was never enqueued: nothing is stored, reported or sent")
        func rollback() async throws {
            struct Changed: Error {}
            await #expect(throws: Changed.self) {
                try await database.write { [queue] db in
                    try db.execute(sql: "INSERT INTO note VALUES ('1')")
                    try queue.enqueue([Mutation("a1")], in: db)
                    throw Changed()
                }
            }
            #expect(try notes() == 0)
            #expect(try await queue.status.pending == 0)
            #expect(try await queue.flush().end == .drained)
            #expect(fixture.events == [.drained] && fixture.server.callCount == 0)
        }

        @Test("a rejected mutation leaves the rest of the transaction to the app")
        func refused() async throws {
            try await queue.enqueue(Mutation("a1"))
            try await database.write { [queue] db in
                try db.execute(sql: "INSERT INTO note VALUES ('1')")
                #expect(try queue.enqueue([Mutation("a1")], in: db).duplicates == ["a1"])
                #expect(throws: SyncQueueError.self) {
                    try queue.enqueue([Mutation("c1", key: String(repeating: "k", count: 256))], in: db)
                }
            }
            #expect(try notes() == 1)
            #expect(try await queue.status.pending == 1)
        }

        @Test("another database, or a store without one, is an error, and nothing is written")
        func elsewhere() async throws {
            let other = try DatabaseQueue(path: folder.path("other.sqlite"))
            let inMemory = fixture.queue(MemoryStore())
            try await other.write { [queue] (db) throws in
                #expect(throws: SyncQueueError.self) { try queue.enqueue([Mutation("a1")], in: db) }
                #expect(throws: SyncQueueError.self) { try inMemory.enqueue([Mutation("a1")], in: db) }
                #expect(try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM sqlite_master") == 0)
            }
            #expect(try await queue.status.pending == 0)
            #expect(try await inMemory.status.pending == 0)
        }

        @Test("the app's own transaction can ask for unsent entities; a store in another database is an error (P48)")
        func unsent() async throws {
            fixture.server.enqueue(.refused(.unavailable))
            try await queue.enqueue([Mutation("a1"), Mutation("b1")])
            let found = Box<Set<String>>()
            func pass(_ queue: SyncQueue) -> SyncPass {
                SyncPass(queue) {
                    SyncPage("", cursor: 100)
                } increment: {
                    SyncPage("", cursor: $0)
                } apply: { [database] _, pull in
                    found.value = try await database.write { try pull.unsent(among: ["a", "b"], in: $0) }
                }
            }
            #expect(try await pass(queue).run().end == .pulledInPart(cursor: 0))
            #expect(found.value == ["a"])
            await #expect(throws: SyncQueueError.self) { try await pass(fixture.queue(MemoryStore())).run() }
        }

        @Test("an edit in the app's own transaction while a page is applied causes the page to be fetched again (P48)")
        func editedMeanwhile() async throws {
            let pass = SyncPass(queue) {
                SyncPage("", cursor: 100)
            } increment: {
                SyncPage("", cursor: $0)
            } apply: { [database, queue] _, pull in
                _ = try await pull.unsent(among: ["a"])
                try await database.write { _ = try queue.enqueue([Mutation("a1")], in: $0) }
                try await queue.drain()
            }
            #expect(try await pass.run().end == .pulledInPart(cursor: 0))
            #expect(fixture.server.ids == ["a1"])
        }

        @Test("an empty list does nothing")
        func empty() async throws {
            let appended = try await database.write { [queue] db in try queue.enqueue([], in: db) }
            #expect(appended == AppendResult())
            #expect(fixture.events.isEmpty)
        }
    }
#endif
