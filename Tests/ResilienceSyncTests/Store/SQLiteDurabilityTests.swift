#if SQLite
    import Foundation
    import Resilience
    import ResilienceSync
    import ResilienceTesting
    import TestSupport
    import Testing

    @Suite(.timeLimit(.minutes(20)), .heavy) struct SQLiteDurabilityTests {
        let folder: TemporaryFolder
        let path: String

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("queue.sqlite")
        }

        @Test("stored mutations survive a crash: the files are copied while the store is open")
        func crash() async throws {
            let pause = "1800000000.0"
            let store = try SQLiteStore(path: path)
            try await fill(store, pause)
            let copy = try TemporaryFolder()
            for (name, bytes) in try folder.contents() where !name.hasSuffix("-shm") {
                try bytes.write(to: copy.url.appendingPathComponent(name))
            }
            try await expectFilled(SQLiteStore(path: copy.path("queue.sqlite")), pause)
            #expect(try await store.totals().pending == 2)
        }

        @Test("a count of failures that is already the highest possible stays so after another failure")
        func highestCount() async throws {
            let store = try SQLiteStore(path: path)
            try await store.append([Mutation("a1")])
            try Stranger.execute("UPDATE resilience_mutation SET failures = \(Int.max)", at: path)
            let stored = try await store.apply([.failed(1, error: "x")], claiming: [1])
            #expect(stored.map(\.failures) == [.max])
        }

        @Test("pages end after about 8 MB, so that large payloads are never all in memory")
        func largePages() async throws {
            let store = try SQLiteStore(path: path)
            let payload = Data(count: 3 << 20)
            try await store.append(
                (0..<7).map { Mutation(id: "\($0)", entity: "\($0)", kind: "k", payload: payload) }
                    + [Mutation(id: "7", entity: "7", kind: "k", payload: Data(count: 10 << 20))])
            for (start, count) in [(0, 3), (3, 3), (6, 2), (7, 1), (8, 0)] as [(Int64, Int)] {
                #expect(try await store.pending(after: start, limit: .max).count == count)
            }
            _ = try await store.apply((1...8).map { .died($0, error: "x", rest: .skip) }, claiming: [])
            #expect(try await store.dead(after: 6, limit: .max).count == 2)
        }

        @Test("a temporary store's files are removed with it")
        func temporary() async throws {
            var path = ""
            do {
                let store = try SQLiteStore.temporary()
                path = store.path
                try await store.append([Mutation("a1")])
                #expect(FileManager.default.fileExists(atPath: path))
            }
            for suffix in ["", "-wal", "-shm"] { #expect(!FileManager.default.fileExists(atPath: path + suffix)) }
        }

        private func fill(_ store: SQLiteStore, _ pause: String) async throws {
            try await store.append(["a1", "b1", "c1", "d1"].map { Mutation($0, payload: "of \($0)") })
            let positions = try await store.pending(after: .min, limit: 9).map(\.position)
            _ = try await store.apply(
                [
                    .failed(positions[0], error: "503"), .acknowledged(positions[1]),
                    .died(positions[2], error: "410", rest: .block),
                ], claiming: [positions[0]])
            try await store.set("pausedUntil", to: pause)
        }

        private func expectFilled(_ store: SQLiteStore, _ pause: String) async throws {
            let pending = try await store.pending(after: .min, limit: 9)
            #expect(pending.map(\.mutation) == ["a1", "d1"].map { Mutation($0, payload: "of \($0)") })
            #expect(pending.map(\.failures) == [1, 0] && pending.map(\.lastError) == ["503", nil])
            #expect(pending.map(\.isAttempted) == [true, false])
            #expect(try await store.dead(after: .min, limit: 9).map(\.mutation.id) == ["c1"])
            #expect(try await store.heads(after: .min, limit: 9).map(\.id) == ["a1", "d1"])
            let totals = try await store.totals()
            #expect(totals.pending == 2 && totals.dead == 1)
            #expect(try await store.setting("pausedUntil") == pause)
        }
    }
#endif
