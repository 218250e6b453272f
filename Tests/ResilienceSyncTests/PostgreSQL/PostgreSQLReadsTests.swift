#if PostgreSQL
    import Foundation
    import Resilience
    @testable import ResilienceSync
    import Testing

    /// A store's statement never reads much more than it changes or returns, whatever is stored and whatever the
    /// statistics say (P70).
    @Suite(.timeLimit(.minutes(20)), .postgreSQL) struct PostgreSQLReadsTests {
        /// The tables' contents, according to the statistics.
        enum Statistics: CaseIterable { case nothing, empty, onePendingLane, oneDeadLane }

        private static let date = Date(timeIntervalSinceReferenceDate: 700_000_000)
        private static let count = 3_000

        /// Counts the rows and index entries that the server reads for each statement.
        private final class CountingEngine: StatementEngine {
            let engine: PostgreSQLEngine
            let schema: String
            let read = Locked<Int64>(0)

            init(schema: String) throws {
                engine = try TestDatabase.engine(connections: 1)
                self.schema = schema
            }

            func run(_ statement: String, _ values: [StatementValue]) async throws -> [[StatementValue]] {
                try await transaction { try await $0.run(statement, values) }
            }

            func transaction<R: Sendable>(
                _ body: @Sendable (_ session: any StatementSession) async throws -> R
            ) async throws -> R {
                try await engine.transaction { session in
                    let before = try await self.count(session)
                    let result = try await body(session)
                    let after = try await self.count(session)
                    read.withLock { $0 += after - before }
                    return result
                }
            }

            private func count(_ session: any StatementSession) async throws -> Int64 {
                let rows = try await session.run(
                    """
                    SELECT sum(pg_stat_get_xact_tuples_returned(c.oid) + pg_stat_get_xact_tuples_fetched(c.oid))::int8
                    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                    WHERE n.nspname = $1::text AND c.relkind IN ('r', 'i')
                    """, [.text(schema)])
                return rows.first?.first?.integer ?? 0
            }
        }

        @Test(
            "each statement reads at most a constant times the rows that it changes or returns (P70)",
            arguments: Statistics.allCases, [PostgreSQLStore.Sending.exclusive, .shared])
        func reads(statistics: Statistics, sending: PostgreSQLStore.Sending) async throws {
            let database = try PostgreSQLFixture()
            func store(_ engine: CountingEngine) async throws -> PostgreSQLStore {
                try await PostgreSQLStore(engine, schema: database.schema, sending: sending, tellsOthers: false)
            }
            let old = try CountingEngine(schema: database.schema)
            let oldStore = try await store(old)
            for table in ["mutation", "lane", "late", "total", "worker", "sender", "setting"] {
                _ = try await database.run("ALTER TABLE {}.sync_\(table) SET (autovacuum_enabled = off)")
            }
            if statistics == .empty {
                // The state of a drained queue.
                for table in ["mutation", "lane"] { _ = try await database.run("VACUUM {}.sync_\(table)") }
            } else if statistics != .nothing {
                let dead = statistics == .oneDeadLane ? Self.count : 0
                try await fill(database, lanes: 1, dead: dead, pending: Self.count - dead)
                for table in ["mutation", "lane"] { _ = try await database.run("ANALYZE {}.sync_\(table)") }
                _ = try await database.run("TRUNCATE {}.sync_mutation, {}.sync_lane, {}.sync_total")
            }
            // Its connection keeps the plans that were made for this little data.
            try await fill(database, lanes: 10, dead: 20, pending: 20)
            try await use(oldStore, 2) { try await $1() }
            try await fill(database, lanes: Self.count / 3, dead: Self.count, pending: Self.count)
            let new = try CountingEngine(schema: database.schema)
            for (engine, store) in [(old, oldStore), (new, try await store(new))] {
                try await use(store, 10) { what, body in
                    engine.read.withLock { $0 = 0 }
                    try await body()
                    let read = engine.read.withLock { $0 }
                    #expect(read < 1_000, "\(what) reads \(read)\(engine === old ? ", by old plans" : "")")
                }
                for positions in [store.pendingPositions, store.deadPositions] {
                    engine.read.withLock { $0 = 0 }
                    let count = try await positions().count
                    #expect(engine.read.withLock { $0 } < 3 * count + 1_000)
                }
            }
        }

        /// Does everything that a queue and an operator ask of a store, with this many mutations at a time.
        private func use(
            _ store: PostgreSQLStore, _ count: Int,
            _ step: (_ what: String, _ body: () async throws -> Void) async throws -> Void
        ) async throws {
            let queue = UUID()
            let rules = AppendRules(maxCount: 1_000_000)
            try await step("locking") { _ = try await store.lock(for: queue) }
            var heads: [LaneHead] = []
            try await step("looking") { heads = try await store.heads(after: .min, limit: count) }
            #expect(heads.count == count)
            try await step("claiming") {
                let claimed = try await store.apply([], claiming: heads.map(\.position), at: Self.date)
                #expect(claimed.count == count)
            }
            try await step("acknowledging") {
                _ = try await store.apply(heads.map { .acknowledged($0.position) }, claiming: [], at: Self.date)
            }
            let more = try await store.heads(after: .min, limit: count)
            for change in [
                { .failed($0, error: "") }, { .answered($0) }, { .died($0, error: "", rest: .skip) },
                { .died($0, error: "", rest: .block) },
            ] as [(Int64) -> MutationChange] {
                try await step("\(change(1))") {
                    _ = try await store.apply(more.map { change($0.position) }, claiming: [], at: Self.date)
                }
            }
            let last = try await store.heads(after: more.last?.position ?? 0, limit: 1)
            try await step("killing the rest") {
                _ = try await store.apply(
                    last.map { .died($0.position, error: "", rest: .killRest) }, claiming: [], at: Self.date)
            }
            let dead = try await store.totals().dead
            try await step("dropping") {
                let limits = DeadLimits(maxCount: dead - count)
                let applied = try await store.apply([], claiming: [], keeping: limits, at: Self.date)
                #expect(applied.dropped.count == count)
            }
            try await step("appending") {
                let mutations = (0..<count).map { number in
                    Mutation(id: UUID().uuidString, entity: "entity-\(number + 1)", kind: "note", operation: .update)
                }
                _ = try await store.append(mutations, under: rules, at: Self.date)
            }
            let due = Self.date + 60
            try await step("appending what waits") {
                let mutations = (0..<count).map { _ in
                    Mutation(id: UUID().uuidString, entity: UUID().uuidString, kind: "note", notBefore: due)
                }
                _ = try await store.append(mutations, under: rules, at: Self.date)
            }
            try await step("appending what is urgent, in lanes that are there") {
                let mutations = (0..<count).map { number in
                    Mutation(id: UUID().uuidString, entity: "entity-\(number + 1)", kind: "note", isUrgent: true)
                }
                _ = try await store.append(mutations, under: rules, at: Self.date)
            }
            try await step("looking for urgent lanes") {
                let found = try await store.heads(after: .max, limit: count, at: .distantPast)
                #expect(found.urgent.count == count)
            }
            try await step("looking on their date") {
                let next = try await store.heads(after: .max, limit: count, at: due).nextDue
                #expect(next?.timeIntervalSinceReferenceDate == 1e18)
            }
            try await step("listing what is pending") { _ = try await store.pending(after: .min, limit: count) }
            try await step("listing what is dead") { _ = try await store.dead(after: .min, limit: count) }
            let page = try await store.dead(after: .min, limit: 2 * count).map(\.position)
            try await step("reviving") {
                let revived = try await store.revive(Array(page.prefix(count)), evenOvertaken: true, at: Self.date)
                #expect(revived == count)
            }
            try await step("reviving what is not overtaken") {
                _ = try await store.revive(Array(page.suffix(count)), evenOvertaken: false, at: Self.date)
            }
            try await step("discarding") { _ = try await store.discard(page) }
            let pending = try await store.pending(after: .min, limit: count).map(\.position)
            try await step("removing") { _ = try await store.removePending(pending) }
            try await step("sealing") { _ = try await store.seal() }
            try await step("counting") { _ = try await store.totals() }
            try await step("asking who has heads") { _ = try await store.othersHaveHeads() }
            try await step("asking what is pending") {
                _ = try await store.pendingEntities(among: (0..<count).map { "entity-\($0)" })
            }
            await store.unlock(for: queue)
        }

        /// The rows are made without the store, which would take long.
        private func fill(_ database: PostgreSQLFixture, lanes: Int, dead: Int, pending: Int) async throws {
            for statement in [
                """
                INSERT INTO {}.sync_lane (entity) SELECT convert_to('entity-' || number, 'UTF8')
                FROM generate_series(1, \(lanes)) number
                WHERE NOT EXISTS (SELECT 1 FROM {}.sync_lane WHERE entity = convert_to('entity-' || number, 'UTF8'))
                """,
                """
                INSERT INTO {}.sync_mutation
                (lane, state, death, died_at, created_at, queued_at, operation, attempted, id, kind, idempotency_key, payload)
                SELECT l.lanes[number % \(lanes) + 1], CASE WHEN number <= \(dead) THEN 1 ELSE 0 END,
                number, CASE WHEN number <= \(dead) THEN 0 END, 0, 0, 0, number <= \(dead),
                convert_to(gen_random_uuid()::text, 'UTF8'), 'note', 'key', ''
                FROM generate_series(1, \(dead + pending)) number, (SELECT array_agg(lane) AS lanes FROM {}.sync_lane
                WHERE convert_from(entity, 'UTF8') LIKE 'entity%') l
                """,
                """
                UPDATE {}.sync_lane l SET head = m.head
                FROM (SELECT lane, min(position) AS head FROM {}.sync_mutation WHERE state = 0 AND not_before IS NULL GROUP BY lane) m
                WHERE m.lane = l.lane
                """,
                // As many mutations wait for a date.
                """
                WITH made AS (
                    INSERT INTO {}.sync_lane (entity) SELECT convert_to('later-' || gen_random_uuid(), 'UTF8')
                    FROM generate_series(1, \(pending)) RETURNING lane
                ) INSERT INTO {}.sync_mutation
                (lane, not_before, created_at, queued_at, operation, id, kind, idempotency_key, payload)
                SELECT lane, 1e18, 0, 0, 0, convert_to(gen_random_uuid()::text, 'UTF8'), 'note', 'key', '' FROM made
                """,
                "INSERT INTO {}.sync_total VALUES (\(pending), 0, \(dead), 0)",
            ] { _ = try await database.run(statement) }
        }
    }
#endif
