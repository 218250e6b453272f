#if PostgreSQL
    import Foundation
    import PostgreSQLServer
    import Resilience
    @testable import ResilienceSync
    import ResilienceTesting
    import Testing

    @Suite(.timeLimit(.minutes(20)), .postgreSQL) struct PostgreSQLStoreTests {
        private let database: PostgreSQLFixture

        init() throws { database = try PostgreSQLFixture() }

        private static let rules = AppendRules(coalescing: .off)
        private static let date = Date(timeIntervalSinceReferenceDate: 700_000_000)

        // MARK: Versions

        @Test("any number of workers may start at the same time")
        func start() async throws {
            let schema = database.schema
            let stores = try await withThrowingTaskGroup(of: PostgreSQLStore.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await PostgreSQLStore(try TestDatabase.engine(connections: 1), schema: schema)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for (number, store) in stores.enumerated() {
                _ = try await store.append([Mutation("a\(number)")], under: Self.rules, at: Self.date)
            }
            #expect(try await stores[0].totals().pending == 8)
        }

        @Test("the tables of an earlier, unreleased version are left unchanged")
        func earlier() async throws {
            let store = try await database.store()
            _ = try await database.run("UPDATE {}.sync_schema SET version = 4")
            let reason = "Its tables are of an earlier version, 4."
            await #expect(throws: SyncQueueError.unreadable(path: store.path, reason: reason)) {
                try await database.store()
            }
        }

        @Test("a newer version's tables are left unchanged")
        func newer() async throws {
            let store = try await database.store()
            _ = try await database.run("UPDATE {}.sync_schema SET version = 7")
            await #expect(throws: SyncQueueError.newerSchema(path: store.path, version: 7)) {
                try await database.store()
            }
            try await store.set("resilience_oldest_reader", to: "6")
            await #expect(throws: SyncQueueError.self) { try await database.store() }
            // The tables declare that this version can use them.
            try await store.set("resilience_oldest_reader", to: "5")
            try await database.store().append([Mutation("a1")])
            #expect(try await store.totals().pending == 1)
            _ = try await database.run("DELETE FROM {}.sync_schema")
            await #expect(throws: SyncQueueError.self) { try await database.store() }
        }

        @Test("a role that may not make tables is told what to do, and can use another role's tables")
        func rights() async throws {
            let role = "worker_\(database.schema)".lowercased()
            _ = try await database.run("CREATE ROLE \(role) LOGIN")
            _ = try await database.run("REVOKE CREATE ON DATABASE postgres FROM PUBLIC")
            let engine = try TestDatabase.engine("user=\(role)")
            let schema = database.schema
            do {
                _ = try await PostgreSQLStore(engine, schema: schema)
                Issue.record("it may make tables")
            } catch let error as SyncQueueError {
                #expect("\(error)".contains("Grant CREATE"), "\(error)")
            }
            let statements = try PostgreSQLStore.migration(schema: schema)
            let database = database
            try await database.engine.transaction { session in
                for statement in statements { try await session.run(statement, []) }
            }
            _ = try await database.run("GRANT USAGE ON SCHEMA {} TO \(role)")
            _ = try await database.run("GRANT ALL ON ALL TABLES IN SCHEMA {} TO \(role)")
            _ = try await database.run("GRANT ALL ON ALL SEQUENCES IN SCHEMA {} TO \(role)")
            let store = try await PostgreSQLStore(engine, schema: schema, migrates: false)
            _ = try await store.append([Mutation("a1")], under: Self.rules, at: Self.date)
            #expect(try await store.pending(after: .min, limit: 1).count == 1)
        }

        @Test(
            "names become part of statements, so only plain ones are accepted",
            arguments: ["", "a b", "a\"b", "a;b", "1a", "é", "pg_catalog", String(repeating: "a", count: 41), "a\0"])
        func names(name: String) async throws {
            await #expect(throws: SyncQueueError.self) { try await PostgreSQLStore(database.engine, schema: name) }
            if name != "pg_catalog" {
                #expect(throws: SyncQueueError.self) { try PostgreSQLStore.migration(queue: name) }
            }
        }

        // MARK: Round trips

        @Test(
            "ids, entities and other fields may be any text of any length",
            arguments: [
                "'; DROP TABLE sync_mutation; --", "a\0b", "\\xff", "$1", String(repeating: "é", count: 5_000),
                "\u{FEFF}x", " ",
            ])
        func texts(text: String) async throws {
            let store = try await database.store()
            let mutations = [text, text + "2"].map {
                Mutation(
                    id: $0, entity: text, kind: text, payload: Data(text.utf8), idempotencyKey: text,
                    createdAt: Self.date)
            }
            _ = try await store.append(mutations, under: Self.rules, at: Self.date)
            #expect(try await store.pending(after: .min, limit: 5).map(\.mutation) == mutations)
            let heads = try await store.heads(after: .min, limit: 5)
            #expect(heads.map(\.entity) == [text])
            #expect(try await store.pendingEntities(among: [text, text + "2"]) == [text])
            #expect(try await store.append([mutations[0]], under: Self.rules, at: Self.date).duplicates == [text])
            try await store.set(text, to: text)
            #expect(try await store.setting(text) == text)
            _ = try await store.apply(
                [.died(heads[0].position, error: text, rest: .skip)], claiming: [], keeping: DeadLimits(), at: Self.date
            )
            #expect(try await store.dead(after: .min, limit: 5).map(\.lastError) == [StoredMutation.bounded(text)])
        }

        @Test("many mutations are stored in several statements, all or none")
        func many() async throws {
            let store = try await database.store()
            let mutations = Mutation.many(4_500)
            #expect(try await store.append(mutations, under: Self.rules, at: Self.date).added == 4_500)
            await #expect(throws: SyncQueueError.full(count: 9_000, bytes: 9_000 * mutations[0].payload.count)) {
                try await store.append(
                    (0..<4_500).map { Mutation("b\($0)") } + [mutations[7]],
                    under: AppendRules(maxCount: 8_999, coalescing: .off), at: Self.date)
            }
            let totals = try await store.totals()
            #expect(totals.pending == 4_500)
            #expect(try await store.pending(after: .min, limit: 5_000).map(\.mutation.id) == mutations.map(\.id))
        }

        @Test("an oversized payload is rejected")
        func tooLarge() async throws {
            let store = try await database.store()
            let mutation = Mutation(
                id: "a", entity: "a", kind: "k", payload: Data(count: PostgreSQLStore.mostPayloadBytes + 1))
            await #expect(throws: SyncQueueError.self) {
                try await store.append([mutation], under: Self.rules, at: Self.date)
            }
        }

        // MARK: The caller's transaction

        @Test("mutations enqueued in a transaction are stored with it, or not at all")
        func transaction() async throws {
            let queue = Fixture().queue(try await database.store())
            let (database, store) = (database, try await database.store())
            _ = try await database.run("CREATE TABLE {}.note (id int8 PRIMARY KEY)")
            struct Undone: Error {}
            await #expect(throws: Undone.self) {
                try await database.engine.transaction { session in
                    try await session.run("INSERT INTO \"\(database.schema)\".note VALUES ($1)", [.integer(1)])
                    try await queue.enqueue([Mutation("a1")], in: session)
                    throw Undone()
                }
            }
            #expect(try await database.count("note") == 0)
            #expect(try await store.totals().pending == 0)
            try await database.engine.transaction { session in
                try await session.run("INSERT INTO \"\(database.schema)\".note VALUES ($1)", [.integer(2)])
                try await queue.enqueue([Mutation("a2")], in: session)
                #expect(try await store.totals().pending == 0, "another sees it before the commit")
                // After an error, the transaction continues without these mutations.
                await #expect(throws: SyncQueueError.self) {
                    try await queue.enqueue([Mutation("b1"), Mutation(id: "", entity: "b", kind: "k")], in: session)
                }
                #expect(try await queue.enqueue([Mutation("a2")], in: session).duplicates == ["a2"])
                try await queue.enqueue([Mutation("c1")], in: session, telling: false)
            }
            #expect(try await store.pending(after: .min, limit: 9).map(\.mutation.id) == ["a2", "c1"])
            #expect(try await database.count("note") == 1)
            #expect(try await database.count("sync_lane") == 2)
        }

        @Test("an entity that is created and deleted in one step leaves nothing behind")
        func createdAndDeleted() async throws {
            let store = try await database.store()
            var mutations: [Mutation] = []
            for number in 0..<20 {
                for operation in [Mutation.Operation.create, .delete] {
                    mutations.append(
                        Mutation(id: "\(number) \(operation)", entity: "\(number)", kind: "note", operation: operation))
                }
            }
            _ = try await store.append(mutations, under: AppendRules(coalescing: .lastWriteWins), at: Self.date)
            #expect(try await store.totals().pending == 0)
            #expect(try await database.count("sync_lane") == 0)
        }

        @Test("positions of one entity follow the order of commits, not of statements")
        func commitOrder() async throws {
            let (database, store) = (database, try await database.store())
            let (date, rules) = (Self.date, Self.rules)
            let second = Box<Task<AppendResult, any Error>>()
            try await database.engine.transaction { session in
                _ = try await store.append([Mutation("b1"), Mutation("a1")], under: rules, at: date, joining: session)
                // The second append waits for the lane until the first is committed, and only then gets a position.
                second.value = Task { try await store.append([Mutation("a2")], under: rules, at: date) }
                while try await !database.isWaiting(in: "begin_append") {}
                _ = try await store.append([Mutation("a3")], under: rules, at: date, joining: session)
            }
            _ = try await second.value?.value
            #expect(try await store.pending(after: .min, limit: 9).map(\.mutation.id) == ["b1", "a1", "a3", "a2"])
        }

        @Test(
            "an id that another append adds meanwhile for another entity is a duplicate", arguments: [true, false])
        func sameIdAtOnce(inATransaction: Bool) async throws {
            let (database, store) = (database, try await database.store())
            let (date, rules) = (Self.date, Self.rules)
            let second = Box<Task<AppendResult, any Error>>()
            try await database.engine.transaction { session in
                _ = try await store.append(
                    [Mutation(id: "1", entity: "a", kind: "note")], under: rules, at: date, joining: session)
                second.value = Task {
                    let mutations = ["1", "2"].map { Mutation(id: $0, entity: "b", kind: "note") }
                    guard inATransaction else { return try await store.append(mutations, under: rules, at: date) }
                    return try await database.engine.transaction { session in
                        try await store.append(mutations, under: rules, at: date, joining: session)
                    }
                }
                // The second append waits for the id.
                while try await !database.isWaiting(in: "end_append") {}
            }
            let appended = try await second.value?.value
            #expect(appended?.added == 1 && appended?.duplicates == ["1"])
            #expect(try await store.pending(after: .min, limit: 9).map(\.mutation.entity) == ["a", "b"])
        }

        // MARK: A server in trouble

        @Test("if the answer to a commit is lost, its outcome is found out", arguments: [true, false])
        func lostAnswer(isCommitted: Bool) async throws {
            _ = try await database.store()
            let store = try await PostgreSQLStore(
                LosingEngine(engine: database.engine, commits: isCommitted), schema: database.schema)
            if isCommitted {
                #expect(try await store.append([Mutation("a1")], under: Self.rules, at: Self.date).added == 1)
            } else {
                await #expect(throws: SyncQueueError.self) {
                    try await store.append([Mutation("a1")], under: Self.rules, at: Self.date)
                }
            }
            #expect(try await database.store().totals().pending == (isCommitted ? 1 : 0))
        }

        @Test("a server that crashes and comes back causes clear errors meanwhile, and loses nothing confirmed")
        func crash() async throws {
            let server = try PostgreSQLServer(["fsync=off"])
            let store = try await PostgreSQLStore(try TestDatabase.engine(on: server))
            for number in 0..<20 {
                _ = try await store.append([Mutation("a\(number)")], under: Self.rules, at: Self.date)
            }
            server.stop()
            let error = await #expect(throws: SyncQueueError.self) {
                try await store.append([Mutation("b1")], under: Self.rules, at: Self.date)
            }
            guard case .storeFailed("PostgreSQL resilience.sync", let reason) = error else {
                Issue.record("it throws \(String(describing: error))")
                return
            }
            #expect(reason.contains("connection"))
            try server.start()
            _ = try await store.append([Mutation("c1")], under: Self.rules, at: Self.date)
            #expect(try await store.totals().pending == 21)
        }

        @Test("a connection that the server closed is replaced")
        func terminated() async throws {
            let store = try await PostgreSQLStore(try TestDatabase.engine(connections: 1), schema: database.schema)
            let victim = try TestDatabase.engine(connections: 1)
            let pid = try #require(try await victim.run("SELECT pg_backend_pid()::int8", []).first?.first)
            _ = try await database.run("SELECT pg_terminate_backend($1::int8::int4)", [pid])
            while try await !database.run("SELECT 1::int8 FROM pg_stat_activity WHERE pid = $1::int8", [pid]).isEmpty {}
            // The server may stop listing a connection before it closes it: then this use finds the connection closed.
            _ = try? await victim.run("SELECT 6::int8", [])
            #expect(try await victim.run("SELECT 7::int8", []) == [[.integer(7)]])
            _ = store
        }

        @Test("a server that stands still causes an error within the deadline, and the connection is not reused")
        func standstill() async throws {
            let engine = try TestDatabase.engine(connections: 1, deadline: .seconds(2))
            let stopped = Locked<pid_t?>(nil)
            // In a transaction, because the connection of a transaction is not closed as idle.
            let error = await #expect(throws: StatementError.self) {
                try await engine.transaction { session in
                    let pid = try #require(
                        try await session.run("SELECT pg_backend_pid()::int8", []).first?.first?.integer)
                    stopped.withLock { $0 = pid_t(pid) }
                    kill(pid_t(pid), SIGSTOP)
                    try await session.run("SELECT 1::int8", [])
                }
            }
            #expect(error?.isOutcomeUnknown == true)
            #expect(try await engine.run("SELECT 2::int8", []) == [[.integer(2)]])
            if let pid = stopped.withLock({ $0 }) { kill(pid, SIGCONT) }
        }

        @Test("a statement that takes too long also ends on the server")
        func deadline() async throws {
            let engine = try TestDatabase.engine(connections: 1, deadline: .seconds(2))
            await #expect(throws: StatementError.self) { try await engine.run("SELECT pg_sleep(60)", []) }
            #expect(try await engine.run("SELECT 1::int8", []) == [[.integer(1)]])
        }

        @Test("a read-only database is reported as such")
        func readOnly() async throws {
            _ = try await database.store()
            let engine = try TestDatabase.engine("options='-c default_transaction_read_only=on'")
            let store = try await PostgreSQLStore(engine, schema: database.schema)
            let error = await #expect(throws: SyncQueueError.self) {
                try await store.append([Mutation("a1")], under: Self.rules, at: Self.date)
            }
            #expect("\(String(describing: error))".contains("read-only"))
        }

        @Test("errors contain neither the password nor the connection string")
        func secrets() async throws {
            for connection in [
                "postgresql://someone:hunter2@127.0.0.1:1/nowhere", "host=/nonexistent password=hunter2",
                "host=127.0.0.1 port=1 password=hunter2 options=hunter2", "hunter2", "host='hunter2",
                "postgresql://hunter2@[",
                "passwrod=hunter2",
            ] {
                do {
                    let engine = try PostgreSQLEngine(connection, deadline: .seconds(5))
                    _ = try await PostgreSQLStore(engine)
                    Issue.record("it connects")
                } catch {
                    #expect(!"\(error)".contains("hunter2"), "\(error)")
                    #expect(!String(reflecting: error).contains("hunter2"))
                }
            }
        }

        @Test("missing tables are an error, not a silent loss")
        func dropped() async throws {
            let store = try await database.store()
            _ = try await database.run("DROP SCHEMA {} CASCADE")
            await #expect(throws: SyncQueueError.self) {
                try await store.append([Mutation("a1")], under: Self.rules, at: Self.date)
            }
            await #expect(throws: SyncQueueError.self) { try await store.heads(after: .min, limit: 1) }
        }

        @Test("errors from deadlocks and other writers do not reach the caller")
        func crowd() async throws {
            let stores = [try await database.store(), try await database.store()]
            try await withThrowingDiscardingTaskGroup { group in
                for task in 0..<8 {
                    group.addTask {
                        for round in 0..<10 {
                            var mutations = (0..<6).map { lane in
                                Mutation(
                                    id: "\(task).\(round).\(lane)", entity: "\(lane)", kind: "k", operation: .update)
                            }
                            if task % 2 == 0 { mutations.reverse() }
                            _ = try await stores[task % 2].append(mutations, under: AppendRules(), at: Self.date)
                            if round % 3 == 0 {
                                let heads = try await stores[0].heads(after: .min, limit: 3).map(\.position)
                                _ = try await stores[0].apply(
                                    heads.map { .acknowledged($0) }, claiming: [], keeping: DeadLimits(), at: Self.date)
                            }
                        }
                    }
                }
            }
            let totals = try await stores[0].totals()
            #expect(try await Int64(totals.pending) == database.count("sync_mutation"))
        }
    }

    /// Loses the answer to a commit, or to a rollback.
    private struct LosingEngine: StatementEngine {
        struct Undone: Error {}

        let engine: PostgreSQLEngine
        let commits: Bool

        func run(_ statement: String, _ values: [StatementValue]) async throws -> [[StatementValue]] {
            try await engine.run(statement, values)
        }

        func transaction<R: Sendable>(
            _ body: @Sendable (_ session: any StatementSession) async throws -> R
        ) async throws -> R {
            do {
                _ = try await engine.transaction { session in
                    _ = try await body(session)
                    if !commits { throw Undone() }
                }
            } catch is Undone {}
            throw StatementError(message: "The connection was lost.", isOutcomeUnknown: true)
        }
    }
#endif
