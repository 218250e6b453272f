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
        /// The payload comes last, because SQLite would have to read through it to reach a later column.
        /// - Parameters:
        ///   - added: The columns that version 2 didn't have, as far as they exist.
        ///   - states: For a list of three, SQLite would make a table with each row.
        private static func table(_ added: [String], states: String = "BETWEEN 0 AND 2") -> String {
            """
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
                state INTEGER NOT NULL DEFAULT 0 CHECK (state \(states)), -- pending, dead, dead and blocking its lane
                head INTEGER NOT NULL DEFAULT 0 CHECK (head IN (0, 1)),
            \(added.map { "    \($0),\n" }.joined())    payload BLOB NOT NULL
            )
            """
        }

        /// `death` says which mutation died first, because the wall clock may be set back.
        private static let added = [
            "died_at REAL", "overtaken INTEGER NOT NULL DEFAULT 0", "death INTEGER NOT NULL DEFAULT 0",
            "claims INTEGER NOT NULL DEFAULT 0", "not_before REAL", "urgent INTEGER NOT NULL DEFAULT 0",
        ]

        /// The table's SQL as it is created, and as SQLite rewrites it when columns are added to an earlier version's
        /// table.
        private static let tables = ["BETWEEN 0 AND 2", "IN (0, 1, 2)"].flatMap { states in
            [table(added, states: states)]
                + [0, 2, 3, 4, 5].map { count in
                    let table = table(Array(added[..<count]), states: states)
                    return "\(table.dropLast()), \(added[count...].joined(separator: ", ")))"
                }
        }

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

        static func create(_ db: Database) throws {
            for statement in [table(added), settings] + indexes + totals { try db.execute(sql: statement) }
            try db.execute(
                sql: """
                    INSERT INTO resilience_totals VALUES (0, 0, 0, 0);
                    INSERT INTO resilience_setting VALUES ('\(versionSetting)', '\(version)');
                    """)
        }

        /// Creates the tables in the program's own database, or checks that they are the queue's.
        static func open(in db: Database, path: String) throws {
            guard try db.tableExists("resilience_setting") else { return try create(db) }
            guard let version = try version(in: db) else {
                throw SyncQueueError.unreadable(path: path, reason: "Its tables are not as the queue made them.")
            }
            try checkReader(db, of: version, path: path)
            if version < Self.version { try migrate(db, from: version) }
            try check(db, version: max(version, Self.version), path: path)
        }

        /// Whether there are tables that need not be migrated.
        static func isThere(in db: Database) throws -> Bool {
            try db.tableExists("resilience_setting") && version(in: db).map { $0 >= Self.version } ?? false
        }

        /// The version that the tables carry; nil if it can't be read.
        static func version(in db: Database) throws -> Int? {
            try SQLiteTable(db: db).setting(versionSetting).flatMap { Int($0) }
        }

        /// Checks that this version can use the tables of another.
        static func checkReader(_ db: Database, of version: Int, path: String) throws {
            guard version > Self.version else { return }
            let oldest = try? SQLiteTable(db: db).setting(OldestReader.setting)
            guard OldestReader.admits(Self.version, oldest) else {
                throw SyncQueueError.newerSchema(path: path, version: version)
            }
        }

        /// Checks the tables, indexes and triggers: one that is missing or different would lose mutations later.
        static func check(_ db: Database, version: Int, path: String) throws {
            if version < Self.version { return try check(db, version: version) }
            if version > Self.version {
                for statement in SQLiteTable.SQL.allCases { _ = try db.makeStatement(sql: statement.rawValue) }
                return
            }
            let found = try String.fetchSet(db, sql: "SELECT sql FROM sqlite_master WHERE sql NOT NULL")
            guard !found.isDisjoint(with: tables), found.isSuperset(of: [settings] + indexes + totals) else {
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

        // MARK: Earlier versions

        /// Checks that a file of this version can be read as one.
        private static func check(_ db: Database, version: Int) throws {
            if version == 1 {
                _ = try db.makeStatement(sql: version1Mutations)
                _ = try db.makeStatement(sql: "SELECT name, value FROM setting")
            } else {
                let died = version == 2 ? "" : ", died_at, overtaken"
                _ = try db.makeStatement(
                    sql: """
                        SELECT position, id, entity, kind, operation, idempotency_key, created_at, queued_at, attempted,
                        failures, last_error, state, head\(died), payload FROM resilience_mutation
                        """)
                _ = try db.makeStatement(sql: "SELECT name, value FROM resilience_setting")
            }
        }

        /// Migrates the tables. Must be called within a transaction.
        package static func migrate(_ db: Database, from version: Int) throws {
            if version == 1 { try migrateVersion1(db) } else { try extend(db) }
            try boundErrors(db)
            try recount(db)
        }

        /// Adds the columns that are missing to the table in place: a new table would drop the program's foreign keys, views
        /// and triggers. What belongs to the queue alone is created again.
        private static func extend(_ db: Database) throws {
            // Not from GRDB's cache: another may have migrated the tables since.
            let columns = try String.fetchSet(db, sql: "SELECT name FROM pragma_table_info('resilience_mutation')")
            // Version 2 had the first five.
            for (number, index) in indexes.enumerated() {
                try db.execute(sql: "DROP INDEX \(number < 5 ? "" : "IF EXISTS ")\(index.split(separator: " ")[2])")
            }
            try db.execute(
                sql: """
                    DROP TRIGGER resilience_inserted; DROP TRIGGER resilience_updated; DROP TRIGGER resilience_deleted;
                    DROP TABLE resilience_totals;
                    """)
            for column in added where !columns.contains(String(column.prefix { $0 != " " })) {
                try db.execute(sql: "ALTER TABLE resilience_mutation ADD COLUMN \(column)")
            }
            for statement in indexes + totals { try db.execute(sql: statement) }
            // The time of these deaths was not recorded.
            try db.execute(
                sql: "UPDATE resilience_mutation SET died_at = ? WHERE state > 0 AND died_at IS NULL",
                arguments: [Date().timeIntervalSinceReferenceDate])
            try db.execute(
                sql: "UPDATE resilience_setting SET value = '\(version)' WHERE name = '\(versionSetting)'")
        }

        /// Shortens errors: earlier versions kept all of a server's answer.
        private static func boundErrors(_ db: Database) throws {
            // `length` counts characters of a text and bytes of a blob, so it is never too low.
            let long = try Int64.fetchAll(
                db, sql: "SELECT position FROM resilience_mutation WHERE length(last_error) > 1000")
            for position in long {
                let row = try Row.fetchOne(
                    db, sql: "SELECT last_error FROM resilience_mutation WHERE position = ?", arguments: [position])
                guard let error = row?.text("last_error") else { continue }
                try db.execute(
                    sql: "UPDATE resilience_mutation SET last_error = ? WHERE position = ?",
                    arguments: [SQLiteTable.column(StoredMutation.bounded(error)), position])
            }
        }

        /// Version 1 knew no operations, and did not note which mutations were attempted: any of them may have been.
        private static let version1Mutations = """
            SELECT position, id, entity, kind, idempotency_key, created_at, created_at, 1, failures, last_error,
            dead <> 0, iif(dead <> 0, :now, NULL), payload FROM mutation
            """

        private static func migrateVersion1(_ db: Database) throws {
            try create(db)
            try db.execute(
                sql: """
                    INSERT INTO resilience_mutation (position, id, entity, kind, idempotency_key, created_at, queued_at,
                    attempted, failures, last_error, state, died_at, payload) \(version1Mutations)
                    """,
                arguments: ["now": Date().timeIntervalSinceReferenceDate])
            // So that no position is given twice.
            try db.execute(
                sql: """
                    DELETE FROM sqlite_sequence WHERE name = 'resilience_mutation';
                    INSERT INTO sqlite_sequence (name, seq)
                    SELECT 'resilience_mutation', seq FROM sqlite_sequence WHERE name = 'mutation';
                    """)
            // As text, because SQLite's own conversion would round it.
            let pause = try Double.fetchOne(db, sql: "SELECT value FROM setting WHERE name = 'paused_until'")
            if let pause {
                try db.execute(
                    sql: "INSERT INTO resilience_setting VALUES ('pausedUntil', ?)", arguments: ["\(pause)"])
            }
            try db.execute(sql: "DROP TABLE mutation; DROP TABLE setting")
        }
    }
#endif
