#if SQLite
    import Foundation
    import Resilience
    import ResilienceSync
    import ResilienceTesting
    import Testing

    /// The queue over restarts.
    @Suite(.timeLimit(.minutes(20))) struct SQLiteQueueTests {
        let folder: TemporaryFolder
        let path: String
        let wallClock = WallClock()

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("queue.sqlite")
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

        @Test("a mutation whose stored count of failures is the highest there is, is set aside by the next")
        func highestCount() async throws {
            try await SQLiteStore(path: path).append([Mutation("a1")])
            try Stranger.execute("UPDATE resilience_mutation SET failures = \(Int.max)", at: path)
            let (queue, fixture) = try start()
            fixture.server.enqueue(.refused(.unavailable))
            #expect(try await queue.flush().died == 1)
            await queue.stop()
            #expect(try await SQLiteStore(path: path).totals().dead == 1)
        }

        private func start() throws -> (SyncQueue, Fixture) {
            let fixture = Fixture()
            let queue = SyncQueue(
                store: try SQLiteStore(path: path), pipeline: Pipeline(timeBase: fixture.clock) {},
                configuration: SyncQueueConfiguration(failureCounting: .always, isOffline: Fixture.isOffline),
                wallClock: { [wallClock] in wallClock.now }
            ) { try await fixture.server($0) }
            return (queue, fixture)
        }
    }
#endif
