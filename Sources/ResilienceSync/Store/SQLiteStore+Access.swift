#if SQLite
    import Foundation
    import GRDB
    import Resilience

    #if os(Linux)
        import CSQLiteSystem
    #else
        import SQLite3
    #endif

    /// Reading and writing, on GRDB's connections.
    extension SQLiteStore {
        enum Access { case open, use }

        /// Describes a failure as an error of the queue.
        static func failure(to access: Access, _ path: String, _ error: DatabaseError) -> SyncQueueError {
            let reason = "\(error.message ?? "SQLite error \(error.extendedResultCode.rawValue)")."
            switch (access, error.resultCode) {
            // The file exists, and may work later.
            case (.use, _), (_, .SQLITE_BUSY), (_, .SQLITE_LOCKED), (_, .SQLITE_READONLY), (_, .SQLITE_FULL),
                (_, .SQLITE_IOERR), (_, .SQLITE_NOMEM):
                return .storeFailed(path: path, reason: reason)
            case (.open, _):
                return .unreadable(path: path, reason: reason)
            }
        }

        /// Runs a body, and turns its failures into errors of the queue.
        static func describing<R>(_ access: Access, _ path: String, _ body: () throws -> R) throws -> R {
            do { return try body() } catch let error as DatabaseError { throw failure(to: access, path, error) }
        }

        /// Checks for conditions that GRDB and SQLite do not detect: GRDB traps if the database is closed, and SQLite
        /// continues to write to a file that has lost its name.
        static func checkUsable(_ db: Database, path: String) throws {
            guard let connection = db.sqliteConnection else {
                throw SyncQueueError.storeFailed(path: path, reason: "The database is closed.")
            }
            var hasMoved: CInt = 0
            sqlite3_file_control(connection, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
            guard hasMoved == 0 else {
                throw SyncQueueError.storeFailed(
                    path: path, reason: "The file was deleted, moved or replaced while it was open.")
            }
        }

        func read<R: Sendable>(_ body: @escaping @Sendable (SQLiteTable) throws -> R) async throws -> R {
            do {
                // Not `read`, whose transaction begins before the check.
                return try await database.unsafeRead { [path] db in
                    try Self.checkUsable(db, path: path)
                    return try db.readOnly { try db.isolated { try body(SQLiteTable(db: db)) } }
                }
            } catch let error as DatabaseError {
                throw Self.failure(to: .use, path, error)
            }
        }

        /// Writes in one transaction. Cancelling the task does not undo the write, because sent mutations must be
        /// noted.
        func write<R: Sendable>(_ body: @escaping @Sendable (SQLiteTable) throws -> R) async throws -> R {
            try await access { db in try db.isolated { try body(SQLiteTable(db: db)) } }
        }

        private func access<R: Sendable>(_ body: @escaping @Sendable (Database) throws -> R) async throws -> R {
            let asked = ContinuousClock.now
            do {
                return try await withCheckedThrowingContinuation { continuation in
                    // Doesn't capture the store: if the closure had the last reference, it would close the busy
                    // database.
                    database.asyncWriteWithoutTransaction { [path, lockWait] db in
                        continuation.resume(
                            with: Result {
                                try Self.checkUsable(db, path: path)
                                guard !db.isInsideTransaction else {
                                    throw DatabaseError(message: "The program left a transaction open")
                                }
                                return try lockWait?.share(since: asked, db) { try body(db) } ?? body(db)
                            })
                    }
                }
            } catch let error as DatabaseError {
                throw Self.failure(to: .use, path, error)
            }
        }

        /// Writes like ``write(_:)``, but overwrites removed data, in the file and in the log.
        func erase<R: Sendable>(_ body: @escaping @Sendable (SQLiteTable) throws -> R) async throws -> R {
            try await access { [isOwn] db in
                let setting = try Int.fetchOne(db, sql: "PRAGMA secure_delete") ?? 0
                try db.execute(sql: "PRAGMA secure_delete = ON")
                defer { try? db.execute(sql: "PRAGMA secure_delete = \(setting == 2 ? "FAST" : "\(setting)")") }
                let result = try db.isolated { try body(SQLiteTable(db: db)) }
                // The data is removed in any case. Because of a reader or a full disk, traces may stay until the next
                // time.
                Self.withoutWaiting(db) { mayTruncate in
                    if isOwn { try? Self.shrink(db) }
                    _ = try? db.checkpoint(mayTruncate ? .truncate : .passive)
                }
                return result
            }
        }

        /// Runs a body that does not wait for readers, because the program's own writes would also wait.
        /// - Parameter body: Receives whether waiting is off. If the program has a callback, waiting stays on, because
        ///   the callback could not be restored.
        private static func withoutWaiting(_ db: Database, _ body: (Bool) -> Void) {
            let seconds: Double
            switch db.configuration.busyMode {
            case .immediateError: seconds = 0
            case .timeout(let timeout): seconds = timeout
            case .callback: return body(false)
            }
            guard (try? db.execute(sql: "PRAGMA busy_timeout = 0")) != nil else { return body(false) }
            defer { try? db.execute(sql: "PRAGMA busy_timeout = \(Int(seconds * 1_000))") }
            body(true)
        }

        /// Whether rewriting the file costs no more than was removed from it.
        static func isMostlyFree(_ db: Database) throws -> Bool {
            let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            let free = try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0
            return free * 2 >= pages
        }

        /// Frees unused space. If the queue is empty, this also removes traces of earlier removals.
        private static func shrink(_ db: Database) throws {
            let isEmpty = try Int.fetchOne(db, sql: "SELECT 1 FROM resilience_mutation LIMIT 1") == nil
            if try isEmpty || isMostlyFree(db) { try db.execute(sql: "VACUUM") }
        }
    }

    /// Shares a failed wait: calls wait for each other, and the first of them waits for another process's lock. If its
    /// wait fails, the calls behind it have already waited as long.
    final class SharedLockWait: Sendable {
        private let length: Duration
        /// When a call last waited in vain.
        private let waitedInVain = Locked<ContinuousClock.Instant?>(nil)

        init(length: Duration) { self.length = length }

        func share<R>(since asked: ContinuousClock.Instant, _ db: Database, _ body: () throws -> R) throws -> R {
            let waited = waitedInVain.withLock { $0.map { max(.zero, asked.duration(to: $0)) } } ?? .zero
            sqlite3_busy_timeout(db.sqliteConnection, CInt(max(.zero, length - waited) / .milliseconds(1)))
            do { return try body() } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
                waitedInVain.withLock { $0 = .now }
                throw error
            }
        }
    }

    extension Database {
        /// Runs `body` in a transaction, or in a savepoint of the open one.
        func isolated<R>(_ body: () throws -> R) throws -> R {
            var result: R?
            try inSavepoint {
                result = try body()
                return .commit
            }
            // The body has set it, or has thrown.
            return result!
        }
    }
#endif
