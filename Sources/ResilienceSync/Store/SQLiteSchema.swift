#if SQLite
    import Foundation
    import GRDB

    /// The queue's tables, in the store's own file or in the program's database.
    enum SQLiteSchema {
        static let version = 6
        static let mutations = "resilience_mutation"
        /// The setting that holds the version in the program's database, whose `user_version` is the program's.
        static let versionSetting = "resilience_schema"

        /// The statements that make the tables, indexes and triggers.
        private static let statements: [String] = {
            let lines = String(decoding: PackageResources.schema_sql, as: UTF8.self).components(separatedBy: "\n")
            // SQLite does not keep a comment before a statement.
            return (lines.filter { !$0.hasPrefix("--") } + [""]).joined(separator: "\n")
                .components(separatedBy: ";\n\n").filter { !$0.isEmpty }
        }()

        static func create(_ db: Database) throws {
            for statement in statements { try db.execute(sql: statement) }
            try db.execute(
                sql: """
                    INSERT INTO resilience_totals VALUES (0, 0, 0, 0);
                    INSERT INTO resilience_setting VALUES ('\(versionSetting)', '\(version)');
                    """)
        }

        /// Creates the tables in the program's own database, or checks that they are the queue's.
        static func open(in db: Database, path: String) throws {
            guard try isThere(in: db) else { return try create(db) }
            guard let version = try SQLiteTable(db: db).setting(versionSetting).flatMap({ Int($0) }) else {
                throw SyncQueueError.unreadable(path: path, reason: "Its tables are not as the queue made them.")
            }
            try checkReader(db, of: version, path: path)
            try check(db, version: version, path: path)
        }

        static func isThere(in db: Database) throws -> Bool { try db.tableExists("resilience_setting") }

        /// Checks that this version can use the tables of another. Tables from before the first release are rejected.
        static func checkReader(_ db: Database, of version: Int, path: String) throws {
            guard version >= Self.version else {
                throw SyncQueueError.unreadable(path: path, reason: "Its tables are of an earlier version, \(version).")
            }
            guard version > Self.version else { return }
            let oldest = try? SQLiteTable(db: db).setting(OldestReader.setting)
            guard OldestReader.admits(Self.version, oldest) else {
                throw SyncQueueError.newerSchema(path: path, version: version)
            }
        }

        /// Checks the tables, indexes and triggers: a missing or different one would lose mutations later.
        static func check(_ db: Database, version: Int, path: String) throws {
            if version > Self.version {
                for statement in SQLiteTable.SQL.allCases { _ = try db.makeStatement(sql: statement.text) }
                return
            }
            let found = try String.fetchSet(db, sql: "SELECT sql FROM sqlite_master WHERE sql NOT NULL")
            guard found.isSuperset(of: statements) else {
                throw SyncQueueError.unreadable(path: path, reason: "Its tables are not as the queue made them.")
            }
        }

        /// The first pending mutation of each unblocked lane, unless it waits for its date.
        private static let heads = """
            SELECT MIN(position) FROM resilience_mutation INDEXED BY resilience_lane
            WHERE state = 0 AND entity NOT IN (SELECT entity FROM resilience_mutation WHERE state = 2) GROUP BY entity
            HAVING not_before IS NULL
            """

        /// Recounts everything from the mutations.
        static func recount(_ db: Database) throws {
            try db.execute(
                sql: """
                    UPDATE resilience_mutation SET head = 0 WHERE head = 1 AND position NOT IN (\(heads));
                    UPDATE resilience_mutation SET head = 1 WHERE head = 0 AND position IN (\(heads));
                    """)
            let counted = try Row.fetchAll(
                db,
                sql: """
                    SELECT COUNT(*) FILTER (WHERE state = 0), IFNULL(SUM(length(payload)) FILTER (WHERE state = 0), 0),
                    COUNT(*) FILTER (WHERE state > 0), IFNULL(SUM(length(payload)) FILTER (WHERE state > 0), 0)
                    FROM resilience_mutation
                    """)
            let kept = try Row.fetchAll(db, sql: "SELECT pending, bytes, dead, dead_bytes FROM resilience_totals")
            func values(_ rows: [Row]) -> [[DatabaseValue]] { rows.map { Array($0.databaseValues) } }
            if values(kept) == values(counted) { return }
            try db.execute(sql: "DELETE FROM resilience_totals")
            for row in counted {
                try db.execute(
                    sql: "INSERT INTO resilience_totals VALUES (?, ?, ?, ?)",
                    arguments: StatementArguments(row.databaseValues))
            }
        }
    }
#endif
