#if SQLite
    import Foundation
    import GRDB
    import ResilienceSync
    import ResilienceSyncTesting
    import TestSupport
    import Testing

    /// The tables of an earlier version become today's where they stand: what the program has around them is the program's.
    @Suite(.timeLimit(.minutes(20)), .heavy) struct SQLiteMigrationInPlaceTests {
        private let folder: TemporaryFolder
        private let path: String

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("queue.sqlite")
        }

        private static let own = """
            CREATE TABLE note (
                id INTEGER PRIMARY KEY, unsent INTEGER REFERENCES resilience_mutation (position) ON DELETE CASCADE
            );
            INSERT INTO note VALUES (1, 1), (2, 3), (3, 4);
            CREATE VIEW unsent AS SELECT entity FROM resilience_mutation WHERE state = 0;
            CREATE TABLE gone_ids (id TEXT);
            CREATE TRIGGER note_gone AFTER DELETE ON resilience_mutation BEGIN INSERT INTO gone_ids VALUES (OLD.id); END;
            CREATE INDEX by_kind ON resilience_mutation (kind);
            CREATE TABLE gone (a);
            CREATE VIEW stale AS SELECT a FROM gone;
            CREATE TRIGGER stale_too AFTER INSERT ON note BEGIN INSERT INTO gone VALUES (1); END;
            DROP TABLE gone;
            """

        private func ownSchema(_ db: Database) throws -> [String] {
            try String.fetchAll(
                db,
                sql: """
                    SELECT sql FROM sqlite_master WHERE sql NOT NULL AND name NOT LIKE 'resilience_%'
                    AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'grdb_%' ORDER BY name
                    """)
        }

        @Test(
            "a program's foreign keys, views, triggers and indexes stand when the queue's tables are migrated",
            arguments: [2, 3], [true, false])
        func program(version: Int, byMigrator: Bool) async throws {
            try Version2File.make(path, isOwn: false, version: version)
            try Stranger.execute(Self.own, at: path)
            let database = try DatabaseQueue(path: path)
            let before = try await database.read { try ownSchema($0) }
            #expect(before.count == 7)
            if byMigrator {
                var migrator = DatabaseMigrator()
                migrator.registerMigration("outbox") { try SQLiteStore.createTables(in: $0) }
                try migrator.migrate(database)
            }
            let store = try SQLiteStore(in: database)
            #expect(try await database.read { try ownSchema($0) } == before)
            func column<Value: DatabaseValueConvertible & Sendable>(_ sql: String) async throws -> [Value] {
                try await database.read { try Value.fetchAll($0, sql: sql) }
            }
            #expect(try await column("SELECT unsent FROM note ORDER BY id") == [1, 3, 4])
            #expect(try await column("SELECT COUNT(*) FROM unsent") == [3])
            #expect(try await column("SELECT id FROM gone_ids") as [String] == [])
            let broken = try await database.read { try Row.fetchAll($0, sql: "PRAGMA foreign_key_check").count }
            #expect(broken == 0)
            _ = try await store.apply([.acknowledged(1)], claiming: [])
            #expect(try await column("SELECT id FROM gone_ids") == ["a1"])
            #expect(try await column("SELECT unsent FROM note ORDER BY id") == [3, 4])
        }

        @Test("a migrated file keeps the contract, opened again and again", arguments: [2, 3])
        func contract(version: Int) async {
            let contract = StoreContract {
                let path = folder.path("\(UUID().uuidString).sqlite")
                try Version2File.makeEmpty(path, isOwn: true, version: version).close()
                return try SQLiteStore(path: path)
            } reopening: { store in
                try SQLiteStore(path: store.path)
            }
            #expect(await contract.check(steps: 100, tasks: 4, seed: 5).violations == [])
        }

        @Test(
            "a file of version 3 as it was at first is opened, and its mutations are there",
            arguments: [.full, .quick, .none] as [SQLiteStore.Check], [true, false])
        func firstVersion3(check: SQLiteStore.Check, isOwn: Bool) async throws {
            try Version2File.make(path, isOwn: isOwn, version: 3)
            for _ in 0..<2 {
                let store =
                    isOwn
                    ? try SQLiteStore(path: path, check: check) : try SQLiteStore(in: try DatabaseQueue(path: path))
                #expect(try await store.pending(after: .min, limit: 9).map(\.position) == [1, 3, 5])
                #expect(
                    try await store.dead(after: .min, limit: 9).map(\.diedAt?.timeIntervalSinceReferenceDate) == [7e8])
                #expect(try await store.heads(after: .min, limit: 9).map(\.position) == [1, 5])
                #expect(try await store.totals().deadBytes == 5)
            }
        }

        @Test("a table whose states are a list, as it was made at first, is the queue's", arguments: [true, false])
        func listOfStates(isOwn: Bool) async throws {
            func open() throws -> SQLiteStore {
                try isOwn ? SQLiteStore(path: path) : SQLiteStore(in: try DatabaseQueue(path: path))
            }
            _ = try await open().append([Mutation("a1")], under: AppendRules(), at: Date())
            var configuration = Configuration()
            configuration.prepareDatabase { try $0.execute(sql: "PRAGMA writable_schema = ON") }
            try await DatabaseQueue(path: path, configuration: configuration).write { db in
                try db.execute(
                    sql: """
                        UPDATE sqlite_master SET sql = replace(sql, 'BETWEEN 0 AND 2', 'IN (0, 1, 2)')
                        WHERE name = 'resilience_mutation'
                        """)
                #expect(db.changesCount == 1)
            }
            #expect(try await open().pending(after: .min, limit: 9).map(\.mutation.id) == ["a1"])
        }

        @Test("several that open an earlier file at once migrate it once", arguments: [1, 2, 3], [true, false])
        func atOnce(version: Int, isOwn: Bool) async throws {
            if version == 1, !isOwn { return }
            if version == 1 {
                try Version1File.make(path)
            } else {
                try Version2File.make(path, isOwn: isOwn, version: version)
            }
            let found = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 {
                    group.addTask { [path] in
                        var configuration = Configuration()
                        configuration.busyMode = .timeout(60)
                        let store =
                            isOwn
                            ? try SQLiteStore(path: path)
                            : try SQLiteStore(in: DatabaseQueue(path: path, configuration: configuration))
                        return try await store.totals().pending
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(found == Array(repeating: 3, count: 8))
        }

        @Test(
            "a file of version 3, 4 or 5 is opened, its mutations are there; claims, dates and urgency count from then on",
            arguments: [3, 4, 5])
        func laterVersions(version: Int) async throws {
            do { _ = try await SQLiteStore(path: path).append([Mutation("a1")], under: AppendRules(), at: Date()) }
            try Stranger.execute(
                """
                DROP INDEX resilience_urgent; ALTER TABLE resilience_mutation DROP COLUMN urgent;
                \(version == 5 ? "" : "DROP INDEX resilience_waiting; ALTER TABLE resilience_mutation DROP COLUMN not_before;")
                \(version == 3 ? "ALTER TABLE resilience_mutation DROP COLUMN claims;" : "")
                PRAGMA user_version = \(version);
                UPDATE resilience_setting SET value = '\(version)' WHERE name = 'resilience_schema'
                """, at: path)
            for claims in 1...2 {
                let store = try SQLiteStore(path: path)
                let heads = try await store.heads(after: .min, limit: 9)
                let claimed = try await store.apply([], claiming: heads.map(\.position), at: Date())
                #expect(claimed.map(\.mutation.id) == ["a1"] && claimed.map(\.claims) == [claims])
            }
            let store = try SQLiteStore(path: path)
            let date = Date(timeIntervalSince1970: 1_800_000_000)
            try await store.append([Mutation(id: "b1", entity: "b", kind: "create", notBefore: date)])
            #expect(try await store.heads(after: .min, limit: 9).map(\.id) == ["a1"])
            #expect(try await store.heads(after: .min, limit: 9, at: date).heads.map(\.id) == ["a1", "b1"])
            try await store.append([Mutation(id: "a2", entity: "a", kind: "create", isUrgent: true)])
            #expect(try await store.heads(after: .min, limit: 9, at: date).urgent.map(\.id) == ["a1"])
        }

        @Test(
            "a damaged file of version 3 as it was at first is refused and left as it is",
            arguments: [
                "ALTER TABLE resilience_mutation RENAME COLUMN kind TO sort", "DROP TRIGGER resilience_updated",
                "DROP INDEX resilience_lane",
            ], [true, false])
        func damaged(damage: String, isOwn: Bool) throws {
            try Version2File.make(path, isOwn: isOwn, version: 3)
            try Stranger.execute(damage, at: path)
            let before = try Version2File.contents(of: path)
            #expect(throws: SyncQueueError.self) {
                if isOwn { _ = try SQLiteStore(path: path) } else { _ = try SQLiteStore(in: DatabaseQueue(path: path)) }
            }
            #expect(try Version2File.contents(of: path) == before)
        }

        @Test(
            "of an error in an earlier file as much is kept as of any other (P52)",
            arguments: [1, 2, 3],
            [
                (String(repeating: "é", count: 1_001), 999), (String(repeating: "\0é", count: 700), 999),
                (String(repeating: "é", count: 999) + "\0", nil),
            ] as [(String, Int?)])
        func longError(version: Int, of error: (text: String, kept: Int?)) async throws {
            let text = error.text
            if version == 1 {
                try Version1File.make(path, error: text)
            } else {
                try Version2File.make(path, isOwn: true, version: version, error: text)
            }
            let kept = try await SQLiteStore(path: path).dead(after: .min, limit: 9).first?.lastError
            let expected =
                error.kept.map { text.unicodeScalars.prefix($0) + [Unicode.Scalar("…")] } ?? text.unicodeScalars[...]
            #expect(kept.map { Array($0.unicodeScalars) } == Array(expected))
        }
    }
#endif
