#if SQLite
    import Foundation
    import GRDB
    import ResilienceSync

    /// A queue's file with bytes changed: it is opened and works, or it is refused and left as it is.
    package enum QueueFileOracle {
        /// - Parameter input: the first byte says how to read the rest. 0: edits of a well file, three bytes each, of
        ///   which two say where, counting bytes that are not zero. 1: the same anywhere in the file. 2: the same, the
        ///   first two bytes being where the file is cut off. 3: the file itself.
        /// - Returns: whether it was opened.
        package static func check(_ input: [UInt8]) async throws -> Bool {
            let folder = FileManager.default.temporaryDirectory.appending(path: "fuzz-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let file = folder.appending(path: "queue.sqlite")
            try bytes(input, from: [UInt8](try await wellFile.value)).write(to: file)

            let before = try contents(of: folder)
            do {
                try await use(try SQLiteStore(path: file.path))
                return true
            } catch let error as SyncQueueError {
                switch error {
                case .unreadable, .newerSchema: break
                default: throw Finding("refused with \(error)")
                }
                try expect(try contents(of: folder) == before, "it is refused, and was changed: \(error)")
                return false
            }
        }

        private static func bytes(_ input: [UInt8], from well: [UInt8]) -> Data {
            var rest = input.dropFirst()
            var bytes = well
            var places = Array(well.indices)
            switch input.first.map({ $0 % 4 }) {
            case 0: places = well.indices.filter { well[$0] != 0 }
            case 2:
                let length = rest.prefix(2).reduce(0) { $0 << 8 | Int($1) }
                rest = rest.dropFirst(2)
                bytes.removeSubrange((length % (bytes.count + 1))...)
            case 3: return Data(rest)
            default: break
            }
            while rest.count >= 3 {
                let place = places[rest.prefix(2).reduce(0) { $0 << 8 | Int($1) } % places.count]
                if place < bytes.count { bytes[place] = rest[rest.startIndex + 2] }
                rest = rest.dropFirst(3)
            }
            return Data(bytes)
        }

        private static let wellFile = Task {
            let file = FileManager.default.temporaryDirectory.appending(path: "fuzz-\(UUID().uuidString).sqlite")
            defer { try? FileManager.default.removeItem(at: file) }
            do {
                let store = try SQLiteStore(path: file.path)
                try await store.append((1...4).map { mutation("well-\($0)") })
                try await store.countFailure(at: 1, error: "503")
                try await store.park(at: 2, error: "410")
                try await store.setPause(until: Date(timeIntervalSince1970: 1_800_000_000))
            }
            return try Data(contentsOf: file)
        }

        private static func mutation(_ id: String) -> Mutation {
            Mutation(
                id: id, entity: "e-\(id)", kind: "create", payload: Data("{}".utf8), idempotencyKey: "k-\(id)",
                createdAt: Date(timeIntervalSince1970: 1_700_000_000))
        }

        /// Everything that a queue asks of its store.
        private static func use(_ store: SQLiteStore) async throws {
            do {
                let fresh = mutation("fresh")
                try await store.append([fresh])
                let pending = try await all(store.pending)
                try expect(pending.contains { $0.mutation == fresh }, "what was appended is not there")
                let dead = try await all(store.dead)
                try expect(
                    try await [store.pendingCount(), store.deadCount()] == [pending.count, dead.count],
                    "there are other mutations than are counted")
                try expect(
                    try await rows(in: store.path) == [pending.count, dead.count], "the index hides a mutation")
                _ = try await store.pause()
                try await store.setPause(until: nil)
                if let first = pending.first { try await store.countFailure(at: first.position, error: "503") }
                if let last = pending.last { try await store.park(at: last.position, error: "410") }
                try await store.remove(at: pending.first?.position ?? 0)
                try expect(try await store.removePending() == max(0, pending.count - 2), "not all were removed")
            } catch let error as SyncQueueError {
                switch error {
                case .storeFailed, .duplicate: return
                default: throw Finding("an open store fails with \(error)")
                }
            }
        }

        private static func all(_ page: (Int64, Int) async throws -> [StoredMutation]) async throws -> [StoredMutation]
        {
            var all: [StoredMutation] = []
            var position = Int64.min
            while let last = try await page(position, 2).last {
                all += try await page(position, 2)
                try expect(last.position > position, "the pages do not move on")
                position = last.position
            }
            return all
        }

        /// How many are pending and dead, counted without the index.
        private static func rows(in path: String) async throws -> [Int] {
            do {
                return try await DatabaseQueue(path: path).read { db in
                    try [0, 1].map { dead in
                        try Int.fetchOne(
                            db, sql: "SELECT COUNT(*) FROM mutation NOT INDEXED WHERE dead = ?", arguments: [dead]) ?? 0
                    }
                }
            } catch let error as DatabaseError {
                throw SyncQueueError.storeFailed(path: path, reason: "\(error)")
            }
        }

        private static func contents(of folder: URL) throws -> [String: Data] {
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            return Dictionary(
                uniqueKeysWithValues: names.map {
                    ($0, FileManager.default.contents(atPath: folder.appending(path: $0).path) ?? Data())
                })
        }
    }
#endif
