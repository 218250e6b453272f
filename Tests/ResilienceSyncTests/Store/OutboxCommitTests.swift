#if SQLite
    import Foundation
    import GRDB
    import ResilienceSync
    import ResilienceTesting
    import Testing

    /// When the queue hears of mutations enqueued in a transaction: at its commit, without those rolled back.
    @Suite(.timeLimit(.minutes(20))) struct OutboxCommitTests {
        let fixture = Fixture()
        let folder: TemporaryFolder
        let database: DatabaseQueue
        let queue: SyncQueue

        init() throws {
            folder = try TemporaryFolder()
            database = try DatabaseQueue(path: folder.path("app.sqlite"))
            queue = fixture.queue(try SQLiteStore(in: database))
        }

        private var told: [SyncEvent] { fixture.events.filter { ["enqueued", "coalesced"].contains($0.kind) } }

        @Test("an enqueue without a transaction makes its own: it is reported and sent")
        func withoutTransaction() async throws {
            try await database.writeWithoutTransaction { [queue] db in
                _ = try queue.enqueue([Mutation("a1")], in: db)
            }
            try #require(told == [.enqueued(1)])
            await fixture.server.waitForCalls(1)
            #expect(try await queue.flush().end == .drained)
            #expect(fixture.server.ids == ["a1"])
        }

        @Test("mutations that a savepoint rolled back are not reported, even if their position is used again")
        func rolledBackSavepoint() async throws {
            try await database.write { [queue] db in
                try queue.enqueue([Mutation("a1")], in: db)
                try db.inSavepoint {
                    try queue.enqueue([Mutation("b1"), Mutation("b2")], in: db)
                    return .rollback
                }
                try queue.enqueue([Mutation("c1")], in: db)
            }
            #expect(told == [.enqueued(1), .enqueued(1)])
            #expect(try await queue.flush().end == .drained)
            #expect(fixture.server.ids == ["a1", "c1"])
        }

        @Test("if a savepoint rolled back everything, the commit triggers nothing")
        func nothingLeft() async throws {
            try await database.write { [queue] db in
                try db.inSavepoint {
                    try queue.enqueue([Mutation("a1")], in: db)
                    return .rollback
                }
            }
            #expect(fixture.events == [])
            #expect(try await queue.flush().end == .drained)
            #expect(fixture.events == [.drained])
        }

        @Test("a coalescing that a savepoint rolled back is not reported; a coalescing that it kept is")
        func rolledBackCoalescing() async throws {
            @Sendable func update(_ id: String) -> Mutation {
                Mutation(id: id, entity: "a", kind: "k", operation: .update, payload: Data(id.utf8))
            }
            try await database.write { [queue] db in
                try queue.enqueue([update("1")], in: db)
                for completion in [Database.TransactionCompletion.rollback, .commit] {
                    try db.inSavepoint {
                        try queue.enqueue([update("2")], in: db)
                        return completion
                    }
                }
            }
            #expect(told == [.enqueued(1), .coalesced(id: "2", into: "1", cancelsOut: false)])
        }

        @Test("a rejected enqueue reports nothing when the next transaction is committed")
        func refused() async throws {
            try await queue.enqueue(Mutation("a1"))
            try await database.writeWithoutTransaction { [queue] db in
                let rejected = Mutation(id: "", entity: "b", kind: "k")
                #expect(throws: SyncQueueError.self) { try queue.enqueue([Mutation("b1"), rejected], in: db) }
                try db.execute(sql: "CREATE TABLE note (text TEXT)")
            }
            #expect(told == [.enqueued(1)])
        }
    }
#endif
