#if PostgreSQL
    import Foundation
    import PostgreSQLServer
    import Resilience
    import ResilienceSync

    /// Drains many rows with four workers of the queue, and with four handwritten workers, over the same engine.
    struct Drain {
        let count: Int
        let entities: Int
        let batch: Int

        private static let workers = 4

        func run() async throws {
            // The default, with `fsync`: a commit is on the disk.
            let server = try PostgreSQLServer(["fsync=on", "shared_buffers=1GB", "max_wal_size=8GB"])
            let connection = server.connection
            say("\(count) rows, \(entities) entities, batches of \(batch), \(Self.workers) workers")
            try await queue(connection)
            for way in ByHand.allCases { try await hand(connection, way) }
            _ = server
        }

        private func measure(
            _ what: String, _ connection: String, _ body: @Sendable () async throws -> Void
        ) async throws {
            let engine = try PostgreSQLEngine(connection)
            func written() async throws -> Int {
                let rows = try await engine.run("SELECT (pg_current_wal_insert_lsn() - '0/0')::int8", [])
                return if case .integer(let bytes)? = rows.first?.first { Int(bytes) } else { 0 }
            }
            let before = try await written()
            let began = SystemTimeBase.shared.now
            try await body()
            let seconds = began.duration(to: SystemTimeBase.shared.now) / .seconds(1)
            let bytes = (try await written() - before) / count
            say("\(what): \(Int(Double(count) / seconds)) rows/s, \(bytes) bytes of WAL a row")
        }

        private func queue(_ connection: String) async throws {
            let store = try await PostgreSQLStore(
                try PostgreSQLEngine(connection), sending: .shared, lanesAtOnce: batch, tellsOthers: false)
            try await measure("the queue, filled by 1 task, 1 000 at a time", connection) {
                for start in stride(from: 0, to: count, by: 1_000) {
                    let mutations = (start..<min(start + 1_000, count)).map { number in
                        Mutation(
                            id: "\(number)", entity: "entity-\(number % entities)", kind: "note",
                            payload: Data(count: 100),
                            idempotencyKey: "key-\(number)")
                    }
                    _ = try await store.append(mutations, under: AppendRules(coalescing: .off), at: Date())
                }
            }
            let seen = Shared(Seen(count: count, entities: entities))
            try await measure("the queue, drained", connection) {
                try await withThrowingDiscardingTaskGroup { group in
                    for _ in 0..<Self.workers {
                        group.addTask { [batch] in
                            let store = try await PostgreSQLStore(
                                try PostgreSQLEngine(connection), sending: .shared, lanesAtOnce: batch,
                                tellsOthers: false)
                            let queue = SyncQueue(
                                store: store, pipeline: Pipeline("drain") {},
                                configuration: SyncQueueConfiguration(maxInFlight: 4, pageSize: batch),
                                handlers: [
                                    .batch("note", upTo: batch) { mutations in
                                        seen.value.withLock { seen in
                                            for mutation in mutations { seen.see(mutation.id) }
                                        }
                                        return mutations.map { _ in .success(()) }
                                    }
                                ])
                            while try await queue.drain().end != .drained {}
                        }
                    }
                }
            }
            let (missing, twice, outOfOrder) = seen.value.withLock { ($0.missing, $0.twice, $0.outOfOrder) }
            say("  \(missing) lost, \(twice) sent twice, \(outOfOrder) out of order")
            if missing + twice + outOfOrder > 0 { exit(1) }
        }

        private final class Shared<Value: Sendable>: Sendable {
            let value: Locked<Value>

            init(_ value: Value) { self.value = Locked(value) }
        }

        private struct Seen: Sendable {
            private var isSeen: [Bool]
            private var last: [Int]
            var twice = 0
            var outOfOrder = 0
            var missing: Int { isSeen.count { !$0 } }

            init(count: Int, entities: Int) {
                isSeen = Array(repeating: false, count: count)
                last = Array(repeating: -1, count: entities)
            }

            mutating func see(_ id: String) {
                guard let number = Int(id), isSeen.indices.contains(number) else { return }
                if isSeen[number] { twice += 1 }
                isSeen[number] = true
                let entity = number % last.count
                if last[entity] > number { outOfOrder += 1 }
                last[entity] = number
            }
        }

        /// Handwritten code that adds the queue's guarantees one at a time, to show the cost of each.
        private enum ByHand: String, CaseIterable {
            /// Has no order within an entity, no lease, and no failure count; the transaction stays open while the
            /// worker sends.
            case deleted = "by hand, deleted by the transaction that sends"
            case claimed = "by hand, claims counted and committed before sending"
            case ordered = "by hand, and of an entity one at a time, in order"
        }

        private func hand(_ connection: String, _ way: ByHand) async throws {
            let engine = try PostgreSQLEngine(connection)
            try await engine.run("DROP TABLE IF EXISTS hand, hand_lane", [])
            try await engine.run(
                "CREATE TABLE hand (id int8 PRIMARY KEY, entity bytea, payload bytea, claims int8 NOT NULL DEFAULT 0)",
                [])
            if way == .ordered {
                try await engine.run("CREATE INDEX ON hand (entity, id)", [])
                try await engine.run("CREATE TABLE hand_lane (entity bytea PRIMARY KEY, head int8, worker int8)", [])
                try await engine.run("CREATE INDEX ON hand_lane (head) WHERE head IS NOT NULL", [])
            }
            try await measure("\(way.rawValue): filled", connection) {
                for start in stride(from: 0, to: count, by: 1_000) {
                    let numbers = (start..<min(start + 1_000, count)).map { Int64($0) }
                    try await engine.run(
                        "INSERT INTO hand SELECT * FROM unnest($1::int8[], $2::bytea[], $3::bytea[])",
                        [
                            .integers(numbers),
                            .arraysOfBytes(numbers.map { Data("entity-\($0 % Int64(entities))".utf8) }),
                            .arraysOfBytes(numbers.map { _ in Data(count: 100) }),
                        ])
                }
            }
            if way == .ordered {
                try await engine.run("INSERT INTO hand_lane SELECT entity, min(id) FROM hand GROUP BY entity", [])
                try await engine.run("ANALYZE hand_lane", [])
            }
            try await engine.run("ANALYZE hand", [])
            let drained = Shared(0)
            try await measure("\(way.rawValue): drained", connection) {
                try await withThrowingDiscardingTaskGroup { group in
                    for _ in 0..<Self.workers {
                        group.addTask {
                            let engine = try PostgreSQLEngine(connection)
                            var isEmpty = false
                            while !isEmpty {
                                let count = try await take(way, engine)
                                drained.value.withLock { $0 += count }
                                isEmpty = count == 0
                            }
                        }
                    }
                }
            }
            say("  \(count - drained.value.withLock { $0 }) lost")
        }

        private static func ids(_ rows: [[StatementValue]]) -> [Int64] {
            rows.compactMap { row in if case .integer(let id) = row[0] { id } else { nil } }
        }

        private func take(_ way: ByHand, _ engine: PostgreSQLEngine) async throws -> Int {
            let delete = "DELETE FROM hand WHERE id = ANY ($1::int8[])"
            switch way {
            case .deleted:
                return try await engine.transaction { session in
                    let ids = Self.ids(
                        try await session.run(
                            """
                            SELECT id, entity, payload FROM hand ORDER BY id LIMIT \(batch) FOR UPDATE SKIP LOCKED
                            """, []))
                    try await session.run(delete, [.integers(ids)])
                    return ids.count
                }
            case .claimed:
                let ids = Self.ids(
                    try await engine.run(
                        """
                        UPDATE hand SET claims = claims + 1 WHERE id = ANY (ARRAY(SELECT id FROM hand WHERE claims = 0
                        ORDER BY id LIMIT \(batch) FOR UPDATE SKIP LOCKED)) RETURNING id, entity, payload
                        """, []))
                try await engine.run(delete, [.integers(ids)])
                return ids.count
            case .ordered:
                let ids = Self.ids(
                    try await engine.run(
                        """
                        WITH free AS MATERIALIZED (
                            SELECT entity, head FROM hand_lane WHERE head IS NOT NULL AND worker IS NULL
                            ORDER BY head LIMIT \(batch) FOR UPDATE SKIP LOCKED
                        ), taken AS (
                            UPDATE hand_lane SET worker = 1 WHERE entity = ANY (ARRAY(SELECT entity FROM free))
                        ) UPDATE hand SET claims = claims + 1 WHERE id = ANY (ARRAY(SELECT head FROM free))
                        RETURNING id, entity, payload
                        """, []))
                try await engine.run(
                    """
                    WITH gone AS (\(delete) RETURNING entity) UPDATE hand_lane l SET worker = NULL, head =
                    (SELECT h.id FROM hand h WHERE h.entity = l.entity AND h.id > l.head ORDER BY h.id LIMIT 1)
                    WHERE l.entity = ANY (ARRAY(SELECT entity FROM gone))
                    """, [.integers(ids)])
                return ids.count
            }
        }
    }
#endif
