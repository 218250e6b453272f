#if SQLite
    import Foundation
    import GRDB

    /// A file as the first version of the store wrote it.
    enum Version1File {
        /// Pending at 1, 3 and 5, the third of which has failed twice; dead at 4; 2 and 6 were removed.
        static func make(_ path: String, pause: Double? = 1_800_000_000.123_456, error: String = "410") throws {
            let database = try Stranger.open(path)
            try Stranger.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \(schema)", with: database)
            try database.write { db in
                for (position, id, entity) in [
                    (1, "a1", "a"), (2, "gone", "a"), (3, "a2", "a"), (4, "b1", "b"), (5, "b\0two", "b\0"),
                    (6, "last", "c"),
                ] {
                    func column(_ text: String) -> any DatabaseValueConvertible {
                        text.utf8.contains(0) ? Data(text.utf8) : text
                    }
                    try db.execute(
                        sql: """
                            INSERT INTO mutation (position, id, entity, kind, payload, idempotency_key, created_at)
                            VALUES (?, ?, ?, 'create', ?, ?, ?)
                            """,
                        arguments: [
                            position, column(id), column(entity), Data("of \(id)".utf8), column("key of \(id)"),
                            700_000_000.123_456 + Double(position),
                        ])
                }
                try db.execute(
                    sql: """
                        DELETE FROM mutation WHERE position IN (2, 6);
                        UPDATE mutation SET failures = 2, last_error = '503' WHERE position = 3;
                        UPDATE mutation SET failures = 1, dead = 1 WHERE position = 4;
                        """)
                let column: any DatabaseValueConvertible = error.utf8.contains(0) ? Data(error.utf8) : error
                try db.execute(sql: "UPDATE mutation SET last_error = ? WHERE position = 4", arguments: [column])
                if let pause {
                    try db.execute(sql: "INSERT INTO setting VALUES ('paused_until', ?)", arguments: [pause])
                }
            }
            try database.close()
        }

        static let schema = """
            CREATE TABLE mutation (
                position INTEGER PRIMARY KEY AUTOINCREMENT,
                id TEXT NOT NULL UNIQUE,
                entity TEXT NOT NULL,
                kind TEXT NOT NULL,
                payload BLOB NOT NULL,
                idempotency_key TEXT NOT NULL,
                created_at REAL NOT NULL,
                failures INTEGER NOT NULL DEFAULT 0,
                last_error TEXT,
                dead INTEGER NOT NULL DEFAULT 0
            );
            CREATE INDEX mutation_by_state ON mutation (dead, position);
            CREATE TABLE setting (name TEXT PRIMARY KEY, value REAL);
            PRAGMA application_id = \(0x5377_5251);
            PRAGMA user_version = 1;
            """

        /// All that is in it, as the first version saw it.
        static func contents(of path: String) throws -> [[String]] {
            let database = try Stranger.open(path)
            defer { try? database.close() }
            return try database.read { db in
                let mutations = try Row.fetchAll(db, sql: "SELECT * FROM mutation ORDER BY position")
                let settings = try Row.fetchAll(db, sql: "SELECT * FROM setting")
                return (mutations + settings).map { $0.databaseValues.map(\.description) }
            }
        }
    }
#endif
