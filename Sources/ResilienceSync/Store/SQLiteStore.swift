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
    ///
    /// Several queues, of one process or of several, may use a database: one sends at a time, while it flushes, and the others
    /// wait for it. A file of a few bytes beside the database, its name ending in `-sender`, is locked meanwhile; the system frees it
    /// when the process ends. It has the database's mode, and its owner if root makes it. Whoever may only read it can lock it, too.
    ///
    /// Every method throws ``SyncQueueError/storeFailed(path:reason:)`` if the database is closed, or if its file was deleted,
    /// moved or replaced while it was open.
    ///
    /// ``removePending(through:)`` and ``discard(_:)`` overwrite what they remove and empty the log. They also shrink a file of the
    /// store's own, if that costs no more than was removed. A reader, or a full disk, can delay that until the next time:
    /// nobody is waited for. With a busy callback of the program's own the log is written back, and not emptied.
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

        /// Where the database is.
        public let path: String
        package let database: any DatabaseWriter
        /// The connection that writes. The database keeps it, so no other is ever at its address.
        private let connection: ObjectIdentifier
        private let file: String
        /// Whether the file is the store's own.
        let isOwn: Bool
        private let removesFile: Bool
        private let sender: SenderFile

        /// Opens a file, or makes it.
        /// - Parameters:
        ///   - path: of a file. An empty path and `:memory:` are refused: SQLite takes them for databases that end with the
        ///     process. Use ``MemoryStore`` for that.
        ///   - check: for a queue that may grow very large, see ``Check``.
        /// - Throws: ``SyncQueueError/unreadable(path:reason:)``, ``SyncQueueError/newerSchema(path:version:)``,
        ///   ``SyncQueueError/storeFailed(path:reason:)`` if another process holds the file for more than 5 seconds.
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
        package init(path: String, check: Check, busyTimeout: Double, removesFile: Bool) throws {
            self.path = path
            self.removesFile = removesFile
            isOwn = true
            var configuration = Configuration()
            configuration.busyMode = .timeout(busyTimeout)
            // Does nothing until the app posts GRDB's `suspendNotification`.
            configuration.observesSuspensionNotifications = true
            try Self.checkHeader(path: path)
            do {
                (database, connection, file) = try Self.untilUnlocked(for: busyTimeout) {
                    () throws -> (any DatabaseWriter, ObjectIdentifier, String) in
                    let database = try DatabaseQueue(path: path, configuration: configuration)
                    return try database.writeWithoutTransaction { db in
                        let file = try Self.file(of: db)
                        guard !file.isEmpty else {
                            throw SyncQueueError.unreadable(
                                path: path, reason: "It names no file: nothing would be durable.")
                        }
                        try Self.open(db, path: path, check)
                        return (database, ObjectIdentifier(db), file)
                    }
                }
                sender = SenderFile(database: .file(file))
            } catch let error as DatabaseError {
                throw Self.failure(to: .open, path, error)
            }
        }

        /// Keeps the queue's tables, `resilience_…`, in a database that the program has already. It is left configured as it
        /// is, its `application_id` and `user_version` too. Tables of an earlier version are extended where they stand: foreign keys to
        /// them, views, triggers and indexes of the program stay. How durable the queue is depends on its settings: GRDB opens a
        /// `DatabasePool` with `synchronous = NORMAL`, so a power cut may undo its latest commits.
        /// - Throws: ``SyncQueueError/unreadable(path:reason:)``, ``SyncQueueError/newerSchema(path:version:)``,
        ///   ``SyncQueueError/storeFailed(path:reason:)``.
        public init(in database: any DatabaseWriter) throws {
            self.database = database
            path = database.path
            isOwn = false
            removesFile = false
            do {
                (connection, file) = try database.writeWithoutTransaction { [path] db in
                    try Self.checkUsable(db, path: path)
                    try db.isolated { try SQLiteSchema.open(in: db, path: path) }
                    return (ObjectIdentifier(db), try Self.file(of: db))
                }
                sender = SenderFile(
                    database: !file.isEmpty
                        ? .file(file)
                        : path.contains("cache=shared") ? .sharedMemory(path) : .memory(connection))
            } catch let error as DatabaseError {
                throw Self.failure(to: .open, path, error)
            }
        }

        /// Makes the queue's tables in the program's own database, unless they are there. Call it in a migration of GRDB's
        /// `DatabaseMigrator`: its `eraseDatabaseOnSchemaChange` erases the database when there are tables that no migration
        /// makes.
        /// - Throws: as ``init(in:)``.
        public static func createTables(in db: Database) throws {
            let path = try file(of: db)
            do { try db.isolated { try SQLiteSchema.open(in: db, path: path) } } catch let error as DatabaseError {
                throw failure(to: .open, path, error)
            }
        }

        /// Closes the store's own file; what is asked of the store from then on throws
        /// ``SyncQueueError/storeFailed(path:reason:)``. The program's own database stays open.
        public func close() throws {
            guard isOwn else { return }
            do { try database.close() } catch let error as DatabaseError { throw Self.failure(to: .use, path, error) }
        }

        deinit {
            guard removesFile else { return }
            try? database.close()
            for suffix in ["", "-wal", "-shm", SenderFile.suffix] {
                try? FileManager.default.removeItem(atPath: path + suffix)
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
                try check(db)
                // So that nothing is left of it if the caller goes on after an error.
                return try db.isolated {
                    var table = SQLiteTable(db: db)
                    return try table.append(mutations, under: rules, at: date)
                }
            } catch let error as DatabaseError {
                throw Self.failure(to: .use, path, error)
            }
        }

        /// Which of these entities have pending mutations, within a transaction of the caller's own.
        /// - Parameter db: of the store's database.
        public func pendingEntities(among entities: [String], in db: Database) throws -> [String] {
            do {
                try check(db)
                return try SQLiteTable(db: db).pendingEntities(among: entities)
            } catch let error as DatabaseError {
                throw Self.failure(to: .use, path, error)
            }
        }

        /// - Throws: if it is another database than the store's.
        private func check(_ db: Database) throws {
            try Self.checkUsable(db, path: path)
            if ObjectIdentifier(db) == connection { return }
            let other = try Self.file(of: db)
            guard !other.isEmpty, other == file else {
                throw SyncQueueError.unreadable(path: other, reason: "The queue is in \(path).")
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

        public func pendingEntities(among entities: [String]) async throws -> [String] {
            try await read { try $0.pendingEntities(among: entities) }
        }

        public func apply(
            _ changes: [MutationChange], claiming positions: [Int64], keeping limits: DeadLimits, at date: Date
        ) async throws -> Applied {
            try await write { table in
                try table.execute(.datesOfDeath, [SQLiteTable.column(date)])
                for change in changes { try table.make(change.withBoundedError, at: date) }
                let dropped = try table.dropDead(beyond: limits, at: date)
                return Applied(claimed: try positions.compactMap { try table.claim($0) }, dropped: dropped)
            }
        }

        public func pending(after position: Int64, limit: Int) async throws -> [StoredMutation] {
            try await read { try $0.page(.pending, after: position, limit: limit) }
        }

        public func dead(after position: Int64, limit: Int) async throws -> [StoredMutation] {
            try await read { try $0.page(.dead, after: position, limit: limit) }
        }

        public func revive(_ positions: [Int64]?, evenOvertaken: Bool, at date: Date) async throws -> Int {
            try await write { table in
                try table.forEachDead(positions, evenOvertaken: evenOvertaken) {
                    try table.revive($0, in: $1, at: date)
                }
            }
        }

        public func discard(_ positions: [Int64]?) async throws -> Int {
            try await erase { table in
                try table.forEachDead(positions) { try table.remove($0, of: $1) }
            }
        }

        public func seal() async throws -> Int64 {
            try await write { table in
                try table.execute(.seal, [])
                return try table.row(.lastPosition).flatMap { Int64.fromDatabaseValue($0[0]) } ?? .min
            }
        }

        public func removePending(through position: Int64) async throws -> Int {
            try await erase { table in
                try table.execute(.removePending, [position])
                let count = table.db.changesCount
                try table.execute(.settleAll, [])
                return count
            }
        }

        public func totals() async throws -> QueueTotals { try await read { try $0.totals() } }

        public func lock(for queue: UUID) throws -> SendingLock { try sender.lock(for: queue) }

        public func unlock(for queue: UUID) { sender.unlock(for: queue) }

        public func setting(_ name: String) async throws -> String? { try await read { try $0.setting(name) } }

        public func set(_ name: String, to value: String?) async throws {
            try await write { try $0.set(name, to: value) }
        }
    }
#endif
