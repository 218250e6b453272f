#if SQLite
    public import Foundation
    public import GRDB

    /// A store in an SQLite database: what `enqueue` has returned from survives a crash and a power cut.
    ///
    /// The database is a file of the store's own, or one that a program has already. In the latter, mutations can be
    /// enqueued in the same transaction as what they are about:
    ///
    /// ```swift
    /// let store = try SQLiteStore(in: database)
    /// try await database.write { db in
    ///     try note.insert(db)
    ///     _ = try store.append([mutation], under: AppendRules(), at: Date(), in: db)
    /// }
    /// ```
    ///
    /// A file of its own is marked as ours (`application_id`) and carries its schema's version (`user_version`). One that is
    /// something else, damaged, or newer than this package is refused and left as it is.
    public final class SQLiteStore: MutationStore {
        /// How closely a file is looked at before it is used.
        public enum Check: Sendable, Hashable {
            /// All of it, its indexes too, and everything is counted anew: a third of a second for 100 000 mutations, four
            /// seconds for a million.
            case full
            /// All of it but whether the indexes and the counts are right: a quarter of the time.
            case quick
            /// Only that it is a queue's.
            case none
        }

        /// "SwRQ"
        private static let applicationID = 0x5377_5251

        /// Where the database is.
        public let path: String
        private let database: any DatabaseWriter
        /// The connection that writes. The database keeps it, so no other is ever at its address.
        private let connection: ObjectIdentifier
        private let file: String
        private let removesFile: Bool

        /// Opens a file, or makes it.
        /// - Parameter check: for a queue that may grow very large, see ``Check``.
        /// - Throws: ``SyncQueueError/unreadable(path:reason:)``, ``SyncQueueError/newerSchema(path:version:)``,
        ///   ``SyncQueueError/storeFailed(path:reason:)``.
        public convenience init(path: String, check: Check = .full) throws {
            try self.init(path: path, check: check, busyTimeout: 5, removesFile: false)
        }

        /// A new file in the temporary folder, removed when the store is let go of.
        public static func temporary() throws -> SQLiteStore {
            let name = "resilience-\(UUID().uuidString).sqlite"
            return try SQLiteStore(
                path: FileManager.default.temporaryDirectory.appendingPathComponent(name).path, check: .none,
                busyTimeout: 5, removesFile: true)
        }

        /// - Parameter busyTimeout: seconds to wait for a lock that another process holds.
        package init(path: String, check: Check, busyTimeout: Double, removesFile: Bool = false) throws {
            self.path = path
            self.removesFile = removesFile
            var configuration = Configuration()
            configuration.busyMode = .timeout(busyTimeout)
            try Self.checkHeader(path: path)
            do {
                let database = try DatabaseQueue(path: path, configuration: configuration)
                self.database = database
                (connection, file) = try database.writeWithoutTransaction { db in
                    try Self.inspect(db, path: path, check)
                    // Full: a commit is on the disk before it returns, in WAL mode too.
                    try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
                    try db.inTransaction(.immediate) {
                        try Self.upgrade(db, check)
                        return .commit
                    }
                    return (ObjectIdentifier(db), try Self.file(of: db))
                }
            } catch let error as DatabaseError {
                throw Self.failure(to: .open, path, error)
            }
        }

        /// Keeps the queue's tables, `resilience_…`, in a database that the program has already. It is left configured as it
        /// is, its `application_id` and `user_version` too; how durable the queue is, is up to its settings.
        /// - Throws: ``SyncQueueError/unreadable(path:reason:)``, ``SyncQueueError/newerSchema(path:version:)``,
        ///   ``SyncQueueError/storeFailed(path:reason:)``.
        public init(in database: any DatabaseWriter) throws {
            self.database = database
            path = database.path
            removesFile = false
            do {
                (connection, file) = try database.write { [path] db in
                    try SQLiteSchema.open(in: db, path: path)
                    return (ObjectIdentifier(db), try Self.file(of: db))
                }
            } catch let error as DatabaseError {
                throw Self.failure(to: .open, path, error)
            }
        }

        deinit {
            guard removesFile else { return }
            try? database.close()
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        }

        // MARK: Opening

        /// SQLite takes a file of less than a page for an empty one, and would write over it.
        private static func checkHeader(path: String) throws {
            guard let head = try? FileHandle(forReadingAtPath: path)?.read(upToCount: 16), !head.isEmpty,
                head != Data("SQLite format 3\0".utf8)
            else { return }
            throw SyncQueueError.unreadable(path: path, reason: "It is no SQLite file.")
        }

        /// Refuses what is no queue of ours, and writes nothing.
        private static func inspect(_ db: Database, path: String, _ check: Check) throws {
            let tables = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM sqlite_master") ?? 0
            let application = try Int.fetchOne(db, sql: "PRAGMA application_id") ?? 0
            let version = try version(of: db)
            if tables == 0 && application == 0 && version == 0 { return }
            guard application == applicationID else {
                throw SyncQueueError.unreadable(path: path, reason: "It is a database of another program.")
            }
            guard version <= SQLiteSchema.version else {
                throw SyncQueueError.newerSchema(path: path, version: version)
            }
            let pragma: String? =
                switch check {
                case .full: "integrity_check"
                // It would let an index pass that hides a mutation.
                case .quick: "quick_check"
                case .none: nil
                }
            if let pragma {
                let verdict = try String.fetchOne(db, sql: "PRAGMA \(pragma)(1)")
                guard verdict == "ok" else {
                    throw SyncQueueError.unreadable(path: path, reason: "It is damaged: \(verdict ?? "no answer").")
                }
            }
            if version < SQLiteSchema.version {
                try SQLiteSchema.checkVersion1(db)
            } else {
                try SQLiteSchema.check(db, path: path)
            }
        }

        private static func version(of db: Database) throws -> Int {
            try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        }

        private static func upgrade(_ db: Database, _ check: Check) throws {
            if try version(of: db) == SQLiteSchema.version {
                if check == .full { try SQLiteSchema.recount(db) }
                return
            }
            if try db.tableExists("mutation") {
                try SQLiteSchema.migrateVersion1(db)
            } else {
                try SQLiteSchema.create(db)
            }
            try db.execute(
                sql: "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(SQLiteSchema.version)")
        }

        /// The file's full path; empty if the database is in memory.
        private static func file(of db: Database) throws -> String {
            try String.fetchOne(db, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'") ?? ""
        }

        // MARK: Access

        private enum Access { case open, use }

        /// Says what failed in the queue's own terms.
        private static func failure(to access: Access, _ path: String, _ error: DatabaseError) -> SyncQueueError {
            let reason = "\(error.message ?? "SQLite error \(error.extendedResultCode.rawValue)")."
            switch (access, error.resultCode) {
            // A file that is there, and may be well another time.
            case (.use, _), (_, .SQLITE_BUSY), (_, .SQLITE_LOCKED), (_, .SQLITE_READONLY), (_, .SQLITE_FULL),
                (_, .SQLITE_IOERR), (_, .SQLITE_NOMEM):
                return .storeFailed(path: path, reason: reason)
            case (.open, _):
                return .unreadable(path: path, reason: reason)
            }
        }

        private func read<R: Sendable>(_ body: @escaping @Sendable (SQLiteTable) throws -> R) async throws -> R {
            do {
                return try await database.read { try body(SQLiteTable(db: $0)) }
            } catch let error as DatabaseError {
                throw Self.failure(to: .use, path, error)
            }
        }

        /// In one transaction, which the cancellation of its task does not undo: what was sent must be noted.
        private func write<R: Sendable>(_ body: @escaping @Sendable (SQLiteTable) throws -> R) async throws -> R {
            do {
                return try await withCheckedThrowingContinuation { continuation in
                    database.asyncWrite({ try body(SQLiteTable(db: $0)) }) { continuation.resume(with: $1) }
                }
            } catch let error as DatabaseError {
                throw Self.failure(to: .use, path, error)
            }
        }

        // MARK: The store

        /// Appends within a transaction of the caller's own: rolled back with it, and durable once it is committed.
        ///
        /// The queue is not told: ``SyncQueue/enqueue(_:in:)`` does that too.
        /// - Parameter db: of the store's database, and in a writing access to it.
        /// - Throws: besides what ``MutationStore/append(_:under:at:)`` throws, ``SyncQueueError/unreadable(path:reason:)``
        ///   if it is another database.
        public func append(
            _ mutations: [Mutation], under rules: AppendRules, at date: Date, in db: Database
        ) throws -> Appended {
            do {
                if ObjectIdentifier(db) != connection {
                    let other = try Self.file(of: db)
                    guard !other.isEmpty, other == file else {
                        throw SyncQueueError.unreadable(path: other, reason: "The queue is in \(path).")
                    }
                }
                var appended = Appended()
                // So that nothing is left of it if the caller goes on after an error.
                try db.inSavepoint {
                    var table = SQLiteTable(db: db)
                    appended = try table.append(mutations, under: rules, at: date)
                    return .commit
                }
                return appended
            } catch let error as DatabaseError {
                throw Self.failure(to: .use, path, error)
            }
        }

        public func append(
            _ mutations: [Mutation], under rules: AppendRules, at date: Date
        ) async throws -> Appended {
            try await write { table in
                var table = table
                return try table.append(mutations, under: rules, at: date)
            }
        }

        public func heads(after position: Int64, limit: Int) async throws -> [LaneHead] {
            try await read { try $0.heads(after: position, limit: limit) }
        }

        public func apply(
            _ changes: [MutationChange], claiming positions: [Int64]
        ) async throws -> [StoredMutation] {
            try await write { table in
                for change in changes { try table.make(change.withBoundedError) }
                return try positions.compactMap { try table.claim($0) }
            }
        }

        public func pending(after position: Int64, limit: Int) async throws -> [StoredMutation] {
            try await read { try $0.page(.pending, after: position, limit: limit) }
        }

        public func dead(after position: Int64, limit: Int) async throws -> [StoredMutation] {
            try await read { try $0.page(.dead, after: position, limit: limit) }
        }

        public func revive(_ positions: [Int64]?, at date: Date) async throws -> Int {
            try await write { table in
                try table.forEachDead(positions) { try table.revive($0, in: $1, at: date) }
            }
        }

        public func discard(_ positions: [Int64]?) async throws -> Int {
            try await write { table in
                try table.forEachDead(positions) { try table.discard($0, in: $1) }
            }
        }

        public func removePending() async throws -> Int {
            try await write { table in
                try table.execute(.removePending, [])
                return table.db.changesCount
            }
        }

        public func totals() async throws -> QueueTotals { try await read { try $0.totals() } }

        public func setting(_ name: String) async throws -> String? { try await read { try $0.setting(name) } }

        public func set(_ name: String, to value: String?) async throws {
            try await write { try $0.set(name, to: value) }
        }
    }
#endif
