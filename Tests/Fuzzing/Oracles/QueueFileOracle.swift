#if SQLite
    import Foundation
    import GRDB
    import ResilienceSync

    /// A queue's file with changed bytes: the store opens it and works, or rejects it and leaves it unchanged.
    package enum QueueFileOracle {
        /// - Parameter input: The first byte chooses how to read the rest. 0: edits of a sound file, three bytes each;
        ///   two give the place, counting only bytes that are not zero. 1: the same, counting all bytes. 2: the same,
        ///   but the first two bytes say where the file is cut off. 3: the file itself.
        /// - Returns: Whether the file was opened.
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
                case .unreadable, .newerSchema, .storeFailed: break
                default: throw Finding("rejected with \(error)")
                }
                try expect(try contents(of: folder) == before, "it is rejected, and was changed: \(error)")
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
                _ = try await store.append((1...5).map { mutation("well-\($0)") }, under: AppendRules(), at: date)
                _ = try await store.apply(
                    [.failed(1, error: "503"), .died(2, error: "410", rest: .skip)], claiming: [1])
                _ = try await store.apply([.died(3, error: "410", rest: .block)], claiming: [])
                try await store.set("pausedUntil", to: "1800000000.0")
            }
            return try Data(contentsOf: file)
        }

        private static func mutation(_ id: String) -> Mutation {
            Mutation(
                id: id, entity: "e-\(id)", kind: "create", payload: Data("{}".utf8), idempotencyKey: "k-\(id)",
                createdAt: date)
        }

        private static let date = Date(timeIntervalSince1970: 1_700_000_000)

        /// Makes every request that a queue makes to its store.
        private static func use(_ store: SQLiteStore) async throws {
            do {
                let fresh = mutation("fresh")
                _ = try await store.append([fresh], under: AppendRules(), at: date)
                let pending = try await all(store.pending) { $0.position }
                try expect(pending.contains { $0.mutation == fresh }, "what was appended is not there")
                let dead = try await all(store.dead) { $0.position }
                let totals = try await store.totals()
                try expect(
                    [totals.pending, totals.dead] == [pending.count, dead.count],
                    "there are other mutations than are counted")
                let seen = try await rows(in: store.path)
                try expect([seen.pending, seen.dead] == [pending.count, dead.count], "the index hides a mutation")
                let heads = try await all(store.heads) { $0.position }
                try expect(
                    heads.map(\.position) == seen.heads, "the heads are \(heads.map(\.position)), not \(seen.heads)")
                _ = try await store.setting("pausedUntil")
                try await store.set("pausedUntil", to: nil)
                if let first = pending.first, let last = pending.last {
                    let claimed = try await store.apply(
                        [.failed(first.position, error: "503"), .died(last.position, error: "410", rest: .skip)],
                        claiming: [first.position])
                    try expect(claimed.count == (pending.count > 1 ? 1 : 0), "\(claimed.count) are claimed")
                    _ = try await store.apply([.acknowledged(first.position)], claiming: [])
                }
                try expect(
                    try await store.reviveAll(at: date) == dead.count + (pending.isEmpty ? 0 : 1),
                    "not all are revived")
                try expect(
                    try await store.removePending() == pending.count + dead.count - (pending.count > 1 ? 1 : 0),
                    "not all were removed")
            } catch let error as SyncQueueError {
                switch error {
                case .storeFailed, .duplicate: return
                default: throw Finding("an open store fails with \(error)")
                }
            }
        }

        private static func all<Element>(
            _ page: (Int64, Int) async throws -> [Element], _ position: (Element) -> Int64
        ) async throws -> [Element] {
            var all: [Element] = []
            var start = Int64.min
            while case let next = try await page(start, 2), let last = next.last {
                all += next
                try expect(position(last) > start, "the pages do not move on")
                start = position(last)
            }
            return all
        }

        /// The numbers of pending and dead mutations, and the heads, read without the indexes.
        private static func rows(in path: String) async throws -> (pending: Int, dead: Int, heads: [Int64]) {
            do {
                return try await DatabaseQueue(path: path).read { db in
                    func count(_ condition: String) throws -> Int {
                        let sql = "SELECT COUNT(*) FROM resilience_mutation NOT INDEXED WHERE \(condition)"
                        return try Int.fetchOne(db, sql: sql) ?? 0
                    }
                    let heads = try Int64.fetchAll(
                        db,
                        sql: """
                            SELECT MIN(position) FROM resilience_mutation NOT INDEXED WHERE state = 0 AND entity NOT IN
                            (SELECT entity FROM resilience_mutation NOT INDEXED WHERE state = 2)
                            GROUP BY entity ORDER BY 1
                            """)
                    return (try count("state = 0"), try count("state > 0"), heads)
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
