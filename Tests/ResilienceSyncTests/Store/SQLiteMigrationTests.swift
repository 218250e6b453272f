#if SQLite
    import Foundation
    import GRDB
    import ResilienceSync
    import Testing

    /// What the first version of the store wrote.
    @Suite(.timeLimit(.minutes(20))) struct SQLiteMigrationTests {
        let folder: TemporaryFolder
        let path: String

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("queue.sqlite")
        }

        @Test(
            "every mutation of a version 1 file is there: its place, failures, key and texts, pending or dead",
            arguments: [.full, .quick, .none] as [SQLiteStore.Check])
        func everything(check: SQLiteStore.Check) async throws {
            try Version1File.make(path)
            let before = Date()
            for check in [check, .full] {
                let store = try SQLiteStore(path: path, check: check)
                let pending = try await store.pending(after: .min, limit: 9)
                #expect(pending.map(\.position) == [1, 3, 5])
                #expect(
                    pending.map(\.mutation) == [(1, "a1", "a"), (3, "a2", "a"), (5, "b\0two", "b\0")].map(mutation))
                #expect(pending.map(\.failures) == [0, 2, 0] && pending.map(\.lastError) == [nil, "503", nil])
                #expect(pending.map(\.queuedAt) == pending.map(\.mutation.createdAt))
                // It may have been sent, so that nothing is coalesced into it.
                #expect(pending.allSatisfy { $0.isAttempted && $0.diedAt == nil })
                let dead = try await store.dead(after: .min, limit: 9)
                #expect(dead.map(\.mutation) == [mutation(4, "b1", "b")])
                #expect(dead.map(\.failures) == [1] && dead.map(\.lastError) == ["410"])
                // When it was migrated, as far as anybody knows.
                let died = try #require(dead.first?.diedAt)
                #expect(died >= before && died <= Date())
                #expect(try await store.heads(after: .min, limit: 9).map(\.position) == [1, 5])
                let totals = try await store.totals()
                #expect(
                    totals == QueueTotals(pending: 3, bytes: 18, dead: 1, deadBytes: 5, oldest: pending.first?.queuedAt)
                )
            }
            let tables = try await Stranger.open(path).read { db in
                try String.fetchSet(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
            }
            #expect(tables.isDisjoint(with: ["mutation", "setting"]), "nothing of the old tables stays")
        }

        @Test(
            "the pause of a version 1 file is kept to the microsecond", arguments: [1_700_000_000.123_456, 1e300, nil])
        func pause(pause: Double?) async throws {
            try Version1File.make(path, pause: pause)
            let setting = try await SQLiteStore(path: path).setting("pausedUntil")
            #expect(setting.flatMap { Double($0) } == pause)
        }

        @Test("a position that a version 1 file has given is not given again", arguments: [true, false])
        func positions(isEmpty: Bool) async throws {
            try Version1File.make(path)
            if isEmpty { try Stranger.execute("DELETE FROM mutation", at: path) }
            let store = try SQLiteStore(path: path)
            try await store.append([Mutation("z1")])
            #expect(try await store.pending(after: .min, limit: 9).last?.position == 7)
        }

        @Test("a new and empty version 1 file becomes a queue")
        func empty() async throws {
            try Stranger.execute(Version1File.schema, at: path)
            let store = try SQLiteStore(path: path)
            try await store.append([Mutation("z1")])
            #expect(try await store.pending(after: .min, limit: 9).map(\.position) == [1])
        }

        @Test("a version 1 file that can't be migrated is refused, and nothing in it is lost")
        func impossible() throws {
            try Version1File.make(path)
            try Stranger.execute("CREATE VIEW resilience_setting AS SELECT 1", at: path)
            let before = try Version1File.contents(of: path)
            for _ in 0..<2 {
                #expect(throws: SyncQueueError.self) { try SQLiteStore(path: path) }
                #expect(try Version1File.contents(of: path) == before)
            }
            try Stranger.execute("DROP VIEW resilience_setting", at: path)
            _ = try SQLiteStore(path: path)
        }

        @Test("killed in the middle of a migration, a version 1 file is whole", arguments: ["WAL", "DELETE"])
        func killed(journal: String) async throws {
            try Version1File.make(path)
            let before = try Version1File.contents(of: path)
            let copy = try TemporaryFolder()
            let database = try Stranger.open(path)
            // So that it writes to the file before it commits.
            try Stranger.execute("PRAGMA journal_mode = \(journal); PRAGMA cache_size = 1", with: database)
            try await database.writeWithoutTransaction { db in
                try db.inTransaction {
                    try SQLiteSchema.migrate(db, from: 1)
                    for (name, bytes) in try folder.contents() where !name.hasSuffix("-shm") {
                        try bytes.write(to: copy.url.appendingPathComponent(name))
                    }
                    return .rollback
                }
            }
            let spilled = try copy.contents().filter { !$0.key.hasSuffix(".sqlite") }.map(\.value.count)
            #expect(spilled.contains { $0 > 0 })
            let name = copy.path("queue.sqlite")
            #expect(try Version1File.contents(of: name) == before)
            #expect(try await SQLiteStore(path: name).totals().pending == 3)
        }

        @Test("a damaged version 1 file is refused and left as it is")
        func damaged() throws {
            try Version1File.make(path)
            try Stranger.execute("ALTER TABLE mutation RENAME COLUMN kind TO sort", at: path)
            let before = try folder.contents()
            #expect(throws: SyncQueueError.self) { try SQLiteStore(path: path) }
            #expect(try folder.contents() == before)
        }

        @Test(
            "every mutation of a version 2 file is there: its place, failures, key and texts, pending or dead",
            arguments: [true, false])
        func version2(isOwn: Bool) async throws {
            try Version2File.make(path, isOwn: isOwn)
            let before = Date()
            for _ in 0..<2 {
                let store = isOwn ? try SQLiteStore(path: path) : try SQLiteStore(in: try DatabaseQueue(path: path))
                let pending = try await store.pending(after: .min, limit: 9)
                #expect(pending.map(\.position) == [1, 3, 5] && pending.map(\.isAttempted) == [true, false, false])
                #expect(
                    pending.map(\.mutation) == [(1, "a1", "a"), (3, "a2", "a"), (5, "b\0two", "b\0")].map(mutation))
                #expect(pending.map(\.failures) == [2, 0, 0] && pending.map(\.lastError) == ["503", nil, nil])
                #expect(pending.allSatisfy { $0.diedAt == nil && !$0.isOvertaken })
                let dead = try await store.dead(after: .min, limit: 9)
                #expect(dead.map(\.mutation) == [mutation(4, "b1", "b")] && dead.map(\.lastError) == ["410"])
                // Nobody noted when; its age begins now.
                #expect(try #require(dead[0].diedAt).timeIntervalSince(before) >= 0 && !dead[0].isOvertaken)
                #expect(try await store.heads(after: .min, limit: 9).map(\.position) == [1, 5])
                let totals = try await store.totals()
                let oldest = pending.first?.queuedAt
                #expect(totals == QueueTotals(pending: 3, bytes: 18, dead: 1, deadBytes: 5, oldest: oldest))
                #expect(try await store.setting("pausedUntil") == "1800000000.5")
            }
            let store = isOwn ? try SQLiteStore(path: path) : try SQLiteStore(in: try DatabaseQueue(path: path))
            try await store.append([Mutation("z1")])
            #expect(try await store.pending(after: .min, limit: 9).last?.position == 7)
        }

        @Test(
            "a damaged version 2 file is refused, and nothing in it is lost",
            arguments: [
                "ALTER TABLE resilience_mutation RENAME COLUMN kind TO sort", "DROP TRIGGER resilience_updated",
            ])
        func damagedVersion2(damage: String) throws {
            try Version2File.make(path, isOwn: true)
            try Stranger.execute(damage, at: path)
            let before = try Version2File.contents(of: path)
            #expect(throws: SyncQueueError.self) { try SQLiteStore(path: path) }
            #expect(try Version2File.contents(of: path) == before)
        }

        private func mutation(_ position: Int, _ id: String, _ entity: String) -> Mutation {
            Mutation(
                id: id, entity: entity, kind: "create", payload: Data("of \(id)".utf8), idempotencyKey: "key of \(id)",
                createdAt: Date(timeIntervalSinceReferenceDate: 700_000_000.123_456 + Double(position)))
        }
    }
#endif
