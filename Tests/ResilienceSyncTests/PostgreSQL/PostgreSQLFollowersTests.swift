#if PostgreSQL
    import Foundation
    import PostgreSQLServer
    import Resilience
    @testable import ResilienceSync
    import ResilienceTesting
    import TestSupport
    import Testing

    /// Many queues that follow one store.
    @Suite(.timeLimit(.minutes(20)), .postgreSQL) struct PostgreSQLFollowersTests {
        private let database: PostgreSQLFixture

        init() throws { database = try PostgreSQLFixture() }

        /// Counts the statements, and reports the first look.
        private final class Engine: StatementEngine {
            let engine: PostgreSQLEngine
            let count = Locked(0)
            private let looked = AsyncStream.makeStream(of: Void.self)

            init() throws { engine = try TestDatabase.engine() }

            func run(_ statement: String, _ values: [StatementValue]) async throws -> [[StatementValue]] {
                let rows = try await engine.run(statement, values)
                count.withLock { $0 += 1 }
                if statement.contains("_late\"") { looked.continuation.yield() }
                return rows
            }

            func transaction<R: Sendable>(
                _ body: @Sendable (_ session: any StatementSession) async throws -> R
            ) async throws -> R { try await engine.transaction(body) }

            func notifications(on channel: String) -> AsyncStream<String>? { engine.notifications(on: channel) }

            func waitForLook() async { for await _ in looked.stream { return } }
        }

        private func store(
            _ engine: some StatementEngine, lanesAtOnce: Int = 16, tellsOthers: Bool = true,
            timeBase: any TimeBase = SystemTimeBase.shared
        ) async throws -> PostgreSQLStore {
            try await PostgreSQLStore(
                engine, schema: database.schema, queue: "sync", sending: .shared, lease: .seconds(30),
                lanesAtOnce: lanesAtOnce, pollInterval: .seconds(3_600), tellsOthers: tellsOthers, migrates: true,
                timeBase: timeBase)
        }

        /// - Parameter store: The store that notifies others; nil for none.
        private func append(_ ids: [String], to store: PostgreSQLStore? = nil) async throws {
            let silent = try await self.store(database.engine, tellsOthers: false)
            _ = try await (store ?? silent).append(ids.map { Mutation($0) }, under: AppendRules(), at: Date())
        }

        @Test("of many queues that follow a store, one sends each mutation, and the others send the server no request")
        func oneLooks() async throws {
            let (filler, fixture) = (try await store(database.engine), Fixture())
            try await append(["a1"])
            var engines: [Engine] = []
            var followers: [Task<Void, Never>] = []
            for _ in 0..<5 {
                let engine = try Engine()
                engines.append(engine)
                // The others wait on this clock, which stands still.
                let queue = fixture.queue(try await store(engine, timeBase: fixture.clock))
                followers.append(Task { await queue.followStore() })
                await engine.waitForLook()
                await fixture.server.waitForCalls(1)
            }
            let before = engines.map { $0.count.withLock { $0 } }
            for number in 2...20 {
                try await append(["b\(number)"], to: filler)
                await fixture.server.waitForCalls(number)
            }
            withExtendedLifetime(filler) {}
            #expect(engines.map { $0.count.withLock { $0 } }.dropFirst() == before.dropFirst())
            for follower in followers { follower.cancel() }
        }

        @Test("if the queue that looked first is gone, another looks in its place")
        func firstIsGone() async throws {
            let (filler, fixture) = (try await store(database.engine), Fixture())
            try await append(["a1"])
            let first = fixture.queue(try await store(try Engine(), timeBase: fixture.clock))
            let follower = Task { await first.followStore() }
            await fixture.server.waitForCalls(1)
            follower.cancel()
            await follower.value
            let (engine, clock, second) = (try Engine(), ManualClock(), Fixture())
            let queue = second.queue(try await store(engine, timeBase: clock))
            let successor = Task { await queue.followStore() }
            await engine.waitForLook()
            try await append(["b1"], to: filler)
            // Two sleepers: this queue, and the queue that looks now and then.
            await clock.waitForSleepers(2)
            #expect(second.server.callCount == 0)
            clock.advance(by: NewsStateMachine.leastWait + NewsStateMachine.spread)
            await second.server.waitForCalls(1)
            successor.cancel()
        }

        @Test("when a queue ends, the mutations that it took but did not send go to another queue at once")
        func left() async throws {
            let (one, id) = (try await store(database.engine), UUID())
            try await append(["a1", "b1", "c1"])
            #expect(try await one.lock(for: id) == .taken)
            let heads = try await one.heads(after: .min, limit: 10)
            let (engine, fixture, clock) = (try Engine(), Fixture(), ManualClock())
            let queue = fixture.queue(try await store(engine, timeBase: clock))
            let follower = Task { await queue.followStore() }
            await engine.waitForLook()
            // A sent mutation does not count as left, whatever its result.
            let claimed = try await one.apply(
                [], claiming: heads.prefix(2).map(\.position), keeping: DeadLimits(), at: Date()
            ).claimed
            _ = try await one.apply(
                [.acknowledged(claimed[0].position), .failed(claimed[1].position, error: "")], claiming: [],
                keeping: DeadLimits(), at: Date())
            await one.unlock(for: id)
            await clock.waitForSleepers(2)
            clock.advance(by: NewsStateMachine.leastWait + NewsStateMachine.spread)
            await fixture.server.waitForCalls(1)
            follower.cancel()
        }

        @Test("a queue reports news as served once it has found less than it asked for, and not before")
        func served() async throws {
            let one = try await store(try Engine(), lanesAtOnce: 1)
            var texts = try #require(try TestDatabase.engine().notifications(on: one.name.channel)).makeAsyncIterator()
            #expect(await texts.next() == "")
            var changes = try #require(one.changes()).makeAsyncIterator()
            let filler = try await store(database.engine)
            try await append(["a1", "b1"], to: filler)
            repeat { _ = await changes.next() } while one.state.withLock { $0.news.unserved == nil }
            let news = try #require(await texts.next())
            #expect(try await one.lock(for: UUID()) == .taken)
            for id in ["a1", "b1"] {
                let heads = try await one.heads(after: .min, limit: 10)
                #expect(heads.map(\.id) == [id])
                _ = try await one.apply([], claiming: heads.map(\.position), keeping: DeadLimits(), at: Date())
                _ = try await one.apply(
                    heads.map { .acknowledged($0.position) }, claiming: [], keeping: DeadLimits(), at: Date())
            }
            #expect(try await one.heads(after: .min, limit: 10) == [])
            #expect(await texts.next() == "s\(news.dropFirst()).\(one.state.withLock { $0.news.name })")
        }

        @Test(
            "behind a pooler, no connection listens after a queue has ended, or in a mode where it would hear nothing",
            .enabled(if: PgBouncer.isInstalled), arguments: ["session", "transaction"])
        func pooled(mode: String) async throws {
            let bouncer = try PgBouncer(
                try TestDatabase.server.get(), mode: mode, connections: mode == "session" ? 3 : 1)
            defer { withExtendedLifetime(bouncer) {} }
            let isDirect = mode == "session"
            let engine = try PostgreSQLEngine(
                bouncer.connection, connections: 1, deadline: .seconds(600), setsTimeouts: isDirect)
            let fixture = Fixture()
            let store = try await store(engine)
            let queue = fixture.queue(store)
            try await queue.enqueue(Mutation("a1"))
            let follower = Task { await queue.followStore() }
            await fixture.server.waitForCalls(1)
            if isDirect {
                follower.cancel()
                // The server's connection continues, and this was its last request.
                while try await database.run(
                    "SELECT 1::int8 FROM pg_stat_activity WHERE query = $1",
                    [.text("UNLISTEN \"\(store.name.channel)\"")]
                ).isEmpty {}
            } else {
                let other = try PostgreSQLEngine(
                    bouncer.connection, connections: 1, deadline: .seconds(600), setsTimeouts: false)
                #expect(try await other.run("SELECT 1::int8 FROM pg_listening_channels()") == [])
                follower.cancel()
            }
        }
    }
#endif
