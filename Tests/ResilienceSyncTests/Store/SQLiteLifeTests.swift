#if SQLite
    import Foundation
    import GRDB
    import Resilience
    import ResilienceSync
    import Testing

    /// A store's database from its opening to its end: several open it at once, or it is closed or deleted while in
    /// use.
    @Suite(.timeLimit(.minutes(20))) struct SQLiteLifeTests {
        let folder: TemporaryFolder
        let path: String

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("queue.sqlite")
        }

        @Test("a path that names no file is rejected: nothing would be durable", arguments: ["", ":memory:"])
        func noFile(path: String) {
            let error = #expect(throws: SyncQueueError.self) { try SQLiteStore(path: path) }
            guard case .unreadable(path, let reason) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(reason.contains("no file"))
        }

        @Test("several stores can open a new file at once")
        func openedAtOnce() throws {
            let errors = Locked<[String]>([])
            for round in 0..<30 {
                let path = folder.path("\(round).sqlite")
                let (start, opened, end) = (DispatchSemaphore(value: 0), DispatchGroup(), DispatchSemaphore(value: 0))
                for _ in 0..<8 {
                    opened.enter()
                    Thread.detachNewThread {
                        start.wait()
                        // On a slow disk it may take longer than the usual 5 s until all eight are open.
                        let store = Result {
                            try SQLiteStore(path: path, check: .full, busyTimeout: 600, removesFile: false)
                        }
                        opened.leave()
                        // Keeps every file open until all have opened it.
                        end.wait()
                        if case .failure(let error) = store { errors.withLock { $0.append("\(error)") } }
                        opened.leave()
                    }
                }
                for _ in 0..<8 { start.signal() }
                opened.wait()
                for _ in 0..<8 {
                    opened.enter()
                    end.signal()
                }
                opened.wait()
            }
            #expect(errors.withLock { $0 } == [])
        }

        @Test("opening waits for a new file that another store is about to write")
        func lockedWhileNew() throws {
            let other = try DatabaseQueue(path: path)
            try other.writeWithoutTransaction { db in
                try db.beginTransaction(.immediate)
                let start = ContinuousClock.now
                #expect(throws: SyncQueueError.self) {
                    try SQLiteStore(path: path, check: .full, busyTimeout: 0.1, removesFile: false)
                }
                #expect(ContinuousClock.now - start >= .milliseconds(100))
                try db.rollback()
            }
            _ = try SQLiteStore(path: path)
        }

        @Test("a database that the program has closed is reported as such by every request", arguments: [true, false])
        func closed(isPool: Bool) async throws {
            let database: any DatabaseWriter = try isPool ? DatabasePool(path: path) : DatabaseQueue(path: path)
            let store = try SQLiteStore(in: database)
            try await store.append([Mutation("a1")])
            try database.close()
            try await expectAllFail(store, "closed")
            await expectFailure("closed") { _ = try SQLiteStore(in: database) }
            try await database.writeWithoutTransaction { db in
                _ = #expect(throws: SyncQueueError.self) {
                    try store.append([Mutation("b1")], under: AppendRules(), at: Date(), in: db)
                }
            }
        }

        @Test("a closed store is reported as such; its file can be opened again")
        func closedItself() async throws {
            let store = try SQLiteStore(path: path)
            try await store.append([Mutation("a1")])
            try store.close()
            try store.close()
            try await expectAllFail(store, "closed")
            #expect(try folder.contents().keys.sorted() == ["queue.sqlite"])
            #expect(try await SQLiteStore(path: path).totals().pending == 1)
        }

        @Test("closing a store leaves the program's own database open")
        func closedOutbox() async throws {
            let database = try DatabaseQueue(path: path)
            let store = try SQLiteStore(in: database)
            try store.close()
            try await store.append([Mutation("a1")])
            #expect(try await store.totals().pending == 1)
        }

        enum Loss: String, CaseIterable { case deleted, moved, replaced }

        @Test("a file deleted, moved or replaced while it is open accepts no more mutations", arguments: Loss.allCases)
        func lost(loss: Loss) async throws {
            let store = try SQLiteStore(path: path)
            try await store.append([Mutation("a1")])
            try lose(loss)
            await expectFailure("deleted, moved or replaced") { try await store.append([Mutation("b1")]) }
            await expectFailure("deleted, moved or replaced") {
                _ = try await store.apply([.acknowledged(1)], claiming: [])
            }
            await expectFailure("deleted, moved or replaced") { _ = try await store.removePending() }
        }

        @Test(
            "a deleted, moved or replaced database of the program accepts no more, even in its own transaction",
            arguments: Loss.allCases)
        func lostOutbox(loss: Loss) async throws {
            let database = try DatabaseQueue(path: path)
            let store = try SQLiteStore(in: database)
            try lose(loss)
            await expectFailure("deleted, moved or replaced") { try await store.append([Mutation("a1")]) }
            await expectFailure("deleted, moved or replaced") {
                try await database.write { db in
                    _ = try store.append([Mutation("a1")], under: AppendRules(), at: Date(), in: db)
                }
            }
        }

        private func lose(_ loss: Loss) throws {
            switch loss {
            case .deleted: try FileManager.default.removeItem(atPath: path)
            case .moved: try FileManager.default.moveItem(atPath: path, toPath: folder.path("elsewhere"))
            case .replaced:
                try FileManager.default.moveItem(atPath: path, toPath: folder.path("elsewhere"))
                try FileManager.default.copyItem(atPath: folder.path("elsewhere"), toPath: path)
            }
        }

        private func expectAllFail(_ store: SQLiteStore, _ reason: String) async throws {
            await expectFailure(reason) { _ = try await store.totals() }
            await expectFailure(reason) { try await store.append([Mutation("b1")]) }
            await expectFailure(reason) { _ = try await store.heads(after: .min, limit: 1) }
            await expectFailure(reason) { _ = try await store.apply([.acknowledged(1)], claiming: []) }
            await expectFailure(reason) { _ = try await store.pending(after: .min, limit: 1) }
            await expectFailure(reason) { _ = try await store.dead(after: .min, limit: 1) }
            await expectFailure(reason) { _ = try await store.reviveAll(at: Date()) }
            await expectFailure(reason) { _ = try await store.discardAll() }
            await expectFailure(reason) { _ = try await store.removePending() }
            await expectFailure(reason) { _ = try await store.setting("x") }
            await expectFailure(reason) { try await store.set("x", to: "y") }
        }

        private func expectFailure(_ reason: String, _ body: () async throws -> Void) async {
            let error = await #expect(throws: SyncQueueError.self) { try await body() }
            guard case .storeFailed(path, let why) = error, why.contains(reason) else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }
#endif
