#if SQLite
    import Foundation
    package import GRDB

    /// The queue's tables, in the store's own file or in the program's database.
    package enum SQLiteSchema {
        package static let version = 6
        static let mutations = "resilience_mutation"
        /// The setting that holds the version in the program's database, whose `user_version` is the program's.
        static let versionSetting = "resilience_schema"

        /// AUTOINCREMENT: a position is never given twice, so a late answer can't remove a newer mutation.
        ///
        /// `death` says which mutation died first, because the wall clock may be set back. Of a list of three states SQLite
        /// would make a table with each row. The payload comes last, because SQLite would have to read through it to reach a
        /// later column.
        private static let table = """
            CREATE TABLE resilience_mutation (
                position INTEGER PRIMARY KEY AUTOINCREMENT,
                id TEXT NOT NULL UNIQUE,
                entity TEXT NOT NULL,
                kind TEXT NOT NULL,
                operation TEXT,
                idempotency_key TEXT NOT NULL,
                created_at REAL NOT NULL,
                queued_at REAL NOT NULL,
                attempted INTEGER NOT NULL DEFAULT 0,
                failures INTEGER NOT NULL DEFAULT 0,
                last_error TEXT,
                state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 2), -- pending, dead, dead and blocking its lane
                head INTEGER NOT NULL DEFAULT 0 CHECK (head IN (0, 1)),
                died_at REAL,
                overtaken INTEGER NOT NULL DEFAULT 0,
                death INTEGER NOT NULL DEFAULT 0,
                claims INTEGER NOT NULL DEFAULT 0,
                not_before REAL,
                urgent INTEGER NOT NULL DEFAULT 0,
                payload BLOB NOT NULL
            )
            """

        private static let indexes = [
            "CREATE INDEX resilience_pending ON resilience_mutation (position, attempted) WHERE state = 0",
            "CREATE INDEX resilience_dead ON resilience_mutation (position) WHERE state > 0",
            "CREATE INDEX resilience_head ON resilience_mutation (position) WHERE head = 1",
            "CREATE INDEX resilience_lane ON resilience_mutation (entity, position) WHERE state = 0",
            "CREATE INDEX resilience_block ON resilience_mutation (entity) WHERE state = 2",
            "CREATE INDEX resilience_died ON resilience_mutation (state, died_at) WHERE state > 0",
            "CREATE INDEX resilience_death ON resilience_mutation (state, death) WHERE state > 0",
            "CREATE INDEX resilience_attempted ON resilience_mutation (entity, position) WHERE state = 0 AND attempted = 1",
            "CREATE INDEX resilience_not_overtaken ON resilience_mutation (entity) WHERE state > 0 AND overtaken = 0",
            "CREATE INDEX resilience_waiting ON resilience_mutation (not_before) WHERE not_before IS NOT NULL",
            "CREATE INDEX resilience_urgent ON resilience_mutation (position) WHERE head = 1 AND urgent > 0",
        ]

        private static let totals = [
            """
            CREATE TABLE resilience_totals (
                pending INTEGER NOT NULL,
                bytes INTEGER NOT NULL,
                dead INTEGER NOT NULL,
                dead_bytes INTEGER NOT NULL
            )
            """,
            """
            CREATE TRIGGER resilience_inserted AFTER INSERT ON resilience_mutation BEGIN
                UPDATE resilience_totals SET
                    pending = pending + (NEW.state = 0),
                    bytes = bytes + (NEW.state = 0) * length(NEW.payload),
                    dead = dead + (NEW.state > 0),
                    dead_bytes = dead_bytes + (NEW.state > 0) * length(NEW.payload);
            END
            """,
            """
            CREATE TRIGGER resilience_updated AFTER UPDATE OF state, payload ON resilience_mutation BEGIN
                UPDATE resilience_totals SET
                    pending = pending + (NEW.state = 0) - (OLD.state = 0),
                    bytes = bytes + (NEW.state = 0) * length(NEW.payload) - (OLD.state = 0) * length(OLD.payload),
                    dead = dead + (NEW.state > 0) - (OLD.state > 0),
                    dead_bytes =
                        dead_bytes + (NEW.state > 0) * length(NEW.payload) - (OLD.state > 0) * length(OLD.payload);
            END
            """,
            """
            CREATE TRIGGER resilience_deleted AFTER DELETE ON resilience_mutation BEGIN
                UPDATE resilience_totals SET
                    pending = pending - (OLD.state = 0),
                    bytes = bytes - (OLD.state = 0) * length(OLD.payload),
                    dead = dead - (OLD.state > 0),
                    dead_bytes = dead_bytes - (OLD.state > 0) * length(OLD.payload);
            END
            """,
        ]

        private static let settings =
            "CREATE TABLE resilience_setting (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)"

        private static let all = [table, settings] + indexes + totals

        static func create(_ db: Database) throws {
            for statement in all { try db.execute(sql: statement) }
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

        /// Checks that this version can use the tables of another. None from before the first release is used.
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

        /// Checks the tables, indexes and triggers: one that is missing or different would lose mutations later.
        static func check(_ db: Database, version: Int, path: String) throws {
            if version > Self.version {
                for statement in SQLiteTable.SQL.allCases { _ = try db.makeStatement(sql: statement.text) }
                return
            }
            let found = try String.fetchSet(db, sql: "SELECT sql FROM sqlite_master WHERE sql NOT NULL")
            guard found.isSuperset(of: all) else {
                throw SyncQueueError.unreadable(path: path, reason: "Its tables are not as the queue made them.")
            }
        }

        /// The first pending mutation of every lane that nothing blocks, if it does not wait for its date.
        private static let heads = """
            SELECT MIN(position) FROM resilience_mutation INDEXED BY resilience_lane
            WHERE state = 0 AND entity NOT IN (SELECT entity FROM resilience_mutation WHERE state = 2) GROUP BY entity
            HAVING not_before IS NULL
            """

        /// Counts everything again, from the mutations themselves.
        package static func recount(_ db: Database) throws {
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
