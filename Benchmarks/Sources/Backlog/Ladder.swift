import Foundation
import GRDB
import Resilience
import ResilienceSync

/// The cost of each guarantee of an SQLite store per append: from a bare outbox, which only keeps rows, up to
/// `enqueue`. Each rung has its own file, with the same settings, and a statement prepared once. They take turns, so
/// that the disk's variations affect all.
struct Ladder {
    private struct Rung {
        let name: String
        let append: ([Mutation]) async throws -> Void
        var seconds = 0.0
        var cpu = 0.0
        var bytes = 0
    }

    let folder: URL
    let batch: Int
    let rounds: Int

    func run() async throws {
        var rungs = [
            try bare("a bare outbox: id, payload, date", "id TEXT"),
            try bare("… its ids are unique", "id TEXT UNIQUE"),
            try plain("the queue's columns, no index", keeping: []),
            try plain("… lanes, and what is a head", keeping: Self.lanes),
            try plain("… all indexes", keeping: Self.lanes + Self.others),
            try plain("… totals", keeping: Self.lanes + Self.others + Self.totals),
            try store("append, nothing to coalesce", .off),
            try store("append, looking for what to coalesce", .lastWriteWins),
            try queue("enqueue"),
        ]
        for round in 0..<rounds {
            let mutations = (0..<batch).map { number in
                Mutation(
                    entity: "note-\((round * batch + number) % (rounds * batch / 4 + 1))", kind: "note",
                    operation: .create, payload: payload)
            }
            for index in rungs.indices {
                let before = usage()
                rungs[index].seconds += try await seconds { try await rungs[index].append(mutations) }
                let after = usage()
                rungs[index].cpu += after.cpu - before.cpu
                rungs[index].bytes += after.bytes - before.bytes
            }
        }
        let rows = Double(rounds * batch)
        print("\(batch) at a time: µs a row, × the bare outbox | of them on the processor | bytes written a row")
        for rung in rungs {
            line(
                "  " + rung.name,
                "\(format(rung.seconds / rows * 1e6, 1)), × \(format(rung.seconds / rungs[0].seconds, 2)) | "
                    + "\(format(rung.cpu / rows * 1e6, 1)), × \(format(rung.cpu / rungs[0].cpu, 2)) | "
                    + "\(format(Double(rung.bytes) / rows))")
        }
    }

    private func database(_ name: String) throws -> DatabaseQueue {
        let database = try DatabaseQueue(path: folder.appending(path: "\(batch)-\(name).sqlite").path)
        try database.writeWithoutTransaction {
            try $0.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        }
        return database
    }

    private func bare(_ name: String, _ id: String) throws -> Rung {
        let database = try database(name)
        try database.write { try $0.execute(sql: "CREATE TABLE outbox (\(id), payload BLOB, created REAL)") }
        return Rung(name: name) { mutations in
            try await database.write { db in
                let insertion = try db.cachedStatement(
                    sql: "INSERT INTO outbox (id, payload, created) VALUES (?, ?, ?)")
                for mutation in mutations {
                    try insertion.execute(arguments: [
                        mutation.id, mutation.payload, mutation.createdAt.timeIntervalSinceReferenceDate,
                    ])
                }
            }
        }
    }

    private static let lanes = ["resilience_lane", "resilience_block", "resilience_head"]
    private static let others = [
        "resilience_pending", "resilience_dead", "resilience_died", "resilience_death", "resilience_attempted",
        "resilience_not_overtaken", "resilience_waiting",
    ]
    private static let totals = ["resilience_inserted"]

    /// The store's own table, with only the kept indexes and triggers.
    private func plain(_ name: String, keeping kept: [String]) throws -> Rung {
        let database = try database(name)
        try database.write { db in
            try SQLiteStore.createTables(in: db)
            let made = try Row.fetchAll(
                db, sql: "SELECT type, name FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql NOT NULL")
            for row in made where !kept.contains(row["name"]) {
                try db.execute(sql: "DROP \(row["type"] as String) \(row["name"] as String)")
            }
        }
        let head =
            kept.isEmpty
            ? "0"
            : """
            NOT EXISTS (SELECT 1 FROM resilience_mutation INDEXED BY resilience_lane WHERE entity = ?2 AND state = 0)
            AND NOT EXISTS (SELECT 1 FROM resilience_mutation INDEXED BY resilience_block WHERE entity = ?2 AND state = 2)
            """
        return Rung(name: name) { mutations in
            try await database.write { db in
                let insertion = try db.cachedStatement(
                    sql: """
                        INSERT INTO resilience_mutation
                        (id, entity, kind, operation, idempotency_key, created_at, queued_at, payload, head)
                        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, \(head))
                        """)
                for mutation in mutations {
                    try insertion.execute(arguments: [
                        mutation.id, mutation.entity, mutation.kind, mutation.operation?.rawValue,
                        mutation.idempotencyKey, mutation.createdAt.timeIntervalSinceReferenceDate, 0.0,
                        mutation.payload,
                    ])
                }
            }
        }
    }

    private func store(_ name: String, _ coalescing: Coalescing) throws -> Rung {
        let store = try SQLiteStore(path: folder.appending(path: "\(batch)-\(name).sqlite").path)
        return Rung(name: name) { mutations in
            _ = try await store.append(mutations, under: AppendRules(coalescing: coalescing), at: Date())
        }
    }

    private func queue(_ name: String) throws -> Rung {
        let store = try SQLiteStore(path: folder.appending(path: "\(batch)-\(name).sqlite").path)
        let queue = SyncQueue(store: store, pipeline: Pipeline {}) { _ in }
        return Rung(name: name) { mutations in try await queue.enqueue(mutations) }
    }

    /// The process's use so far.
    private func usage() -> (cpu: Double, bytes: Int) {
        var used = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
        let io = (try? String(contentsOfFile: "/proc/self/io", encoding: .ascii)) ?? ""
        let written = io.split(separator: "\n").first { $0.hasPrefix("wchar: ") }?.dropFirst(7)
        return (Double(used.tv_sec) + Double(used.tv_nsec) / 1e9, written.flatMap { Int($0) } ?? 0)
    }
}
