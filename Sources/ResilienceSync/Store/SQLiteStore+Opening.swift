#if SQLite
    import Foundation
    import GRDB

    /// Opening a file. If it is not a queue's, it is rejected before anything is written.
    extension SQLiteStore {
        /// "SwRQ"
        static let applicationID = 0x5377_5251

        /// Opens the queue in an existing file, the store's own or a program's database, and creates nothing. Such a
        /// store does not shrink the file.
        package convenience init(existing path: String) throws {
            // Without this, SQLite would create the file.
            var isFolder = ObjCBool(false)
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
                throw SyncQueueError.unreadable(path: path, reason: "There is no such file.")
            }
            try Self.checkHeader(path: path)
            var configuration = Configuration()
            configuration.busyMode = .timeout(5)
            configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = FULL") }
            let database = try Self.describing(.open, path) {
                let database = try DatabaseQueue(path: path, configuration: configuration)
                guard try database.unsafeRead(SQLiteSchema.isThere) else {
                    throw SyncQueueError.unreadable(path: path, reason: "It holds no queue.")
                }
                return database
            }
            // This creates nothing.
            try self.init(in: database)
        }

        /// Rejects a file that is not SQLite's: SQLite would treat a file of less than a page as empty, and overwrite
        /// it.
        static func checkHeader(path: String) throws {
            guard let head = try? FileHandle(forReadingAtPath: path)?.read(upToCount: 16), !head.isEmpty,
                head != Data("SQLite format 3\0".utf8)
            else { return }
            throw SyncQueueError.unreadable(path: path, reason: "It is not an SQLite file.")
        }

        /// Tries again while the file is locked. If several connections open a new file at the same time, SQLite
        /// reports a lock to one of them at once instead of waiting.
        static func untilUnlocked<R>(for seconds: Double, _ open: () throws -> R) throws -> R {
            let end = ContinuousClock.now + .seconds(seconds)
            while true {
                do {
                    return try open()
                } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY && ContinuousClock.now < end {
                    Thread.sleep(forTimeInterval: 0.001)
                }
            }
        }

        static func open(_ db: Database, path: String, _ check: Check) throws {
            // This needs a transaction, because another process may be creating the file.
            try db.inTransaction(.deferred) {
                try inspect(db, path: path, check)
                return .commit
            }
            // With FULL, a commit is on the disk before it returns, even in WAL mode; on Apple's systems this needs the
            // other two settings.
            try db.execute(
                sql: """
                    PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                    PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON
                    """)
            try db.inTransaction(.immediate) {
                // Read again: another process may have created the file since.
                guard try version(of: db, path: path) == nil else {
                    if check == .full { try SQLiteSchema.recount(db) }
                    return .commit
                }
                try SQLiteSchema.create(db)
                try db.execute(
                    sql: "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(SQLiteSchema.version)")
                return .commit
            }
            // A full disk does not prevent a queue from being opened.
            if try check == .full && isMostlyFree(db) { try? db.execute(sql: "VACUUM") }
        }

        /// Rejects a file that is not a queue's, and writes nothing.
        private static func inspect(_ db: Database, path: String, _ check: Check) throws {
            guard let version = try version(of: db, path: path) else { return }
            let pragma: String? =
                switch check {
                case .full: "integrity_check"
                // This check would miss an index that hides a mutation.
                case .quick: "quick_check"
                case .none: nil
                }
            if let pragma {
                let verdict = try String.fetchOne(db, sql: "PRAGMA \(pragma)(1)")
                guard verdict == "ok" else {
                    throw SyncQueueError.unreadable(path: path, reason: "It is damaged: \(verdict ?? "no answer").")
                }
            }
            try SQLiteSchema.check(db, version: version, path: path)
        }

        /// The version of a queue's schema; nil if the file is new.
        private static func version(of db: Database, path: String) throws -> Int? {
            let tables = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM sqlite_master") ?? 0
            let application = try Int.fetchOne(db, sql: "PRAGMA application_id") ?? 0
            let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
            if tables == 0 && application == 0 && version == 0 { return nil }
            guard application == applicationID else {
                throw SyncQueueError.unreadable(path: path, reason: "It is a database of another program.")
            }
            try SQLiteSchema.checkReader(db, of: version, path: path)
            return version
        }

        /// The file's full path; empty if the database is in memory.
        static func file(of db: Database) throws -> String {
            try String.fetchOne(db, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'") ?? ""
        }
    }
#endif
