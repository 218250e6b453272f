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

        @Test("the idempotency key stays the same after failures, and whenever the file is reopened (B14)")
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
