#if SQLite
    import Foundation
    import GRDB
    import Resilience

    extension SQLiteStore {
        /// Opens the queue in a file that is there, the store's own or a program's database, and makes, migrates and checks
        /// nothing. Such a store does not shrink the file.
        package convenience init(existing path: String) throws {
            // Without this, SQLite would make the file.
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
                guard let version = try database.unsafeRead(Self.version) else {
                    throw SyncQueueError.unreadable(path: path, reason: "It holds no queue.")
                }
                guard version >= SQLiteSchema.version else {
                    throw SyncQueueError.unreadable(
                        path: path,
                        reason:
                            "Its tables are of an earlier version, \(version): its program migrates them when it opens them."
                    )
                }
                return database
            }
            // There is nothing to make now, and nothing to migrate.
            try self.init(in: database)
        }

        /// The version of a queue's tables; nil if there are none.
        private static func version(of db: Database) throws -> Int? {
            if try db.tableExists("resilience_setting") { return try SQLiteSchema.version(in: db) }
            let isOwn = try Int.fetchOne(db, sql: "PRAGMA application_id") == applicationID
            return isOwn ? try Int.fetchOne(db, sql: "PRAGMA user_version") : nil
        }
    }
#endif
