#if SQLite
    import Foundation
    import GRDB
    import Resilience
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

        @Test("stores of one file share one lock, under any name of the file")
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
            // Another store has held the lock meanwhile.
            #expect(try stores[0].lock(for: one) == .taken)
            stores[0].unlock(for: one)
            #expect(try stores[0].lock(for: one) == .takenAgain)
        }

        @Test("a released store releases the lock")
        func gone() throws {
            var store: SQLiteStore? = try SQLiteStore(path: path)
            #expect(try store?.lock(for: one) == .taken)
            store = nil
            #expect(try SQLiteStore(path: path).lock(for: other) == .taken)
        }

        @Test("removing the lock's file creates no second lock")
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

        #if os(Linux)
            /// How many times this process has the lock's file open, including removed ones.
            private func openFiles() throws -> [String] {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
                    .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
                    .filter { $0.hasPrefix(lockFile) }
            }

            @Test("one file is open, however often the lock is taken, and a removed file is closed")
            func descriptors() throws {
                let store = try SQLiteStore(path: path)
                for _ in 0..<3 {
                    for _ in 0..<3 {
                        #expect(try store.lock(for: one) != .denied)
                        store.unlock(for: one)
                    }
                    #expect(try openFiles() == [lockFile])
                    try FileManager.default.removeItem(atPath: lockFile)
                }
            }
        #endif

        @Test("when several make the lock's file at the same moment, one gets the lock, and nobody gets an error")
        func madeAtOnce() throws {
            for round in 0..<1000 {
                let files = (0..<4).map { _ in SenderFile(database: .file(folder.path("queue-\(round)"))) }
                let locks = Locked<[SendingLock?]>([])
                DispatchQueue.concurrentPerform(iterations: files.count) { index in
                    let lock = try? files[index].lock(for: UUID())
                    locks.withLock { $0.append(lock) }
                }
                #expect(locks.withLock { $0.count { $0 == .taken } } == 1)
                #expect(locks.withLock { $0.count { $0 == .denied } } == 3)
            }
        }

        @Test("a lock's file that can't be opened or made is an error with the reason")
        func denied() throws {
            let store = try SQLiteStore(path: path)
            let error = SyncQueueError.storeFailed(path: lockFile, reason: "Permission denied.")
            try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: folder.url.path)
            #expect(throws: error) { try withoutPrivileges { try store.lock(for: one) } }
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.url.path)
            try Data().write(to: URL(fileURLWithPath: lockFile))
            try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: lockFile)
            #expect(throws: error) { try withoutPrivileges { try store.lock(for: one) } }
        }

        @Test(
            "a pipe in place of the lock's file is an error, and blocks nobody",
            arguments: [0o444, 0o666] as [mode_t])
        func pipe(mode: mode_t) throws {
            let store = try SQLiteStore(path: path)
            #expect(mkfifo(lockFile, mode) == 0)
            #expect(throws: SyncQueueError.storeFailed(path: lockFile, reason: "It is not a file.")) {
                try withoutPrivileges { try store.lock(for: one) }
            }
            #if os(Linux)
                #expect(try openFiles() == [])
            #endif
        }

        @Test("a file with a second name works as a lock, and nothing is written to it")
        func otherName() throws {
            let target = folder.path("target")
            try Data("precious".utf8).write(to: URL(fileURLWithPath: target))
            #expect(Foundation.link(target, lockFile) == 0)
            let stores = [try SQLiteStore(path: path), try SQLiteStore(path: path)]
            #expect(try stores[0].lock(for: one) == .taken)
            #expect(try stores[1].lock(for: other) == .denied)
            stores[0].unlock(for: one)
            // The last holder is unknown.
            let again = SenderFile(database: .file(path))
            #expect(try again.lock(for: one) == .taken)
            #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == Data("precious".utf8))
        }

        @Test("a queue keeps its lock, however often it asks")
        func askedAgain() throws {
            let store = try SQLiteStore(path: path)
            try Data().write(to: URL(fileURLWithPath: lockFile))
            try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: lockFile)
            let locks = try withoutPrivileges { try [one, one, other].map { try store.lock(for: $0) } }
            #expect(locks == [.taken, .takenAgain, .denied])
        }

        @Test("without a database a lock's file is not trusted")
        func noDatabase() throws {
            let file = SenderFile(database: .file(path))
            for _ in 0..<2 {
                #expect(try file.lock(for: one) == .taken)
                file.unlock(for: one)
            }
        }

        @Test(
            "a lock's file is trusted if it has the database's owner, group and mode",
            .enabled(if: geteuid() == 0),
            arguments: [
                (0, 0, 0o644, true), (65_534, 0, 0o644, false), (0, 65_533, 0o644, false),
                (65_534, 65_533, 0o644, false),
                (0, 0, 0o664, false), (0, 0, 0o600, true),
            ])
        func trusted(owner: Int, group: Int, mode: Int, isTrusted: Bool) throws {
            let store = try SQLiteStore(path: path)
            try FileManager.default.setAttributes(
                [.ownerAccountID: 0, .groupOwnerAccountID: 0, .posixPermissions: 0o644], ofItemAtPath: path)
            #expect(try store.lock(for: one) == .taken)
            store.unlock(for: one)
            try FileManager.default.setAttributes(
                [.ownerAccountID: owner, .groupOwnerAccountID: group, .posixPermissions: mode], ofItemAtPath: path)
            #expect(try store.lock(for: one) == (isTrusted ? .takenAgain : .taken))
        }

        #if os(Linux)
            /// A database of root's group, in a folder whose files get another group.
            private func groupFolder() throws -> SQLiteStore {
                let store = try SQLiteStore(path: path)
                try FileManager.default.setAttributes(
                    [.groupOwnerAccountID: 0, .posixPermissions: 0o660], ofItemAtPath: path)
                try FileManager.default.setAttributes(
                    [.groupOwnerAccountID: 65_533, .posixPermissions: 0o2777], ofItemAtPath: folder.url.path)
                return store
            }

            @Test(
                "the lock's file is shared with the database's group, unless root does not know its maker",
                .enabled(if: geteuid() == 0),
                arguments: [
                    (nil, 0, [65_534, 0, 0o660]),
                    // It was not shared when its maker's last process ended.
                    (65_534, 0, [65_534, 0, 0o660]),
                    // The folder's group is not the database's.
                    (nil, 65_532, [65_534, 65_533, 0o600]),
                    // Somebody else may have put it there. A root-owned file may have come through a link.
                    (65_531, 0, [65_531, 65_533, 0o600]), (0, 0, [0, 65_533, 0o600]),
                ] as [(Int?, Int, [Int])])
            func group(maker: Int?, group: Int, expected: [Int]) throws {
                let store = try groupFolder()
                try FileManager.default.setAttributes([.groupOwnerAccountID: group], ofItemAtPath: path)
                if let maker {
                    try Data().write(to: URL(fileURLWithPath: lockFile))
                    try FileManager.default.setAttributes(
                        [.ownerAccountID: maker, .posixPermissions: 0o600], ofItemAtPath: lockFile)
                }
                let isRoot = maker != nil && maker != 65_534
                let lock = try isRoot ? store.lock(for: one) : withoutPrivileges { try store.lock(for: one) }
                #expect(lock == .taken)
                let found = try FileManager.default.attributesOfItem(atPath: lockFile)
                #expect(
                    [.ownerAccountID, .groupOwnerAccountID, .posixPermissions].map { found[$0] as? Int } == expected)
            }
        #endif

        @Test("a lock's file that can't be made is an error; nonsense in a lock's file is not")
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

        @Test(
            "a writer of the database may take the lock, whatever the process's umask does to a new file's mode",
            arguments: [0o600, 0o666])
        func permissions(mode: Int) throws {
            let store = try SQLiteStore(path: path)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            #expect(try store.lock(for: one) == .taken)
            #expect(try FileManager.default.attributesOfItem(atPath: lockFile)[.posixPermissions] as? Int == mode)
        }

        @Test("the lock's file gets the database's owner, even if root made it")
        func owner() throws {
            let store = try SQLiteStore(path: path)
            let isRoot = geteuid() == 0
            let owner = isRoot ? (65_534, 65_533) : (Int(geteuid()), Int(getegid()))
            try FileManager.default.setAttributes(
                [.ownerAccountID: owner.0, .groupOwnerAccountID: owner.1], ofItemAtPath: path)
            #expect(try store.lock(for: one) == .taken)
            let found = try FileManager.default.attributesOfItem(atPath: lockFile)
            #expect(found[.ownerAccountID] as? Int == owner.0 && found[.groupOwnerAccountID] as? Int == owner.1)
        }

        @Test("a read-only lock's file still works as a lock, but its last holder is unknown")
        func readOnly() throws {
            let stores = [try SQLiteStore(path: path), try SQLiteStore(path: path)]
            #expect(try stores[0].lock(for: one) == .taken)
            stores[0].unlock(for: one)
            try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: lockFile)
            let locks = try withoutPrivileges {
                var locks = [try stores[1].lock(for: other), try stores[0].lock(for: one)]
                stores[1].unlock(for: other)
                locks.append(try stores[1].lock(for: other))
                stores[1].unlock(for: other)
                return locks
            }
            #expect(locks == [.taken, .denied, .taken])
            // The holder can't have recorded itself.
            #expect(try stores[0].lock(for: one) == .taken)
        }

        /// Runs the body as a user without root's privileges, on this thread only.
        private func withoutPrivileges<R>(_ body: () throws -> R) throws -> R {
            guard geteuid() == 0 else { return try body() }
            #if os(Linux)
                // The library's function affects all threads, the system call only this one.
                #if arch(x86_64)
                    let number = 117
                #else
                    let number = 147
                #endif
                let function = try #require(dlsym(UnsafeMutableRawPointer(bitPattern: 0), "syscall"))
                let call = unsafeBitCast(function, to: (@convention(c) (Int, Int, Int, Int) -> Int).self)
                let result = call(number, -1, 65_534, -1)
                defer { _ = call(number, -1, 0, -1) }
                try #require(result == 0)
                return try body()
            #else
                return try body()
            #endif
        }

        @Test("a lock's file that is a link is not followed")
        func link() throws {
            let store = try SQLiteStore(path: path)
            let target = folder.path("target")
            try Data("precious".utf8).write(to: URL(fileURLWithPath: target))
            try FileManager.default.createSymbolicLink(atPath: lockFile, withDestinationPath: target)
            #expect(throws: SyncQueueError.self) { try store.lock(for: one) }
            #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == Data("precious".utf8))
        }

        @Test("stores of one database in memory share a lock, and stores of two databases have two locks")
        func oneLockInMemory() throws {
            for database in [try DatabaseQueue(), try DatabaseQueue(named: "\(UUID())")] {
                var stores = [try SQLiteStore(in: database), try SQLiteStore(in: database)]
                #expect(try stores[0].lock(for: one) == .taken)
                #expect(try stores[1].lock(for: other) == .denied)
                #expect(try SQLiteStore(in: try DatabaseQueue()).lock(for: other) == .taken)
                stores[1].unlock(for: one)
                #expect(try stores[1].lock(for: other) == .denied)
                stores[0].unlock(for: one)
                #expect(try stores[1].lock(for: other) == .taken)
                stores[1].unlock(for: other)
                #expect(try stores[0].lock(for: one) == .taken)
                // The store that took the lock releases it.
                stores.removeFirst()
                #expect(try stores[0].lock(for: other) == .taken)
            }
        }

        @Test("two connections to one database in memory have one lock")
        func sharedMemory() throws {
            let name = "\(UUID())"
            let stores = [
                try SQLiteStore(in: try DatabaseQueue(named: name)),
                try SQLiteStore(in: try DatabaseQueue(named: name)),
            ]
            #expect(try stores[0].lock(for: one) == .taken)
            #expect(try stores[1].lock(for: other) == .denied)
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
