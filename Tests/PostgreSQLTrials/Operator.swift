#if PostgreSQL
    import Foundation
    import PostgreSQLServer
    import Resilience
    import ResilienceSync

    /// Retries, clears and discards many rows by an operator's commands, while another program enqueues.
    struct Operator {
        let count: Int
        let entities: Int

        private final class CountingEngine: StatementEngine {
            let engine: PostgreSQLEngine
            let statements = Locked(0)

            init(_ connection: String) throws { engine = try PostgreSQLEngine(connection) }

            func run(_ statement: String, _ values: [StatementValue]) async throws -> [[StatementValue]] {
                statements.withLock { $0 += 1 }
                return try await engine.run(statement, values)
            }

            func transaction<R: Sendable>(
                _ body: @Sendable (_ session: any StatementSession) async throws -> R
            ) async throws -> R { try await engine.transaction(body) }
        }

        func run() async throws {
            // The statistics are of the time before anything died.
            let server = try PostgreSQLServer(
                ["fsync=on", "shared_buffers=1GB", "max_wal_size=8GB", "autovacuum=off"])
            let engine = try CountingEngine(server.connection)
            let hand = try PostgreSQLEngine(server.connection, deadline: .seconds(3_600))
            let queue = SyncQueue("trial", store: try await PostgreSQLStore(engine), pipeline: Pipeline("trial") {}) {
                _ in
            }
            let other = try await PostgreSQLStore(hand)
            say("\(count) rows, \(entities) entities")
            let commands: [(String, isDead: Bool, @Sendable () async throws -> Int)] = [
                ("retryDead", true, { try await queue.retryDead() }), ("clear", false, { try await queue.clear() }),
                ("discardDead", true, { try await queue.discardDead() }),
            ]
            for (_, isDead, command) in commands {
                try await fill(hand, 10, isDead: isDead)
                try await queue.pause()
                _ = try await command()
            }
            for (name, isDead, command) in commands {
                try await fill(hand, count, isDead: isDead)
                try await queue.pause()
                engine.statements.withLock { $0 = 0 }
                let enqueuing = Task { try await enqueue(in: other, as: name) }
                let began = SystemTimeBase.shared.now
                let result = await Task { try await command() }.result
                let seconds = began.duration(to: SystemTimeBase.shared.now) / .seconds(1)
                enqueuing.cancel()
                let (enqueued, longest) = try await enqueuing.value
                let end =
                    switch result {
                    case .success(let changed): "\(changed) rows"
                    case .failure(let error): "\(error)"
                    }
                say(
                    """
                    \(name): \(end), \(String(format: "%.1f", seconds)) s, \(engine.statements.withLock { $0 }) statements; \
                    the slowest of \(enqueued) enqueues took \(Int(longest / .milliseconds(1))) ms
                    """)
            }
            _ = server
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

        /// - Returns: How many it enqueued, and how long the slowest took.
        private func enqueue(in store: PostgreSQLStore, as name: String) async throws -> (Int, Duration) {
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
#endif
