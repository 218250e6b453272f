#if PostgreSQL
    import Foundation
    import PostgreSQLServer
    import Resilience
    import ResilienceSync

    /// Drains many rows with four workers of the queue, and with four by hand, over the same engine.
    struct Drain {
        let count: Int
        let entities: Int
        let batch: Int

        private static let workers = 4

        func run() async throws {
            // As it comes, with `fsync`: a commit is on the disk.
            let server = try PostgreSQLServer(["fsync=on", "shared_buffers=1GB", "max_wal_size=8GB"])
            let connection = server.connection
            say("\(count) rows, \(entities) entities, batches of \(batch), \(Self.workers) workers")
            try await queue(connection)
            try await hand(connection)
            _ = server
        }

        private func measure(_ what: String, _ body: @Sendable () async throws -> Void) async throws {
            let began = SystemTimeBase.shared.now
            try await body()
            let seconds = began.duration(to: SystemTimeBase.shared.now) / .seconds(1)
            say("\(what): \(Int((seconds * 10).rounded()) / 10) s, \(Int(Double(count) / seconds)) rows/s")
        }

        private func queue(_ connection: String) async throws {
            let store = try await PostgreSQLStore(
                try PostgreSQLEngine(connection), sending: .shared, lanesAtOnce: batch, tellsOthers: false)
            try await measure("the queue, filled by 1 task, 1 000 at a time") {
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
            try await measure("the queue, drained") {
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

        /// No order within an entity, no lease, no count of failures, and a transaction that is open while it sends.
        private func hand(_ connection: String) async throws {
            let engine = try PostgreSQLEngine(connection)
            try await engine.run("CREATE TABLE hand (id int8 PRIMARY KEY, entity bytea, payload bytea)")
            try await measure("by hand, filled") {
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
            let drained = Shared(0)
            try await measure("by hand, drained") {
                try await withThrowingDiscardingTaskGroup { group in
                    for _ in 0..<Self.workers {
                        group.addTask { [batch] in
                            let engine = try PostgreSQLEngine(connection)
                            var isEmpty = false
                            while !isEmpty {
                                let count = try await engine.transaction { session in
                                    let rows = try await session.run(
                                        """
                                        SELECT id, entity, payload FROM hand ORDER BY id LIMIT \(batch)
                                        FOR UPDATE SKIP LOCKED
                                        """, [])
                                    let ids = rows.compactMap { row in
                                        if case .integer(let id) = row[0] { id } else { nil }
                                    }
                                    if !ids.isEmpty {
                                        try await session.run(
                                            "DELETE FROM hand WHERE id = ANY ($1::int8[])", [.integers(ids)])
                                    }
                                    return ids.count
                                }
                                drained.value.withLock { $0 += count }
                                isEmpty = count == 0
                            }
                        }
                    }
                }
            }
            say("  \(count - drained.value.withLock { $0 }) lost")
        }
    }
#endif
