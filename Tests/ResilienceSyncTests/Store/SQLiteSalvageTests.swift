#if SQLite
    import Foundation
    import GRDB
    import ResilienceSync
    import Testing

    /// The readable part of a damaged file is copied into a new one.
    @Suite(.timeLimit(.minutes(20))) struct SQLiteSalvageTests {
        let folder: TemporaryFolder
        let path: String
        let newPath: String

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("queue.sqlite")
            newPath = folder.path("salvaged.sqlite")
        }

        /// 200 mutations with payloads that fill pages of their own: 20 lanes; two mutations are dead, and a pause is
        /// set.
        private func fill() async throws {
            let store = try SQLiteStore(path: path)
            let lanes = Array("abcdefghijklmnopqrst")
            try await store.append(
                (0..<200).map { Mutation("\(lanes[$0 % 20])\($0)", payload: String(repeating: "x", count: 900)) })
            _ = try await store.apply(
                [
                    .failed(1, error: "once"), .died(3, error: "bad", rest: .block),
                    .died(4, error: "bad", rest: .skip),
                ], claiming: [2])
            try await store.set("pausedUntil", to: "7")
            try store.close()
        }

        private func all(_ store: SQLiteStore) async throws -> [StoredMutation] {
            try await store.pending(after: .min, limit: 999) + store.dead(after: .min, limit: 99)
        }

        @Test("a sound file is copied without loss: order, failures, states and pauses")
        func whole() async throws {
            try await fill()
            let before = try folder.contents()
            let salvaged = try SQLiteStore.salvage(path, into: newPath)
            #expect((salvaged.pending, salvaged.dead, salvaged.missing) == (198, 2, 0))
            #expect(try folder.contents()["queue.sqlite"] == before["queue.sqlite"])
            let (old, new) = (try SQLiteStore(path: path), try SQLiteStore(path: newPath))
            #expect(try await all(new) == all(old))
            #expect(try await new.heads(after: .min, limit: 99) == old.heads(after: .min, limit: 99))
            #expect(try await new.totals() == old.totals())
            #expect(try await new.setting("pausedUntil") == "7")
            // A position is never used twice.
            try await new.append([Mutation("u1")])
            #expect(try await new.pending(after: 200, limit: 9).map(\.mutation.id) == ["u1"])
        }

        @Test("if any page of a file is overwritten, everything outside it is salvaged", arguments: [0xA5, 0])
        func anyPage(byte: UInt8) async throws {
            try await fill()
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            let old = try SQLiteStore(path: path)
            let mutations = try await all(old)
            try old.close()
            var total = 0
            // The first page holds the tables' definitions.
            for page in 1..<bytes.count / 4_096 {
                var damaged = bytes
                damaged[page * 4_096..<(page + 1) * 4_096] = Data(repeating: byte, count: 4_096)
                let (from, into) = (folder.path("damaged\(page)"), folder.path("new\(page)"))
                try damaged.write(to: URL(fileURLWithPath: from))
                do {
                    let salvaged = try SQLiteStore.salvage(from, into: into)
                    let store = try SQLiteStore(path: into)
                    let found = try await all(store)
                    #expect(found.count == salvaged.pending + salvaged.dead)
                    #expect(found.allSatisfy { mutations.contains($0) })
                    if let missing = salvaged.missing { #expect(missing == 200 - found.count) }
                    // The table's root leads to all of it; any other page holds a few rows.
                    if found.count < 190 { total += 1 }
                } catch let error as SyncQueueError {
                    guard case .unreadable(from, _) = error else { throw error }
                    #expect(!FileManager.default.fileExists(atPath: into))
                    total += 1
                }
            }
            #expect(total <= 2)
        }

        @Test("additions of a later version do not prevent a salvage")
        func laterVersion() async throws {
            try await fill()
            try await DatabaseQueue(path: path).write { db in
                try db.execute(sql: "ALTER TABLE resilience_mutation ADD COLUMN later TEXT NOT NULL DEFAULT ''")
            }
            let salvaged = try SQLiteStore.salvage(path, into: newPath)
            #expect((salvaged.pending, salvaged.dead, salvaged.missing) == (198, 2, 0))
        }

        @Test("nothing is salvaged to a path where another file has left its journal", arguments: ["-wal", "-journal"])
        func journal(suffix: String) async throws {
            try await fill()
            try Data("left".utf8).write(to: URL(fileURLWithPath: newPath + suffix))
            #expect(throws: SyncQueueError.self) { try SQLiteStore.salvage(path, into: newPath) }
            #expect(FileManager.default.contents(atPath: newPath + suffix) == Data("left".utf8))
        }

        @Test("a damaged position hides no later row, and its row keeps its place")
        func damagedPosition() async throws {
            try await fill()
            var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            // The cells of position 150 in leaves of tables: a size and a position, in two bytes each.
            var cells: [Int] = []
            for page in stride(from: 4_096, to: bytes.count, by: 4_096) where bytes[page] == 13 {
                for index in 0..<Int(bytes[page + 4]) {
                    let pointer = page + 8 + 2 * index
                    let cell = page + Int(bytes[pointer]) * 256 + Int(bytes[pointer + 1])
                    if bytes[cell + 2] == 0x81, bytes[cell + 3] == 22 { cells.append(cell) }
                }
            }
            let cell = try #require(cells.first)
            #expect(cells.count == 1)
            bytes[cell + 2] = 0xC1
            try bytes.write(to: URL(fileURLWithPath: path))
            let salvaged = try SQLiteStore.salvage(path, into: newPath)
            #expect((salvaged.pending, salvaged.dead, salvaged.missing) == (198, 2, 0))
            let positions = try await all(SQLiteStore(path: newPath)).map(\.position).sorted()
            #expect(positions == Array(1...200))
        }

        @Test("a truncated file yields its beginning")
        func cutOff() async throws {
            try await fill()
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            try bytes.prefix(bytes.count / 2 / 4_096 * 4_096).write(to: URL(fileURLWithPath: path))
            let salvaged = try SQLiteStore.salvage(path, into: newPath)
            #expect(salvaged.pending > 50)
            #expect(try #require(salvaged.missing) > 50)
            #expect(try await SQLiteStore(path: newPath).totals().pending == salvaged.pending)
        }

        @Test("a source that is not a queue, or a target that exists, is rejected, and nothing is made")
        func refused() async throws {
            try await fill()
            let note = folder.path("note.sqlite")
            try Stranger.execute("CREATE TABLE note (text TEXT)", at: note)
            try Data(repeating: 7, count: 9_999).write(to: folder.url.appendingPathComponent("garbage"))
            for from in [note, folder.path("garbage"), folder.path("nothing")] {
                let error = #expect(throws: SyncQueueError.self) { try SQLiteStore.salvage(from, into: newPath) }
                guard case .unreadable(from, _) = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
                #expect(!FileManager.default.fileExists(atPath: newPath))
            }
            #expect(throws: SyncQueueError.unreadable(path: note, reason: "There is a file already.")) {
                try SQLiteStore.salvage(path, into: note)
            }
        }
    }
#endif
