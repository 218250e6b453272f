#if PostgreSQL
    import Foundation
    import PostgreSQLServer
    import Resilience
    import ResilienceSync

    /// How many statements the store under trial has run.
    private let statements = Locked(0)

    /// Retries, clears, discards and drains many rows, while another program enqueues.
    struct Operator {
        let count: Int
        let entities: Int

        private typealias Command = (name: String, isDead: Bool, run: @Sendable (SyncQueue) async throws -> Int)

        private static let commands: [Command] = [
            ("retryDead", true, { try await $0.retryDead() }), ("clear", false, { try await $0.clear() }),
            ("discardDead", true, { try await $0.discardDead() }),
            (
                "drain", false,
                { queue in
                    try await queue.resume()
                    var delivered = 0
                    while true {
                        let report = try await queue.drain()
                        delivered += report.delivered
                        if report.end == .drained { return delivered }
                    }
                }
            ),
        ]

        private final class CountingEngine: StatementEngine {
            let engine: PostgreSQLEngine

            init(_ connection: String) throws { engine = try PostgreSQLEngine(connection) }

            func run(_ statement: String, _ values: [StatementValue]) async throws -> [[StatementValue]] {
                statements.withLock { $0 += 1 }
                return try await engine.run(statement, values)
            }

            func transaction<R: Sendable>(
                _ body: @Sendable (_ session: any StatementSession) async throws -> R
            ) async throws -> R { try await engine.transaction(body) }
        }

        func postgreSQL() async throws {
            // Without autovacuum, the statistics date from before any mutation died.
            let server = try PostgreSQLServer(
                ["fsync=on", "shared_buffers=1GB", "max_wal_size=8GB", "autovacuum=off"])
            let hand = try PostgreSQLEngine(server.connection, deadline: .seconds(3_600))
            let store = try await PostgreSQLStore(try CountingEngine(server.connection))
            let other = try await PostgreSQLStore(hand)
            for command in Self.commands {
                try await fill(hand, 10, isDead: command.isDead)
                _ = try await measure(command, store, beside: nil)
            }
            say("PostgreSQL, \(count) rows, \(entities) entities")
            for command in Self.commands {
                try await fill(hand, count, isDead: command.isDead)
                say(try await measure(command, store, beside: other))
            }
            _ = server
        }

        /// - Parameter other: The other program's store.
        private func measure(
            _ command: Command, _ store: any MutationStore, beside other: (any MutationStore)?
        ) async throws -> String {
            let queue = SyncQueue(
                store: store, pipeline: Pipeline("trial") {},
                configuration: SyncQueueConfiguration(maxInFlight: 4, pageSize: 100),
                handlers: [.batch("note", upTo: 100) { $0.map { _ in .success(()) } }])
            try await queue.pause()
            statements.withLock { $0 = 0 }
            let enqueuing = Task {
                if let other { try await enqueue(in: other, as: command.name) } else { (0, Duration.zero) }
            }
            let began = SystemTimeBase.shared.now
            let result = await Task { try await command.run(queue) }.result
            let seconds = began.duration(to: SystemTimeBase.shared.now) / .seconds(1)
            enqueuing.cancel()
            let (enqueued, longest) = try await enqueuing.value
            await queue.stop()
            let end =
                switch result {
                case .success(let changed): "\(changed) rows"
                case .failure(let error): "\(error)"
                }
            return """
                \(command.name): \(end), \(String(format: "%.1f", seconds)) s, \(statements.withLock { $0 }) statements; \
                the slowest of \(enqueued) enqueues took \(Int(longest / .milliseconds(1))) ms
                """
        }

        private func fill(_ engine: PostgreSQLEngine, _ count: Int, isDead: Bool) async throws {
            let (mutation, lane) = ("resilience.sync_mutation", "resilience.sync_lane")
            for statement in [
                "DELETE FROM \(mutation)", "DELETE FROM \(lane)", "DELETE FROM resilience.sync_total",
                """
                INSERT INTO \(lane) (lane, entity)
                SELECT lane, convert_to('entity-' || lane, 'UTF8') FROM generate_series(1, \(entities)) lane
                """,
                "SELECT setval(pg_get_serial_sequence('\(lane)', 'lane'), 1000000000)",
                """
                INSERT INTO \(mutation)
                (lane, state, death, died_at, created_at, queued_at, operation, attempted, id, kind, idempotency_key, payload)
                SELECT number % \(entities) + 1, 0, 0, NULL, 0, 0, 0, \(isDead),
                convert_to(number::text, 'UTF8'), 'note', 'key', decode(repeat('00', 100), 'hex')
                FROM generate_series(1, \(count)) number
                """,
                "ANALYZE \(mutation)",
                isDead ? "UPDATE \(mutation) SET state = 1, death = position, died_at = 0" : "SELECT 1",
                """
                UPDATE \(lane) l SET head = m.head
                FROM (SELECT lane, min(position) AS head FROM \(mutation) WHERE state = 0 GROUP BY lane) m
                WHERE m.lane = l.lane
                """,
                "INSERT INTO resilience.sync_total VALUES (\(isDead ? "0, 0, " : "")\(count), \(count * 100)\(isDead ? "" : ", 0, 0"))",
            ] { try await engine.run(statement) }
        }

        /// - Returns: How many mutations it enqueued, and how long the slowest took.
        private func enqueue(in store: any MutationStore, as name: String) async throws -> (Int, Duration) {
            var (number, longest) = (0, Duration.zero)
            while !Task.isCancelled {
                number += 1
                let mutation = Mutation(
                    id: "\(name)-\(number)", entity: "entity-\(Int.random(in: 1...entities))", kind: "note")
                let began = SystemTimeBase.shared.now
                _ = try await store.append([mutation], under: AppendRules(coalescing: .off), at: Date())
                longest = max(longest, began.duration(to: SystemTimeBase.shared.now))
                try? await SystemTimeBase.shared.sleep(for: .milliseconds(5))
            }
            return (number, longest)
        }
    }

    #if SQLite && os(Linux)
        import CSQLiteSystem

        extension Operator {
            func sqlite() async throws {
                say("SQLite, \(count) rows, \(entities) entities")
                for command in Self.commands {
                    let folder = FileManager.default.temporaryDirectory.appending(path: "operator-\(UUID().uuidString)")
                    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                    defer { try? FileManager.default.removeItem(at: folder) }
                    let path = folder.appending(path: "queue.sqlite").path
                    let other = try SQLiteStore(path: path, check: .none)
                    try await fill(other, isDead: command.isDead)
                    // Connections opened from here on count their statements.
                    let count: @convention(c) (OpaquePointer?, OpaquePointer?, OpaquePointer?) -> Int32 = {
                        connection, _, _ in
                        sqlite3_trace_v2(
                            connection, UInt32(SQLITE_TRACE_PROFILE),
                            { _, _, _, _ in
                                statements.withLock { $0 += 1 }
                                return SQLITE_OK
                            }, nil)
                    }
                    // SQLite calls it with these three arguments, although its header says otherwise.
                    sqlite3_auto_extension(unsafeBitCast(count, to: (@convention(c) () -> Void).self))
                    let store = try SQLiteStore(path: path, check: .none)
                    sqlite3_reset_auto_extension()
                    say(try await measure(command, store, beside: other))
                }
            }

            private func fill(_ store: SQLiteStore, isDead: Bool) async throws {
                for start in stride(from: 0, to: count, by: 1_000) {
                    let mutations = (start..<min(start + 1_000, count)).map { number in
                        Mutation(
                            id: "\(number)", entity: "entity-\(number % entities + 1)", kind: "note",
                            payload: Data(count: 100))
                    }
                    _ = try await store.append(mutations, under: AppendRules(coalescing: .off), at: Date())
                }
                guard isDead else { return }
                while case let page = try await store.pending(after: .min, limit: 1_000), !page.isEmpty {
                    let deaths = page.map { MutationChange.died($0.position, error: "no", rest: .skip) }
                    _ = try await store.apply(deaths, claiming: [], keeping: DeadLimits(), at: Date())
                }
            }
        }
    #endif
#endif
