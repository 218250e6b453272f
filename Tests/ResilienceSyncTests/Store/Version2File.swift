#if SQLite
    import Foundation
    import GRDB

    /// A file as the second version of the store wrote it, or the third at first.
    enum Version2File {
        /// Pending at 1, 3 and 5, the first of which has failed twice; dead at 4; 2 and 6 were removed.
        static func make(_ path: String, isOwn: Bool, version: Int = 2, error: String = "410") throws {
            let database = try makeEmpty(path, isOwn: isOwn, version: version)
            try database.write { db in
                try db.execute(sql: "INSERT INTO resilience_setting VALUES ('pausedUntil', '1800000000.5')")
                for (position, id, entity) in [
                    (1, "a1", "a"), (2, "gone", "a"), (3, "a2", "a"), (4, "b1", "b"), (5, "b\0two", "b\0"),
                    (6, "last", "c"),
                ] {
                    func column(_ text: String) -> any DatabaseValueConvertible {
                        text.utf8.contains(0) ? Data(text.utf8) : text
                    }
                    let date = 700_000_000.123_456 + Double(position)
                    try db.execute(
                        sql: """
                            INSERT INTO resilience_mutation
                            (position, id, entity, kind, idempotency_key, created_at, queued_at, head, payload)
                            VALUES (?, ?, ?, 'create', ?, ?, ?, ?, ?)
                            """,
                        arguments: [
                            position, column(id), column(entity), column("key of \(id)"), date, date,
                            [1, 4, 5, 6].contains(position) ? 1 : 0, Data("of \(id)".utf8),
                        ])
                }
                try db.execute(
                    sql: """
                        DELETE FROM resilience_mutation WHERE position IN (2, 6);
                        UPDATE resilience_mutation SET failures = 2, last_error = '503', attempted = 1 WHERE position = 1;
                        UPDATE resilience_mutation SET state = 1, head = 0 WHERE position = 4;
                        """)
                let column: any DatabaseValueConvertible = error.utf8.contains(0) ? Data(error.utf8) : error
                try db.execute(
                    sql: "UPDATE resilience_mutation SET last_error = ? WHERE position = 4", arguments: [column])
                if version == 3 {
                    try db.execute(sql: "UPDATE resilience_mutation SET died_at = 7e8 WHERE position = 4")
                }
            }
            try database.close()
        }

        /// One that never held a mutation.
        @discardableResult
        static func makeEmpty(_ path: String, isOwn: Bool, version: Int = 2) throws -> DatabaseQueue {
            let database = try Stranger.open(path)
            try Stranger.execute("PRAGMA journal_mode = WAL", with: database)
            try database.write { db in
                for statement in version == 2 ? schema : Version3File.schema { try db.execute(sql: statement) }
                let zeros = version == 2 ? "0, 0, 0" : "0, 0, 0, 0"
                try db.execute(
                    sql: """
                        INSERT INTO resilience_totals VALUES (\(zeros));
                        INSERT INTO resilience_setting VALUES ('resilience_schema', '\(version)');
                        """)
                if isOwn {
                    try db.execute(sql: "PRAGMA application_id = \(0x5377_5251); PRAGMA user_version = \(version)")
                }
            }
            return database
        }

        /// All that is in its tables.
        static func contents(of path: String) throws -> [[DatabaseValue]] {
            try Stranger.open(path).read { db in
                try ["SELECT * FROM resilience_mutation", "SELECT * FROM resilience_setting", "PRAGMA user_version"]
                    .flatMap { try Row.fetchAll(db, sql: $0).map { Array($0.databaseValues) } }
            }
        }

        static let schema = [
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
                payload BLOB NOT NULL
            )
            """,
            "CREATE INDEX resilience_pending ON resilience_mutation (position, attempted) WHERE state = 0",
            "CREATE INDEX resilience_dead ON resilience_mutation (position) WHERE state > 0",
            "CREATE INDEX resilience_head ON resilience_mutation (position) WHERE head = 1",
            "CREATE INDEX resilience_lane ON resilience_mutation (entity, position) WHERE state = 0",
            "CREATE INDEX resilience_block ON resilience_mutation (entity) WHERE state = 2",
            """
            CREATE TABLE resilience_totals (
                pending INTEGER NOT NULL,
                bytes INTEGER NOT NULL,
                dead INTEGER NOT NULL
            )
            """,
            """
            CREATE TRIGGER resilience_inserted AFTER INSERT ON resilience_mutation BEGIN
                UPDATE resilience_totals SET
                    pending = pending + (NEW.state = 0),
                    bytes = bytes + (NEW.state = 0) * length(NEW.payload),
                    dead = dead + (NEW.state > 0);
            END
            """,
            """
            CREATE TRIGGER resilience_updated AFTER UPDATE OF state, payload ON resilience_mutation BEGIN
                UPDATE resilience_totals SET
                    pending = pending + (NEW.state = 0) - (OLD.state = 0),
                    bytes = bytes + (NEW.state = 0) * length(NEW.payload) - (OLD.state = 0) * length(OLD.payload),
                    dead = dead + (NEW.state > 0) - (OLD.state > 0);
            END
            """,
            """
            CREATE TRIGGER resilience_deleted AFTER DELETE ON resilience_mutation BEGIN
                UPDATE resilience_totals SET
                    pending = pending - (OLD.state = 0),
                    bytes = bytes - (OLD.state = 0) * length(OLD.payload),
                    dead = dead - (OLD.state > 0);
            END
            """,
            "CREATE TABLE resilience_setting (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
        ]
    }
#endif
