#if SQLite
    import Foundation
    import GRDB
    import ResilienceSync
    import TestSupport
    import Testing

    /// Files that are not, or no longer, a queue of ours: each is rejected, without changing a byte.
    @Suite(.timeLimit(.minutes(20)), .heavy) struct SQLiteRefusalTests {
        let folder: TemporaryFolder
        let path: String

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("queue.sqlite")
        }

        @Test(
            "a file that is not a database is rejected and left unchanged", arguments: [1, 2, 99, 100, 4096, 100_000])
        func garbage(size: Int) throws {
            try write(Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 3) }))
            try expectUnreadable()
        }

        @Test("a queue with garbage in its middle is rejected and left unchanged")
        func damaged() async throws {
            var bytes = try await filledFile()
            for index in bytes.count / 3..<bytes.count * 2 / 3 { bytes[index] = 0xA5 }
            try write(bytes)
            try expectUnreadable()
        }

        @Test(
            "a queue without one of its columns, tables, indexes or triggers is rejected and left unchanged",
            arguments: [
                "ALTER TABLE resilience_mutation RENAME COLUMN kind TO sort", "DROP TABLE resilience_setting",
                "DROP TABLE resilience_mutation", "DROP TABLE resilience_totals", "DROP INDEX resilience_head",
                "DROP INDEX resilience_pending", "DROP INDEX resilience_dead", "DROP INDEX resilience_lane",
                "DROP INDEX resilience_block", "DROP TRIGGER resilience_updated",
                """
                DROP TRIGGER resilience_deleted;
                CREATE TRIGGER resilience_deleted AFTER DELETE ON resilience_mutation BEGIN SELECT 1; END
                """,
            ], [.full, .quick, .none] as [SQLiteStore.Check])
        func otherSchema(change: String, check: SQLiteStore.Check) async throws {
            _ = try await filledFile()
            try Stranger.execute(change, at: path)
            try expectUnreadable("tables", check: check)
        }

        // Apple's SQLite does not allow writes to its schema.
        #if os(Linux)
            @Test("a queue whose index hides a mutation is rejected and left unchanged")
            func hidden() async throws {
                _ = try await filledFile()
                func define(_ condition: String) throws {
                    let index = "CREATE INDEX resilience_lane ON resilience_mutation (entity, position) WHERE state = "
                    try Stranger.execute(
                        """
                        PRAGMA writable_schema = ON;
                        UPDATE sqlite_master SET sql = '\(index + condition)' WHERE name = 'resilience_lane'
                        """, at: path)
                }
                try define("2")
                try Stranger.execute(
                    """
                    INSERT INTO resilience_mutation (id, entity, kind, payload, idempotency_key, created_at, queued_at)
                    VALUES ('b1', 'b', 'create', x'', 'key', 0, 0)
                    """, at: path)
                try define("0")
                try expectUnreadable("damaged")
            }
        #endif

        @Test("a full check recounts totals and heads that were tampered with")
        func tampered() async throws {
            _ = try await filledFile()
            try Stranger.execute(
                """
                UPDATE resilience_mutation SET head = 1 - head WHERE position IN (1, 2, 3);
                UPDATE resilience_totals SET pending = 7, bytes = 7, dead = 7;
                """, at: path)
            let store = try SQLiteStore(path: path)
            #expect(
                try await store.totals()
                    == QueueTotals(
                        pending: 500, bytes: 150_000, dead: 0, oldest: Date(timeIntervalSince1970: 1_700_000_000)))
            #expect(try await store.heads(after: .min, limit: 9).map(\.position) == [1])
            try Stranger.execute("DELETE FROM resilience_totals", at: path)
            #expect(try await SQLiteStore(path: path).totals().pending == 500)
        }

        @Test("a truncated queue is rejected and left unchanged", arguments: [0.01, 0.5, 0.99])
        func truncated(share: Double) async throws {
            let bytes = try await filledFile()
            try write(bytes.prefix(max(50, Int(Double(bytes.count) * share))))
            try expectUnreadable()
        }

        @Test("another program's database is rejected and left unchanged")
        func foreign() throws {
            try Stranger.execute("CREATE TABLE note (text TEXT); INSERT INTO note VALUES ('mine')", at: path)
            try expectUnreadable("another program")
        }

        @Test(
            "an empty database with another program's mark is rejected and left unchanged",
            arguments: ["application_id", "user_version"])
        func foreignMark(mark: String) throws {
            try Stranger.execute("PRAGMA \(mark) = 77", at: path)
            try expectUnreadable("another program")
        }

        @Test("a queue of a newer version is rejected as such and left unchanged")
        func newer() async throws {
            _ = try await filledFile()
            try Stranger.execute("PRAGMA user_version = 7", at: path)
            let before = try folder.contents()
            let error = #expect(throws: SyncQueueError.self) { try SQLiteStore(path: path) }
            #expect(error == .newerSchema(path: path, version: 7))
            #expect(error?.description.contains(path) == true)
            #expect(try folder.contents() == before)
        }

        @Test("a queue of an earlier, unreleased version is rejected and left unchanged")
        func earlier() async throws {
            _ = try await filledFile()
            try Stranger.execute("PRAGMA user_version = 5", at: path)
            try expectUnreadable("earlier version, 5", check: .none)
        }

        @Test("a version that a newer one names as compatible can use the newer file, which keeps its version")
        func newerForOlder() async throws {
            _ = try await filledFile()
            try Stranger.execute(
                """
                PRAGMA user_version = 7; ALTER TABLE resilience_mutation ADD COLUMN color TEXT DEFAULT 'red';
                CREATE INDEX resilience_color ON resilience_mutation (color);
                INSERT INTO resilience_setting VALUES ('resilience_oldest_reader', '6');
                """, at: path)
            for check in [.full, .quick, .none] as [SQLiteStore.Check] {
                let store = try SQLiteStore(path: path, check: check)
                let head = try #require(await store.heads(after: .min, limit: 1).first)
                _ = try await store.apply([], claiming: [head.position])
                _ = try await store.apply([.acknowledged(head.position)], claiming: [])
                try await store.append([Mutation("b\(check)")])
                try store.close()
            }
            #expect(try await SQLiteStore(path: path).totals().pending == 500)
            try Stranger.execute("UPDATE resilience_setting SET value = '7'", at: path)
            #expect(throws: SyncQueueError.newerSchema(path: path, version: 7)) { try SQLiteStore(path: path) }
            try Stranger.execute("UPDATE resilience_setting SET value = '3'; DROP INDEX resilience_head", at: path)
            try expectUnreadable("resilience_head", check: .none)
        }

        @Test("a queue of a newer version whose writer crashed is rejected, and nothing in it is lost")
        func newerAfterCrash() async throws {
            _ = try await filledFile()
            let writer = try Stranger.open(path)
            try Stranger.execute("PRAGMA journal_mode = WAL; PRAGMA user_version = 7", with: writer)
            let copy = try TemporaryFolder()
            for (name, bytes) in try folder.contents() where !name.hasSuffix("-shm") {
                try bytes.write(to: copy.url.appendingPathComponent(name))
            }
            try writer.close()
            let name = copy.path("queue.sqlite")
            for _ in 0..<2 {
                #expect(throws: SyncQueueError.newerSchema(path: name, version: 7)) { try SQLiteStore(path: name) }
            }
            try Stranger.execute("PRAGMA user_version = 6", at: name)
            #expect(try await SQLiteStore(path: name).totals().pending == 500)
        }

        @Test("a folder is rejected")
        func directory() throws {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try expectUnreadable()
        }

        @Test(
            "a path in a missing or unwritable folder is rejected",
            arguments: ["missing/deep", "/proc", "/dev/null"])
        func noParent(parent: String) throws {
            let parent = parent.hasPrefix("/") ? parent : folder.path(parent)
            let path = "\(parent)/queue.sqlite"
            let error = #expect(throws: SyncQueueError.self) { try SQLiteStore(path: path) }
            #expect(error?.description.contains(path) == true)
        }

        @Test("an empty file is a fresh start")
        func empty() async throws {
            try write(Data())
            let store = try SQLiteStore(path: path)
            try await store.append([Mutation("a1")])
            #expect(try await store.totals().pending == 1)
        }

        private func write(_ bytes: Data) throws { try bytes.write(to: URL(fileURLWithPath: path)) }

        /// The bytes of a closed queue of 500 mutations.
        private func filledFile() async throws -> Data {
            do {
                let store = try SQLiteStore(path: path)
                try await store.append(
                    (0..<500).map { Mutation("a\($0)", payload: String(repeating: "x", count: 300)) })
                // A connection's last reference may be gone a moment after its last answer.
                try store.close()
            }
            let names = try folder.contents().keys
            #expect(Array(names) == ["queue.sqlite"])
            return try Data(contentsOf: URL(fileURLWithPath: path))
        }

        private func expectUnreadable(_ reason: String = "", check: SQLiteStore.Check = .full) throws {
            let before = try folder.contents()
            let error = #expect(throws: SyncQueueError.self) { try SQLiteStore(path: path, check: check) }
            guard case .unreadable(path, _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(
                error?.description.contains(path) == true
                    && (reason.isEmpty || error?.description.contains(reason) == true))
            #expect(try folder.contents() == before)
        }
    }

    /// Another writer of the file.
    enum Stranger {
        static func open(_ path: String) throws -> DatabaseQueue { try DatabaseQueue(path: path) }

        static func execute(_ sql: String, with database: DatabaseQueue) throws {
            try database.writeWithoutTransaction { try $0.execute(sql: sql) }
        }

        static func execute(_ sql: String, at path: String) throws {
            let database = try open(path)
            try execute(sql, with: database)
            try database.close()
        }
    }
#endif
