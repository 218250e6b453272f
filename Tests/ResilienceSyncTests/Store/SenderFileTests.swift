#if SQLite
    import Foundation
    import GRDB
    import Testing

    @testable import ResilienceSync

    /// The sending lock of an SQLite store.
    @Suite struct SenderFileTests {
        private let folder: TemporaryFolder
        private let path: String
        private let one = UUID()
        private let other = UUID()

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("queue.sqlite")
        }

        private var lockFile: String { path + SenderFile.suffix }

        @Test("stores of one file, by whatever name, have one lock")
        func oneLock() throws {
            let link = folder.path("link")
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.url.path)
            let stores = [try SQLiteStore(path: path), try SQLiteStore(path: link + "/queue.sqlite")]
            #expect(try stores[0].lock(for: one) == .taken)
            #expect(try stores[1].lock(for: other) == .denied)
            stores[1].unlock(for: one)
            #expect(try stores[1].lock(for: other) == .denied)
            stores[0].unlock(for: one)
            #expect(try stores[1].lock(for: other) == .taken)
            stores[1].unlock(for: other)
            // Another has had it meanwhile.
            #expect(try stores[0].lock(for: one) == .taken)
            stores[0].unlock(for: one)
            #expect(try stores[0].lock(for: one) == .takenAgain)
        }

        @Test("a store that is let go of lets go of the lock")
        func gone() throws {
            var store: SQLiteStore? = try SQLiteStore(path: path)
            #expect(try store?.lock(for: one) == .taken)
            store = nil
            #expect(try SQLiteStore(path: path).lock(for: other) == .taken)
        }

        @Test("whoever removes the lock's file makes no second lock")
        func removed() throws {
            let stores = [try SQLiteStore(path: path), try SQLiteStore(path: path)]
            for store in stores {
                #expect(try store.lock(for: one) == .taken || store === stores[1])
                store.unlock(for: one)
            }
            try FileManager.default.removeItem(atPath: lockFile)
            #expect(try stores[0].lock(for: one) == .taken)
            #expect(try stores[1].lock(for: other) == .denied)
        }

        @Test("a lock's file that can't be made is an error, and one with nonsense in it is none")
        func unusable() throws {
            let store = try SQLiteStore(path: path)
            try FileManager.default.createDirectory(atPath: lockFile, withIntermediateDirectories: false)
            #expect(throws: SyncQueueError.storeFailed(path: lockFile, reason: "Is a directory.")) {
                try store.lock(for: one)
            }
            try FileManager.default.removeItem(atPath: lockFile)
            try Data(repeating: 0xFF, count: 100_000).write(to: URL(fileURLWithPath: lockFile))
            #expect(try store.lock(for: one) == .taken)
            store.unlock(for: one)
            #expect(try store.lock(for: one) == .takenAgain)
        }

        @Test("the lock's file is for whom the database is")
        func permissions() throws {
            let store = try SQLiteStore(path: path)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            #expect(try store.lock(for: one) == .taken)
            let mode = try FileManager.default.attributesOfItem(atPath: lockFile)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }

        @Test("in a database in memory there is a lock, and no file")
        func inMemory() throws {
            let store = try SQLiteStore(in: try DatabaseQueue())
            #expect(try store.lock(for: one) == .taken)
            #expect(try store.lock(for: other) == .denied)
            store.unlock(for: one)
            #expect(try store.lock(for: other) == .taken)
        }

        @Test("a temporary store leaves nothing behind")
        func temporary() throws {
            var store: SQLiteStore? = try .temporary()
            let path = try #require(store?.path)
            #expect(try store?.lock(for: one) == .taken)
            #expect(FileManager.default.fileExists(atPath: path + SenderFile.suffix))
            store = nil
            #expect(!FileManager.default.fileExists(atPath: path + SenderFile.suffix))
        }
    }
#endif
