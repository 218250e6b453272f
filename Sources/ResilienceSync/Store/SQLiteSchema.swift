#if SQLite
    import Foundation
    package import GRDB

    /// The queue's tables, in whichever database they are.
    package enum SQLiteSchema {
        package static let version = 3
        static let mutations = "resilience_mutation"
        /// Where the version is kept in a database that is not ours alone, and so has no `user_version` for us.
        static let versionSetting = "resilience_schema"

        /// AUTOINCREMENT: a position is never given twice, so that a late answer can't remove a newer mutation.
        ///
        /// The payload comes last: to read what comes after it, SQLite would have to read through it.
        private static let schema = [
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
                state INTEGER NOT NULL DEFAULT 0 CHECK (state IN (0, 1, 2)), -- pending, dead, dead and blocking its lane
                head INTEGER NOT NULL DEFAULT 0 CHECK (head IN (0, 1)),
                died_at REAL,
                overtaken INTEGER NOT NULL DEFAULT 0,
                payload BLOB NOT NULL
            )
            """,
            "CREATE INDEX resilience_pending ON resilience_mutation (position, attempted) WHERE state = 0",
            "CREATE INDEX resilience_dead ON resilience_mutation (position) WHERE state > 0",
            "CREATE INDEX resilience_head ON resilience_mutation (position) WHERE head = 1",
            "CREATE INDEX resilience_lane ON resilience_mutation (entity, position) WHERE state = 0",
            "CREATE INDEX resilience_block ON resilience_mutation (entity) WHERE state = 2",
            "CREATE INDEX resilience_died ON resilience_mutation (state, died_at) WHERE state > 0",
            "CREATE INDEX resilience_not_overtaken ON resilience_mutation (entity) WHERE state > 0 AND overtaken = 0",
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
            settings,
        ]

        private static let settings =
            "CREATE TABLE resilience_setting (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)"

        static func create(_ db: Database) throws {
            for statement in schema { try db.execute(sql: statement) }
            try db.execute(
                sql: """
                    INSERT INTO resilience_totals VALUES (0, 0, 0, 0);
                    INSERT INTO resilience_setting VALUES ('\(versionSetting)', '\(version)');
                    """)
        }

        /// Makes the tables in somebody's own database, or checks that they are ours.
        static func open(in db: Database, path: String) throws {
            guard try db.tableExists("resilience_setting") else { return try create(db) }
            let setting = try String.fetchOne(
                db, sql: "SELECT value FROM resilience_setting WHERE name = ?", arguments: [versionSetting])
            guard let version = setting.flatMap({ Int($0) }) else {
                throw SyncQueueError.unreadable(path: path, reason: "Its tables are not as the queue made them.")
            }
            guard version <= Self.version else { throw SyncQueueError.newerSchema(path: path, version: version) }
            if version == 2 { try migrateVersion2(db) }
            try check(db, path: path)
        }

        /// A table, an index or a trigger that is missing or is another would lose mutations later.
        static func check(_ db: Database, path: String) throws {
            let found = try String.fetchSet(db, sql: "SELECT sql FROM sqlite_master WHERE sql NOT NULL")
            guard found.isSuperset(of: schema) else {
                throw SyncQueueError.unreadable(path: path, reason: "Its tables are not as the queue made them.")
            }
        }

        /// The first pending mutation of every lane that nothing blocks.
        private static let heads = """
            SELECT MIN(position) FROM resilience_mutation INDEXED BY resilience_lane
            WHERE state = 0 AND entity NOT IN (SELECT entity FROM resilience_mutation WHERE state = 2) GROUP BY entity
            """

        /// Counts everything anew, from the mutations themselves.
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

        /// That a file of this version can be read as one.
        static func check(_ db: Database, version: Int) throws {
            version == 1 ? try checkVersion1(db) : try checkVersion2(db)
        }

        static func migrate(_ db: Database, from version: Int) throws {
            version == 1 ? try migrateVersion1(db) : try migrateVersion2(db)
        }

        private static func checkVersion2(_ db: Database) throws {
            _ = try db.makeStatement(sql: version2Mutations("resilience_mutation"))
            _ = try db.makeStatement(sql: "SELECT name, value FROM resilience_setting")
        }

        /// It did not note when a mutation died, so that counts as now; nor whether one was overtaken.
        private static func version2Mutations(_ table: String) -> String {
            """
            SELECT position, id, entity, kind, operation, idempotency_key, created_at, queued_at, attempted, failures,
            last_error, state, head, iif(state > 0, :now, NULL), 0, payload FROM \(table) ORDER BY position
            """
        }

        /// Within a transaction.
        package static func migrateVersion2(_ db: Database) throws {
            let old = "resilience_mutation_2"
            try db.execute(
                sql: """
                    DROP TRIGGER resilience_inserted; DROP TRIGGER resilience_updated; DROP TRIGGER resilience_deleted;
                    DROP INDEX resilience_pending; DROP INDEX resilience_dead; DROP INDEX resilience_head;
                    DROP INDEX resilience_lane; DROP INDEX resilience_block; DROP TABLE resilience_totals;
                    ALTER TABLE resilience_mutation RENAME TO \(old);
                    """)
            for statement in schema where statement != settings { try db.execute(sql: statement) }
            try db.execute(
                sql: "INSERT INTO resilience_mutation \(version2Mutations(old))",
                arguments: ["now": Date().timeIntervalSinceReferenceDate])
            try moveSequence(db, from: old)
            try db.execute(
                sql: """
                    DROP TABLE \(old);
                    UPDATE resilience_setting SET value = '\(version)' WHERE name = '\(versionSetting)';
                    """)
            try recount(db)
        }

        /// So that no position is given again.
        private static func moveSequence(_ db: Database, from table: String) throws {
            try db.execute(
                sql: """
                    DELETE FROM sqlite_sequence WHERE name = 'resilience_mutation';
                    INSERT INTO sqlite_sequence (name, seq)
                    SELECT 'resilience_mutation', seq FROM sqlite_sequence WHERE name = '\(table)';
                    """)
        }

        private static func checkVersion1(_ db: Database) throws {
            _ = try db.makeStatement(sql: version1Mutations)
            _ = try db.makeStatement(sql: "SELECT name, value FROM setting")
        }

        /// It knew no operations, and didn't note what was attempted: any may have been.
        private static let version1Mutations = """
            SELECT position, id, entity, kind, NULL, idempotency_key, created_at, created_at, 1, failures, last_error,
            dead <> 0, 0, iif(dead <> 0, :now, NULL), 0, payload FROM mutation ORDER BY position
            """

        /// Within a transaction.
        package static func migrateVersion1(_ db: Database) throws {
            try create(db)
            try db.execute(
                sql: "INSERT INTO resilience_mutation \(version1Mutations)",
                arguments: ["now": Date().timeIntervalSinceReferenceDate])
            try moveSequence(db, from: "mutation")
            // As text: SQLite's own conversion would round it.
            let pause = try Double.fetchOne(db, sql: "SELECT value FROM setting WHERE name = 'paused_until'")
            if let pause {
                try db.execute(
                    sql: "INSERT INTO resilience_setting VALUES ('pausedUntil', ?)", arguments: ["\(pause)"])
            }
            try db.execute(sql: "DROP TABLE mutation; DROP TABLE setting")
            try recount(db)
        }
    }
#endif
