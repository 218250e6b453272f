#if SQLite
    public import Foundation
    package import GRDB

    /// A store in an SQLite file: what `enqueue` has returned from survives a crash and a power cut.
    ///
    /// The file is marked as ours (`application_id`) and carries its schema's version (`user_version`). A file that is
    /// something else, damaged, or newer than this package is refused and left as it is.
    public final class SQLiteStore: MutationStore {
        /// "SwRQ"
        private static let applicationID = 0x5377_5251
        static let schemaVersion = 1

        /// Where the file is.
        public let path: String
        private let database: DatabaseQueue
        private let removesFile: Bool

        /// Opens a file, or makes it.
        /// - Throws: ``SyncQueueError/unreadable(path:reason:)``, ``SyncQueueError/newerSchema(path:version:)``.
        public convenience init(path: String) throws { try self.init(path: path, removesFile: false) }

        /// A new file in the temporary folder, removed when the store is let go of.
        public static func temporary() throws -> SQLiteStore {
            let name = "resilience-\(UUID().uuidString).sqlite"
            return try SQLiteStore(
                path: FileManager.default.temporaryDirectory.appendingPathComponent(name).path, removesFile: true)
        }

        private init(path: String, removesFile: Bool) throws {
            self.path = path
            self.removesFile = removesFile
            var configuration = Configuration()
            configuration.busyMode = .timeout(5)
            try Self.checkHeader(path: path)
            do {
                database = try DatabaseQueue(path: path, configuration: configuration)
                try database.writeWithoutTransaction { db in
                    try Self.check(db, path: path)
                    // Full: a commit is on the disk before it returns, in WAL mode too.
                    try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
                    try db.inTransaction {
                        try Self.createSchema(db)
                        return .commit
                    }
                }
            } catch let error as DatabaseError {
                throw SyncQueueError.unreadable(path: path, reason: Self.text(of: error))
            }
        }

        deinit {
            guard removesFile else { return }
            try? database.close()
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        }

        /// SQLite takes a file of less than a page for an empty one, and would write over it.
        private static func checkHeader(path: String) throws {
            guard let head = try? FileHandle(forReadingAtPath: path)?.read(upToCount: 16), !head.isEmpty,
                head != Data("SQLite format 3\0".utf8)
            else { return }
            throw SyncQueueError.unreadable(path: path, reason: "It is no SQLite file.")
        }

        private static func check(_ db: Database, path: String) throws {
            let tables = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM sqlite_master") ?? 0
            let application = try Int.fetchOne(db, sql: "PRAGMA application_id") ?? 0
            let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
            if tables == 0 && application == 0 && version == 0 { return }
            guard application == applicationID else {
                throw SyncQueueError.unreadable(path: path, reason: "It is a database of another program.")
            }
            guard version <= schemaVersion else {
                throw SyncQueueError.newerSchema(path: path, version: version)
            }
            // The quick check would let an index pass that hides a mutation.
            let verdict = try String.fetchOne(db, sql: "PRAGMA integrity_check(1)")
            guard verdict == "ok" else {
                throw SyncQueueError.unreadable(path: path, reason: "It is damaged: \(verdict ?? "no answer").")
            }
            // Neither can be prepared if a table or a column is not there.
            _ = try db.makeStatement(sql: "SELECT \(StoredMutation.columns), dead FROM mutation")
            _ = try db.makeStatement(sql: "SELECT name, value FROM setting")
        }

        private static func createSchema(_ db: Database) throws {
            // AUTOINCREMENT: a position is never given twice, so that a late answer can't remove a newer mutation.
            try db.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS mutation (
                        position INTEGER PRIMARY KEY AUTOINCREMENT,
                        id TEXT NOT NULL UNIQUE,
                        entity TEXT NOT NULL,
                        kind TEXT NOT NULL,
                        payload BLOB NOT NULL,
                        idempotency_key TEXT NOT NULL,
                        created_at REAL NOT NULL,
                        failures INTEGER NOT NULL DEFAULT 0,
                        last_error TEXT,
                        dead INTEGER NOT NULL DEFAULT 0
                    );
                    CREATE INDEX IF NOT EXISTS mutation_by_state ON mutation (dead, position);
                    CREATE TABLE IF NOT EXISTS setting (name TEXT PRIMARY KEY, value REAL);
                    PRAGMA application_id = \(applicationID);
                    PRAGMA user_version = \(schemaVersion);
                    """)
        }

        private static func text(of error: DatabaseError) -> String {
            "\(error.message ?? "SQLite error \(error.extendedResultCode.rawValue)")."
        }

        /// SQLite's texts end at the first NUL, blobs do not.
        private static func column(_ text: String) -> any DatabaseValueConvertible {
            text.utf8.contains(0) ? Data(text.utf8) : text
        }

        private func read<R: Sendable>(_ body: @escaping @Sendable (Database) throws -> R) async throws -> R {
            try await explaining { try await database.read(body) }
        }

        private func write<R: Sendable>(_ body: @escaping @Sendable (Database) throws -> R) async throws -> R {
            try await explaining { try await database.write(body) }
        }

        /// Says what failed in the queue's own terms.
        private func explaining<R>(_ access: () async throws -> R) async throws -> R {
            do {
                return try await access()
            } catch let error as DatabaseError {
                throw SyncQueueError.storeFailed(path: path, reason: Self.text(of: error))
            }
        }

        public func append(_ mutations: [Mutation]) async throws {
            try await write { db in
                let insertion = try db.makeStatement(
                    sql: """
                        INSERT INTO mutation (id, entity, kind, payload, idempotency_key, created_at, failures, dead)
                        VALUES (?, ?, ?, ?, ?, ?, 0, 0)
                        """)
                for mutation in mutations {
                    do {
                        try insertion.execute(arguments: [
                            Self.column(mutation.id), Self.column(mutation.entity), Self.column(mutation.kind),
                            mutation.payload, Self.column(mutation.idempotencyKey),
                            // The other epoch would cost the last bit.
                            mutation.createdAt.timeIntervalSinceReferenceDate,
                        ])
                    } catch let error as DatabaseError where error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE {
                        throw SyncQueueError.duplicate(id: mutation.id)
                    }
                }
            }
        }

        public func pending(after position: Int64, limit: Int) async throws -> [StoredMutation] {
            try await page(dead: false, after: position, limit: limit)
        }

        public func dead(after position: Int64, limit: Int) async throws -> [StoredMutation] {
            try await page(dead: true, after: position, limit: limit)
        }

        private func page(dead: Bool, after position: Int64, limit: Int) async throws -> [StoredMutation] {
            try await read { db in
                let rows = try Row.fetchAll(
                    db,
                    sql: """
                        SELECT \(StoredMutation.columns) FROM mutation
                        WHERE dead = ? AND position > ? ORDER BY position LIMIT ?
                        """,
                    arguments: [dead, position, max(0, limit)])
                return rows.map(StoredMutation.init(row:))
            }
        }

        public func remove(at position: Int64) async throws {
            try await change("DELETE FROM mutation WHERE position = ? AND dead = 0", [position])
        }

        public func countFailure(at position: Int64, error: String) async throws {
            try await change(
                "UPDATE mutation SET failures = failures + 1, last_error = ? WHERE position = ? AND dead = 0",
                [Self.column(error), position])
        }

        public func park(at position: Int64, error: String) async throws {
            try await change(
                "UPDATE mutation SET failures = failures + 1, last_error = ?, dead = 1 WHERE position = ? AND dead = 0",
                [Self.column(error), position])
        }

        public func pendingCount() async throws -> Int { try await count(dead: false) }

        public func deadCount() async throws -> Int { try await count(dead: true) }

        private func count(dead: Bool) async throws -> Int {
            try await read { db in
                try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM mutation WHERE dead = ?", arguments: [dead]) ?? 0
            }
        }

        public func removePending() async throws -> Int {
            try await write { db in
                try db.execute(sql: "DELETE FROM mutation WHERE dead = 0")
                return db.changesCount
            }
        }

        public func pause() async throws -> Date? {
            try await read { db in
                try Double.fetchOne(db, sql: "SELECT value FROM setting WHERE name = 'paused_until'")
                    .map(Date.init(timeIntervalSince1970:))
            }
        }

        public func setPause(until date: Date?) async throws {
            try await change(
                "INSERT OR REPLACE INTO setting (name, value) VALUES ('paused_until', ?)",
                [date?.timeIntervalSince1970])
        }

        private func change(_ sql: String, _ arguments: StatementArguments) async throws {
            try await write { try $0.execute(sql: sql, arguments: arguments) }
        }
    }

    extension StoredMutation {
        package static let columns =
            "position, id, entity, kind, payload, idempotency_key, created_at, failures, last_error"

        /// Of a row with these columns. A value of an unexpected type reads as empty.
        package init(row: Row) {
            func text(_ column: String) -> String? {
                switch (row[column] as DatabaseValue).storage {
                case .string(let text): text
                // Not as Foundation reads it, which drops a byte order mark.
                case .blob(let bytes): String(validating: bytes, as: UTF8.self)
                default: nil
                }
            }
            let mutation = Mutation(
                id: text("id") ?? "", entity: text("entity") ?? "", kind: text("kind") ?? "",
                payload: Data.fromDatabaseValue(row["payload"]) ?? Data(),
                idempotencyKey: text("idempotency_key") ?? "",
                createdAt: Date(timeIntervalSinceReferenceDate: Double.fromDatabaseValue(row["created_at"]) ?? 0))
            self.init(
                position: Int64.fromDatabaseValue(row["position"]) ?? 0, mutation: mutation,
                failures: Int.fromDatabaseValue(row["failures"]) ?? 0,
                lastError: text("last_error"))
        }
    }
#endif
