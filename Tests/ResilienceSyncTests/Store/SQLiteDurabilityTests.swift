#if SQLite
    import Foundation
    import Resilience
    import ResilienceSync
    import ResilienceTesting
    import Testing

    @Suite(.timeLimit(.minutes(1))) struct SQLiteDurabilityTests {
        let folder: TemporaryFolder
        let path: String
        let wallClock = WallClock()

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("queue.sqlite")
        }

        @Test("what was stored is there when the file is opened again: pending, dead and the pause")
        func reopened() async throws {
            let pause = Date(timeIntervalSince1970: 1_800_000_000)
            do {
                let store = try SQLiteStore(path: path)
                try await fill(store, pause)
            }
            try await expectFilled(SQLiteStore(path: path), pause)
        }

        @Test("what was stored is there after a crash: the files are copied while the store is open")
        func crash() async throws {
            let pause = Date(timeIntervalSince1970: 1_800_000_000)
            let store = try SQLiteStore(path: path)
            try await fill(store, pause)
            let copy = try TemporaryFolder()
            for (name, bytes) in try folder.contents() where !name.hasSuffix("-shm") {
                try bytes.write(to: copy.url.appendingPathComponent(name))
            }
            try await expectFilled(SQLiteStore(path: copy.path("queue.sqlite")), pause)
            #expect(try await store.pendingCount() == 2)
        }

        @Test("a position is not given again after everything was removed and the file reopened (B9)")
        func positions() async throws {
            let first = try await Self.position(path)
            #expect(try await SQLiteStore(path: path).removePending() == 1)
            #expect(try await Self.position(path) > first)
        }

        @Test("the idempotency key is the same over failures and over every reopening of the file (B14)")
        func sameKey() async throws {
            var keys: Set<String> = []
            let mutation = Mutation(id: "a1", entity: "a", kind: "create", payload: Data())
            try await SQLiteStore(path: path).append([mutation])
            for refusal in [Refusal.unavailable, .throttled, .unreachable, .unavailable, .abandoned] {
                let (queue, fixture) = try start()
                fixture.server.enqueue(.refused(refusal))
                _ = try await queue.flush()
                keys.formUnion(fixture.server.inputs.map(\.idempotencyKey))
                #expect(fixture.server.callCount == 1)
                await queue.stop()
                wallClock.set(wallClock.now.addingTimeInterval(60))
            }
            #expect(keys == [mutation.idempotencyKey])
            #expect(try await SQLiteStore(path: path).pending(after: .min, limit: 9).map(\.failures) == [2])
        }

        @Test("a pause outlasts a restart: what is left of it is waited for, and its end starts a flush by itself")
        func pauseOverRestart() async throws {
            do {
                let (queue, fixture) = try start()
                fixture.server.enqueue(.refused(.throttled(retryAfter: .seconds(60))))
                try await queue.enqueue(Mutation("a1"))
                _ = try await queue.flush()
                await queue.stop()
            }
            wallClock.set(wallClock.now.addingTimeInterval(15))
            let (queue, fixture) = try start()
            let end = fixture.clock.now + .seconds(45)
            #expect(try await queue.flush().end == .paused(until: end))
            #expect(fixture.server.callCount == 0)
            fixture.clock.advance(to: end)
            await fixture.server.waitForCalls(1)
            #expect(try await queue.flush().end == .drained)
        }

        @Test("a failing statement is told as the queue's own error, with the path, and changes nothing")
        func failingStatement() async throws {
            let store = try SQLiteStore(path: path)
            try await store.append([Mutation("a1")])
            try Stranger.execute("DROP TABLE setting; ALTER TABLE mutation RENAME COLUMN kind TO sort", at: path)
            func expectFailure(_ body: () async throws -> Void) async {
                let error = await #expect(throws: SyncQueueError.self) { try await body() }
                #expect(error?.description.contains(path) == true)
            }
            await expectFailure { try await store.append([Mutation("b1")]) }
            await expectFailure { try await store.setPause(until: Date()) }
            await expectFailure { _ = try await store.pause() }
            await expectFailure { _ = try await store.pending(after: .min, limit: 1) }
            #expect(try await store.pendingCount() == 1)
        }

        @Test("a mutation whose stored count of failures is the highest there is, is set aside by the next")
        func highestCount() async throws {
            try await SQLiteStore(path: path).append([Mutation("a1")])
            try Stranger.execute("UPDATE mutation SET failures = \(Int.max)", at: path)
            let (queue, fixture) = try start()
            fixture.server.enqueue(.refused(.unavailable))
            #expect(try await queue.flush().died == 1)
            await queue.stop()
            #expect(try await SQLiteStore(path: path).deadCount() == 1)
        }

        @Test("a temporary store's files go when it is let go of")
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

        private func fill(_ store: SQLiteStore, _ pause: Date) async throws {
            try await store.append(["a1", "b1", "c1", "d1"].map { Mutation($0, payload: "of \($0)") })
            let positions = try await store.pending(after: .min, limit: 9).map(\.position)
            try await store.countFailure(at: positions[0], error: "503")
            try await store.remove(at: positions[1])
            try await store.park(at: positions[2], error: "410")
            try await store.setPause(until: pause)
        }

        private func expectFilled(_ store: SQLiteStore, _ pause: Date) async throws {
            let pending = try await store.pending(after: .min, limit: 9)
            #expect(pending.map(\.mutation) == ["a1", "d1"].map { Mutation($0, payload: "of \($0)") })
            #expect(pending.map(\.failures) == [1, 0] && pending.map(\.lastError) == ["503", nil])
            #expect(try await store.dead(after: .min, limit: 9).map(\.mutation.id) == ["c1"])
            #expect(try await store.pause() == pause)
        }

        private static func position(_ path: String) async throws -> Int64 {
            let store = try SQLiteStore(path: path)
            try await store.append([Mutation("a1")])
            return try #require(try await store.pending(after: .min, limit: 1).first).position
        }

        private func start() throws -> (SyncQueue, Fixture) {
            let fixture = Fixture()
            let queue = SyncQueue(
                store: try SQLiteStore(path: path), pipeline: Pipeline(timeBase: fixture.clock) {},
                configuration: SyncQueueConfiguration(isOffline: Fixture.isOffline),
                wallClock: { [wallClock] in wallClock.now }
            ) { try await fixture.server($0) }
            return (queue, fixture)
        }
    }
#endif
