#if SQLite
    public import Foundation
    public import GRDB
    import Resilience

    /// A store in an SQLite database: mutations survive a crash and a power cut once `enqueue` has returned.
    ///
    /// The database is either the store's own file or a database that the program already has. In the latter, a
    /// mutation can be enqueued in the same transaction as the change that it describes:
    ///
    /// ```swift
    /// let store = try SQLiteStore(in: database)
    /// try await database.write { db in
    ///     try note.insert(db)
    ///     _ = try store.append(
    ///         [mutation], under: AppendRules(), at: Date(), in: db)
    /// }
    /// ```
    ///
    /// The store's own file has an `application_id` and its schema's version (`user_version`). A file that is something
    /// else, damaged, or newer than this package is rejected and not changed.
    ///
    /// Several queues, in one process or in several, may use a database: one sends at a time, while it flushes, and the
    /// others wait for it. Meanwhile a file of a few bytes beside the database, its name ending in `-sender`, is
    /// locked; the system releases the lock when the process ends. The file has the database's mode, and its owner if
    /// root creates it. Read access is enough to lock it.
    ///
    /// Every method throws ``SyncQueueError/storeFailed(path:reason:)`` if the database is closed, or if its file was
    /// deleted, moved or replaced while it was open.
    ///
    /// ``removePending(_:)``, ``discard(_:)`` and ``mutation(_:cancelling:)`` overwrite removed mutations and empty the
    /// log. They also shrink the store's own file, if rewriting it costs no more than was removed. A reader or a full
    /// disk can delay this until the next time; the store does not wait for it. If the program has its own busy
    /// callback, the log is written back to the database, but not emptied.
    public final class SQLiteStore: MutationStore {
        /// How thoroughly a file is checked before it is used.
        public enum Check: Sendable, Hashable {
            /// Checks the whole file with its indexes, and counts everything again: a third of a second for 100 000
            /// mutations, four seconds for a million.
            case full
            /// Checks the whole file, except whether the indexes and the counts are right, in a quarter of the time.
            case quick
            /// Checks only that the file belongs to a queue.
            case none
        }

        /// The path of the database.
        public let path: String
        package let database: any DatabaseWriter
        /// The writing connection. The database keeps it alive, so no other connection gets its address.
        private let connection: ObjectIdentifier
        private let file: String
        /// Whether the file is the store's own.
        let isOwn: Bool
        private let removesFile: Bool
        /// nil if the program's own configuration decides how long a call waits for a lock.
        let lockWait: SharedLockWait?
        private let sender: SenderFile
        /// The pause by hand that the claiming queue last learned of.
        private let toldHandPause = Locked<String?>(nil)

        /// Opens a file, or creates it.
        ///
        /// - Parameters:
        ///   - path: The path of a file. An empty path and `:memory:` are rejected: SQLite opens them as databases that
        ///     end with the process. Use ``MemoryStore`` for that.
        ///   - check: How thoroughly to check the file; `.full` by default. For a queue that may grow very large, see
        ///     ``Check``.
        /// - Throws: ``SyncQueueError/unreadable(path:reason:)``, ``SyncQueueError/newerSchema(path:version:)``,
        ///   ``SyncQueueError/storeFailed(path:reason:)`` if another process holds the file for more than 5 seconds.
        public convenience init(path: String, check: Check = .full) throws {
            try self.init(path: path, check: check, busyTimeout: 5, removesFile: false)
        }

        /// Creates a store in a new file in the temporary folder, removed when the store is released.
        ///
        /// - Returns: The store.
        /// - Throws: As ``init(path:check:)``.
        public static func temporary() throws -> SQLiteStore {
            let name = "resilience-\(UUID().uuidString).sqlite"
            return try SQLiteStore(
                path: FileManager.default.temporaryDirectory.appendingPathComponent(name).path, check: .none,
                busyTimeout: 5, removesFile: true)
        }

        /// - Parameter busyTimeout: Seconds to wait for a lock that another process holds.
        package init(path: String, check: Check, busyTimeout: Double, removesFile: Bool) throws {
            self.path = path
            self.removesFile = removesFile
            isOwn = true
            lockWait = SharedLockWait(length: .seconds(busyTimeout))
            var configuration = Configuration()
            configuration.busyMode = .timeout(busyTimeout)
            // Does nothing until the app posts GRDB's `suspendNotification`.
            configuration.observesSuspensionNotifications = true
            try Self.checkHeader(path: path)
            (database, connection, file) = try Self.describing(.open, path) {
                try Self.untilUnlocked(for: busyTimeout) {
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
            }
            sender = SenderFile(database: .file(file))
        }

        /// Keeps the queue's tables, `resilience_…`, in a database that the program already has.
        ///
        /// The database's configuration, `application_id` and `user_version` are not changed. The queue's durability
        /// depends on the database's settings: GRDB opens a `DatabasePool` with `synchronous = NORMAL`, so a power cut
        /// may undo its latest commits.
        ///
        /// - Parameter database: The program's database.
        /// - Throws: ``SyncQueueError/unreadable(path:reason:)``, ``SyncQueueError/newerSchema(path:version:)``,
        ///   ``SyncQueueError/storeFailed(path:reason:)``.
        public init(in database: any DatabaseWriter) throws {
            self.database = database
            path = database.path
            isOwn = false
            lockWait = nil
            removesFile = false
            (connection, file) = try Self.describing(.open, path) { [path] in
                try database.writeWithoutTransaction { db in
                    try Self.checkUsable(db, path: path)
                    // If everything exists, nothing is written, and this need not wait for writers.
                    try db.inTransaction(SQLiteSchema.isThere(in: db) ? .deferred : .immediate) {
                        try SQLiteSchema.open(in: db, path: path)
                        return .commit
                    }
                    return (ObjectIdentifier(db), try Self.file(of: db))
                }
            }
            sender = SenderFile(
                database: !file.isEmpty
                    ? .file(file) : path.contains("cache=shared") ? .sharedMemory(path) : .memory(connection))
        }

        /// Creates the queue's tables in the program's own database, unless they exist.
        ///
        /// Call it in a migration of GRDB's `DatabaseMigrator`: its `eraseDatabaseOnSchemaChange` erases a database
        /// with tables that no migration creates.
        ///
        /// - Parameter db: The connection of the migration.
        /// - Throws: As ``init(in:)``.
        public static func createTables(in db: Database) throws {
            let path = try file(of: db)
            try describing(.open, path) { try db.isolated { try SQLiteSchema.open(in: db, path: path) } }
        }

        /// Closes the store's own file.
        ///
        /// From then on the store throws ``SyncQueueError/storeFailed(path:reason:)``. If the database is the program's
        /// own, this does nothing.
        ///
        /// - Throws: ``SyncQueueError/storeFailed(path:reason:)``.
        public func close() throws {
            if isOwn { try Self.describing(.use, path) { try database.close() } }
        }

        deinit {
            guard removesFile else { return }
            try? database.close()
            Self.removeFile(at: path)
        }

        static func removeFile(at path: String) {
            for suffix in ["", "-wal", "-shm", SenderFile.suffix] {
                try? FileManager.default.removeItem(atPath: path + suffix)
            }
        }

        // MARK: The store

        /// Appends within the caller's transaction: rolled back with it, and durable once it is committed.
        ///
        /// This does not notify the queue; ``SyncQueue/enqueue(_:in:)`` does.
        ///
        /// - Parameters:
        ///   - mutations: The mutations to add.
        ///   - rules: The limits and the coalescing.
        ///   - date: Now, by the wall clock.
        ///   - db: A connection of the store's database, within a write.
        /// - Returns: The result of each mutation.
        /// - Throws: As ``MutationStore/append(_:under:at:)``; ``SyncQueueError/unreadable(path:reason:)`` if
        ///   `db` belongs to another database.
        public func append(
            _ mutations: [Mutation], under rules: AppendRules, at date: Date, in db: Database
        ) throws -> AppendResult {
            try Self.describing(.use, path) {
                try check(db)
                // In a savepoint, so that nothing remains if the caller continues after an error.
                return try db.isolated {
                    var table = SQLiteTable(db: db)
                    return try table.append(mutations, under: rules, at: date)
                }
            }
        }

        /// Returns the entities that have pending mutations, within the caller's transaction.
        ///
        /// - Parameters:
        ///   - entities: The entities to ask about.
        ///   - db: A connection of the store's database.
        /// - Returns: The entities that have pending mutations, in the order asked for.
        /// - Throws: ``SyncQueueError/unreadable(path:reason:)`` if `db` belongs to another database,
        ///   ``SyncQueueError/storeFailed(path:reason:)``.
        public func pendingEntities(among entities: [String], in db: Database) throws -> [String] {
            try Self.describing(.use, path) {
                try check(db)
                return try SQLiteTable(db: db).pendingEntities(among: entities)
            }
        }

        /// - Throws: If `db` is not usable, or belongs to another database.
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
        ) async throws -> AppendResult {
            try await write { table in
                var table = table
                return try table.append(mutations, under: rules, at: date)
            }
        }

        public func heads(after position: Int64, limit: Int, at date: Date) async throws -> LaneHeads {
            let found = try await read { try $0.heads(after: position, limit: limit) }
            guard let due = found.nextDue, due <= date else { return found }
            return try await write { table in
                try table.becomeDue(at: date)
                return try table.heads(after: position, limit: limit)
            }
        }

        public func pendingEntities(among entities: [String]) async throws -> [String] {
            try await read { try $0.pendingEntities(among: entities) }
        }

        public func apply(
            _ changes: [MutationChange], claiming positions: [Int64], keeping limits: DeadLimits, at date: Date
        ) async throws -> ApplyResult {
            // Doesn't capture the store: if the closure had the last reference, it would close the busy database.
            let (result, handPause) = try await write { [told = toldHandPause.withLock { $0 }] table in
                try table.execute(.datesOfDeath, [SQLiteTable.column(date)])
                for change in changes { try table.make(change.withBoundedError, at: date) }
                let dropped = try table.dropDead(beyond: limits, at: date)
                let handPause = positions.isEmpty ? told : try table.setting(SyncQueue.handPauseName)
                // Another process may have stored a pause.
                if handPause != told { return (ApplyResult(dropped: dropped, hasOtherPause: true), handPause) }
                return (ApplyResult(claimed: try positions.compactMap { try table.claim($0) }, dropped: dropped), told)
            }
            toldHandPause.withLock { $0 = handPause }
            return result
        }

        public func pending(after position: Int64, limit: Int) async throws -> [StoredMutation] {
            try await read { try $0.page(.pending, after: position, limit: limit) }
        }

        public func dead(after position: Int64, limit: Int) async throws -> [StoredMutation] {
            try await read { try $0.page(.dead, after: position, limit: limit) }
        }

        public func mutation(_ id: String, cancelling: Bool) async throws -> StoredMutation? {
            guard cancelling else { return try await read { try $0.mutation(id, cancelling: false) } }
            return try await erase { try $0.mutation(id, cancelling: true) }
        }

        public func pendingPositions() async throws -> [Int64] {
            try await read { try $0.positions(.pendingPositions) }
        }

        public func deadPositions() async throws -> [Int64] { try await read { try $0.positions(.deadPositions) } }

        public func revive(_ positions: [Int64], evenOvertaken: Bool, at date: Date) async throws -> Int {
            try await step(positions) {
                try await self.write { table in
                    try table.forEachDead(positions, evenOvertaken: evenOvertaken) {
                        try table.revive($0, in: $1, at: date)
                    }
                }
            }
        }

        public func discard(_ positions: [Int64]) async throws -> Int {
            try await step(positions) {
                try await self.erase { table in
                    try table.forEachDead(positions) { try table.remove($0, of: $1) }
                }
            }
        }

        public func seal() async throws -> Int64 {
            try await write { table in
                let last = try table.row(.lastPosition).flatMap { Int64.fromDatabaseValue($0[0]) } ?? 0
                try table.set("sealedThrough", to: "\(last)")
                return last
            }
        }

        public func removePending(_ positions: [Int64]) async throws -> Int {
            try await step(positions) { try await self.erase { try $0.removePending(positions) } }
        }

        /// Runs a step of an operator's change. Then leaves the database to other processes for half of the step's
        /// time, at most 100 ms: SQLite checks only ten times per second whether a lock is free.
        private func step(_ positions: [Int64], _ body: () async throws -> Int) async throws -> Int {
            let began = SystemTimeBase.shared.now
            let count = try await body()
            if positions.count >= 1_000 {
                try? await SystemTimeBase.shared.sleep(
                    for: min(began.duration(to: SystemTimeBase.shared.now) / 2, .milliseconds(100)))
            }
            return count
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
