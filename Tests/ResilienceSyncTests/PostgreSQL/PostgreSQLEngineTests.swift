#if PostgreSQL
    import Foundation
    import PostgreSQLServer
    import Resilience
    @testable import ResilienceSync
    import ResilienceTesting
    import TestSupport
    import Testing

    /// The engine, sessions, and the store on faulty engines.
    @Suite(.timeLimit(.minutes(20)), .postgreSQL) struct PostgreSQLEngineTests {
        private let database: PostgreSQLFixture

        init() throws { database = try PostgreSQLFixture() }

        private static let rules = AppendRules(coalescing: .off)
        /// The rules of a queue that already holds one mutation.
        private static let full = AppendRules(maxCount: 1, coalescing: .off)
        private static let date = Date(timeIntervalSinceReferenceDate: 700_000_000)

        // MARK: Isolation

        @Test(
            "single statements are READ COMMITTED under any default of the database",
            arguments: ["repeatable read", "serializable"], [true, false])
        func isolation(level: String, setsTimeouts: Bool) async throws {
            let name = "iso_\(database.schema)".lowercased()
            _ = try await database.run("CREATE DATABASE \(name)")
            _ = try await database.run("ALTER DATABASE \(name) SET default_transaction_isolation = '\(level)'")
            let engine = try TestDatabase.engine("dbname=\(name)", connections: 1, setsTimeouts: setsTimeouts)
            #expect(
                try await engine.run("SELECT current_setting('transaction_isolation')") == [[.text("read committed")]])
            let fixture = Fixture()
            let queue = fixture.queue(try await PostgreSQLStore(engine))
            try await queue.enqueue(Mutation("a1"))
            #expect(try await queue.flush().end == .drained)
            // An error leaves no transaction open.
            await #expect(throws: StatementError.self) { try await engine.run("SELECT 1/0") }
            #expect(try await engine.run("SELECT 1::int8") == [[.integer(1)]])
        }

        // MARK: Sessions

        @Test("two concurrent appends to one transaction don't undo each other", arguments: [true, false])
        func overlapping(isOurEngine: Bool) async throws {
            let store = try await database.store()
            _ = try await store.append([Mutation("dup")], under: Self.rules, at: Self.date)
            let steps = Steps(isHeld: true)
            try await database.engine.transaction { session in
                let first: any StatementSession =
                    isOurEngine ? session : ForeignSession(session: session, steps: steps, isSlow: true)
                let second: any StatementSession =
                    isOurEngine ? session : ForeignSession(session: session, steps: steps, isSlow: false)
                async let refused = store.append(
                    [Mutation("dup2")], under: Self.full, at: Self.date, joining: first)
                if !isOurEngine { await steps.waitUntilSavepoint() }
                async let added = store.append([Mutation("n1")], under: Self.rules, at: Self.date, joining: second)
                if !isOurEngine {
                    await steps.waitUntilKey()
                    steps.release()
                }
                _ = try await added
                do {
                    _ = try await refused
                    Issue.record("it is stored")
                } catch {
                    guard case .full = error as? SyncQueueError else { Issue.record("\(error)"); return }
                }
            }
            #expect(try await store.pending(after: .min, limit: 9).map(\.mutation.id) == ["dup", "n1"])
            #expect(!steps.isInterleaved)
        }

        @Test("with many concurrent appends and statements in one transaction, everything reported as stored is there")
        func crowdInOneTransaction() async throws {
            let (store, schema) = (try await database.store(), database.schema)
            _ = try await store.append([Mutation("dup")], under: Self.rules, at: Self.date)
            _ = try await database.run("CREATE TABLE {}.note (id int8 PRIMARY KEY)")
            try await database.engine.transaction { session in
                await withTaskGroup { group in
                    for number in 0..<12 {
                        group.addTask {
                            switch number % 3 {
                            case 0:
                                await #expect(throws: SyncQueueError.self) {
                                    try await store.append(
                                        [Mutation("full")], under: Self.full, at: Self.date, joining: session)
                                }
                            case 1:
                                await #expect(throws: Never.self) {
                                    try await session.run(
                                        "INSERT INTO \"\(schema)\".note VALUES ($1)", [.integer(Int64(number))])
                                }
                            default:
                                await #expect(throws: Never.self) {
                                    try await store.append(
                                        [Mutation("n\(number)")], under: Self.rules, at: Self.date, joining: session)
                                }
                            }
                        }
                    }
                }
            }
            #expect(try await database.count("note") == 4)
            #expect(try await store.totals().pending == 5)
        }

        @Test("a session kept beyond its transaction throws, and does not touch the connection")
        func escaped() async throws {
            let engine = try TestDatabase.engine(connections: 1)
            let store = try await PostgreSQLStore(engine, schema: database.schema)
            let kept = Box<any StatementSession>()
            try await engine.transaction { kept.value = $0 }
            let session = try #require(kept.value)
            try await engine.transaction { other in
                _ = try await store.append([Mutation("a1")], under: Self.rules, at: Self.date, joining: other)
                let error = await #expect(throws: StatementError.self) { try await session.run("ROLLBACK", []) }
                #expect(error?.message.contains("has ended") == true)
                await #expect(throws: SyncQueueError.self) {
                    try await store.append([Mutation("b1")], under: Self.rules, at: Self.date, joining: session)
                }
            }
            #expect(try await store.pending(after: .min, limit: 9).map(\.mutation.id) == ["a1"])
        }

        // MARK: The pool

        @Test("a transaction that waits for a connection ends with its task; a single statement has its own connection")
        func waiting() async throws {
            let engine = try TestDatabase.engine(connections: 2)
            let store = try await PostgreSQLStore(engine, schema: database.schema)
            try await engine.transaction { _ in
                // The lease can be renewed, although no transaction can begin.
                let lock = try await store.lock(for: UUID())
                #expect(lock == .taken)
                let append = Task { try await store.append([Mutation("a1")], under: Self.rules, at: Self.date) }
                append.cancel()
                await #expect(throws: CancellationError.self) { try await append.value }
            }
            #expect(try await store.totals().pending == 0)
            // The connections are free again.
            _ = try await store.append([Mutation("a2")], under: Self.rules, at: Self.date)
            #expect(try await store.totals().pending == 1)
        }

        // MARK: Settings

        @Test(
            "a deadline, a lease and an interval of any length work",
            arguments: [.nanoseconds(1), .seconds(30 * 86_400), .seconds(31_536_000 * 300_000), .seconds(Int64.max)]
                as [Duration])
        func lengths(length: Duration) async throws {
            let store = try await PostgreSQLStore(
                database.engine, schema: database.schema, lease: length, pollInterval: length)
            #expect((.seconds(1)...(.seconds(86_400))).contains(store.lease))
            #expect((.milliseconds(100)...(.seconds(86_400))).contains(store.pollInterval))
            #expect(try await store.lock(for: UUID()) == .taken)
            let engine = try TestDatabase.engine(deadline: length)
            if length > .seconds(1) {
                #expect(try await engine.run("SELECT 1::int8") == [[.integer(1)]])
            }
        }

        @Test(
            "a password that was parsed as another part of the address is not shown",
            arguments: [
                "postgresql://u:sec/ret@127.0.0.1:1/postgres", "postgresql://u:sec@ret@127.0.0.1:1/postgres",
                "postgresql://u:sec?ret@127.0.0.1:1/postgres", "postgresql://u:sec@@ret@127.0.0.1:1/postgres",
                "postgresql://u:sec?host=@ret@127.0.0.1:1/postgres", "host=127.0.0.1 port=sec@ret",
                "postgresql://127.0.0.1:1/postgres?sslpassword=secret&sslmode=secret", "host=ret.invalid password=sec",
                "host=127.0.0.1 password=sec ret", "host=/nonexistent port=1 user=sec@ret password=sec@ret",
            ])
        func misread(connection: String) async throws {
            do {
                _ = try await PostgreSQLEngine(connection, deadline: .seconds(20)).run("SELECT 1::int8")
                Issue.record("it connects")
            } catch {
                let text = "\(error)"
                #expect(!text.contains("ret@") && !text.contains("sec@") && !text.contains("\"sec"), "\(text)")
                #expect(!text.contains("ret.invalid") && !text.contains("secret"), "\(text)")
                if !connection.contains("/nonexistent") { #expect(text.contains("%40"), "\(text)") }
            }
        }

        @Test("a short password does not garble an error, and is hidden where it stands as a word of its own")
        func shortPassword() async throws {
            let error = await #expect(throws: StatementError.self) {
                try await PostgreSQLEngine("host=/nonexistent port=1 password=e").run("SELECT 1::int8")
            }
            #expect(error?.message.contains("No such file or directory") == true, "\(String(describing: error))")
            #expect(LibPQConnection.clean("near \"e\" there\nhere", of: ["e"]) == "near \"…\" there here")
            #expect(LibPQConnection.clean("near \"hunter2\", xhunter2x", of: ["", "hunter2"]) == "near \"…\", x…x")
        }

        @Test("a statement with a NUL is not sent")
        func nul() async throws {
            _ = try await database.store()
            _ = try await database.run("CREATE TABLE {}.note (id int8)")
            _ = try await database.run("INSERT INTO {}.note VALUES (1), (2)")
            await #expect(throws: StatementError.self) { try await database.run("DELETE FROM {}.note \0 WHERE id = 1") }
            #expect(try await database.count("note") == 2)
        }

        // MARK: An engine that returns something else

        @Test(
            "rows of unexpected types or lengths are an error, and nothing is sent or lost",
            arguments: OddEngine.Kind.allCases)
        private func nonsense(kind: OddEngine.Kind) async throws {
            let fixture = Fixture()
            let store = try await database.store()
            _ = try await store.append([Mutation("a1")], under: Self.rules, at: Self.date)
            let odd = try await PostgreSQLStore(
                OddEngine(engine: database.engine, kind: kind), schema: database.schema)
            for function in [
                { _ = try await odd.heads(after: .min, limit: 1) },
                { _ = try await odd.pending(after: .min, limit: 1) },
                { _ = try await odd.totals() },
                { _ = try await odd.discard([]) },
                { _ = try await odd.pendingEntities(among: ["a"]) },
                { _ = try await odd.append([Mutation("b1")], under: Self.rules, at: Self.date) },
                { _ = try await odd.apply([], claiming: [], keeping: DeadLimits(), at: Self.date) },
            ] as [() async throws -> Void] {
                let error = await #expect(throws: SyncQueueError.self) { try await function() }
                guard case .unreadable(_, let reason) = error else {
                    Issue.record("it throws \(String(describing: error))")
                    continue
                }
                #expect(reason.contains("The engine returned"))
            }
            let queue = fixture.queue(odd)
            _ = try? await queue.flush()
            #expect(try await store.pending(after: .min, limit: 9).map(\.mutation.id) == ["a1"])
        }

        @Test("a text instead of bytes is not read as an empty id")
        func textInsteadOfBytes() throws {
            var row: [StatementValue] = [
                .integer(2), .integer(7), .exactly("a1"), .exactly("a"), .exactly("k"), .integer(0), .exactly("key"),
                .real(0), .real(0), .integer(0), .integer(0), .null, .null, .integer(0), .integer(0), .null,
                .integer(0), .bytes(Data([1])),
            ]
            #expect(try PostgreSQLRow(row, path: "p").stored.mutation.id == "a1")
            for column in [2, 3, 4, 6, 11, 17] {
                let before = row[column]
                row[column] = .text("secret")
                let error = #expect(throws: SyncQueueError.self) { try PostgreSQLRow(row, path: "p").stored }
                #expect("\(String(describing: error))".contains("a text instead of a bytea"), "\(column)")
                #expect(!"\(String(describing: error))".contains("secret"))
                row[column] = before
            }
            row[2] = .bytes(Data([0xFF]))
            #expect(throws: SyncQueueError.self) { try PostgreSQLRow(row, path: "p").stored }
        }
    }

    /// Holds the first append after its savepoint until it is released, and records whether another comes between.
    private final class Steps: Sendable {
        private struct State {
            var keys = 0
            var isAtSavepoint = false
            var isHeld: Bool
            var open = 0
            var isInterleaved = false
            var waiting: [(isReady: @Sendable (State) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
        }

        private let state: Locked<State>

        init(isHeld: Bool) { state = Locked(State(isHeld: isHeld)) }

        var isInterleaved: Bool { state.withLock { $0.isInterleaved } }

        func waitUntilSavepoint() async { await wait { $0.isAtSavepoint } }
        func waitUntilKey() async { await wait { $0.keys == 2 || $0.isInterleaved } }
        func waitUntilReleased() async { await wait { !$0.isHeld } }
        func release() { change { $0.isHeld = false } }

        func began(_ statement: String) {
            change { state in
                if statement.hasPrefix("SAVEPOINT") {
                    state.open += 1
                    state.isInterleaved = state.isInterleaved || state.open > 1
                    state.isAtSavepoint = true
                } else if statement.hasPrefix("RELEASE") {
                    state.open -= 1
                }
            }
        }

        func sawKey() { change { $0.keys += 1 } }

        private func change(_ body: (inout State) -> Void) {
            let ready = state.withLock { state in
                body(&state)
                let now = state
                let ready = state.waiting.filter { $0.isReady(now) }
                state.waiting.removeAll { $0.isReady(now) }
                return ready
            }
            for waiter in ready { waiter.continuation.resume() }
        }

        private func wait(until isReady: @escaping @Sendable (State) -> Bool) async {
            await withCheckedContinuation { continuation in
                let isNow = state.withLock { state in
                    if isReady(state) { return true }
                    state.waiting.append((isReady, continuation))
                    return false
                }
                if isNow { continuation.resume() }
            }
        }
    }

    /// A session of another engine.
    private struct ForeignSession: StatementSession {
        let session: any StatementSession
        let steps: Steps
        let isSlow: Bool

        func run(_ statement: String, _ values: [StatementValue]) async throws -> [[StatementValue]] {
            steps.began(statement)
            let rows = try await session.run(statement, values)
            if statement.contains("pg_current_xact_id") { steps.sawKey() }
            if isSlow, statement.hasPrefix("SAVEPOINT") { await steps.waitUntilReleased() }
            return rows
        }
    }

    /// Returns rows that are too short, or texts instead of bytes and numbers.
    private struct OddEngine: StatementEngine {
        enum Kind: CaseIterable { case short, texts, none }

        let engine: any StatementEngine
        let kind: Kind

        func run(_ statement: String, _ values: [StatementValue]) async throws -> [[StatementValue]] {
            try await OddSession(session: engine, kind: kind).run(statement, values)
        }

        func transaction<R: Sendable>(
            _ body: @Sendable (_ session: any StatementSession) async throws -> R
        ) async throws -> R {
            try await engine.transaction { try await body(OddSession(session: $0, kind: kind)) }
        }
    }

    private struct OddSession: StatementSession {
        let session: any StatementSession
        let kind: OddEngine.Kind

        func run(_ statement: String, _ values: [StatementValue]) async throws -> [[StatementValue]] {
            let rows = try await session.run(statement, values)
            // The store can be opened, and locked.
            if ["pg_", "max(version)", "_lock\"(", "clock_timestamp"].contains(where: statement.contains) {
                return rows
            }
            return rows.map { row in
                switch kind {
                case .short: []
                case .texts: row.map { _ in .text("odd") }
                case .none: row.map { _ in .null }
                }
            }
        }
    }
#endif
