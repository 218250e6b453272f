#if PostgreSQL
    import Foundation
    import Resilience
    @testable import ResilienceSync
    import ResilienceTesting
    import TestSupport
    import Testing

    /// Many workers on one table.
    @Suite(.timeLimit(.minutes(20)), .postgreSQL) struct PostgreSQLSharedTests {
        private let database: PostgreSQLFixture

        init() throws { database = try PostgreSQLFixture() }

        private static let now = Date(timeIntervalSinceReferenceDate: 700_000_000)

        /// A queue's use of the store, step by step.
        private struct Worker {
            let store: PostgreSQLStore
            let id = UUID()

            func lock() async throws { #expect(try await store.lock(for: id) == .taken) }

            func heads(after position: Int64 = .min, limit: Int = 100) async throws -> [LaneHead] {
                try await store.heads(after: position, limit: limit)
            }

            func apply(_ changes: [MutationChange] = [], claiming heads: [LaneHead] = []) async throws -> [String] {
                try await store.apply(
                    changes, claiming: heads.map(\.position), keeping: DeadLimits(), at: PostgreSQLSharedTests.now
                )
                .claimed.map(\.mutation.id)
            }
        }

        private func worker(lanesAtOnce: Int = 16, timeBase: any TimeBase = SystemTimeBase.shared) async throws
            -> Worker
        {
            Worker(
                store: try await database.store(sending: .shared, lanesAtOnce: lanesAtOnce, timeBase: timeBase))
        }

        /// Two workers that may send, and pending mutations.
        private func workers(_ ids: [String], lanesAtOnce: Int = 16) async throws -> (Worker, Worker) {
            let (one, other) = (try await worker(lanesAtOnce: lanesAtOnce), try await worker())
            try await append(ids, to: one)
            try await one.lock()
            try await other.lock()
            return (one, other)
        }

        /// A worker that has claimed the first mutation of each lane.
        private func sender(_ ids: [String]) async throws -> (Worker, heads: [LaneHead]) {
            let one = try await worker()
            try await append(ids, to: one)
            try await one.lock()
            let heads = try await one.heads()
            #expect(try await one.apply(claiming: heads) == heads.map(\.id))
            return (one, heads)
        }

        private func append(_ ids: [String], to worker: Worker) async throws {
            _ = try await worker.store.append(
                ids.map { Mutation($0) }, under: AppendRules(coalescing: .off), at: Self.now)
        }

        @Test("a lane belongs to one worker until all mutations that this worker sent from it are acknowledged")
        func lanes() async throws {
            let (one, other) = try await workers(["a1", "b1", "c1", "a2"], lanesAtOnce: 2)
            let mine = try await one.heads()
            #expect(mine.map(\.id) == ["a1", "b1"])
            #expect(try await one.heads().map(\.id) == ["a1", "b1"], "it still has them")
            let others = try await other.heads()
            #expect(others.map(\.id) == ["c1"])
            #expect(try await other.apply(claiming: mine) == [], "it has not got these lanes")
            #expect(try await one.apply(claiming: mine) == ["a1", "b1"])
            #expect(try await one.apply([.acknowledged(mine[0].position)]) == [])
            #expect(try await other.heads().map(\.id) == ["c1", "a2"], "an acknowledgement gives the lane back")
            #expect(try await one.heads().map(\.id) == ["b1"])
            await one.store.unlock(for: one.id)
            #expect(try await other.heads().map(\.id) == ["b1", "c1", "a2"], "so does the end of a flush")
        }

        @Test("with many urgent lanes each worker takes different lanes first, and never another worker's lane")
        func urgent() async throws {
            let (one, other) = (try await worker(lanesAtOnce: 2), try await worker(lanesAtOnce: 3))
            try await append(["a1", "b1", "c1"], to: one)
            _ = try await one.store.append(
                ["b2", "d1", "e1", "f1", "g1"].map {
                    Mutation(id: $0, entity: String($0.prefix(1)), kind: "create", isUrgent: true)
                }, under: AppendRules(), at: Self.now)
            try await one.lock()
            try await other.lock()
            func look(_ worker: Worker, after position: Int64) async throws -> ([String], urgent: [String]) {
                let found = try await worker.store.heads(after: position, limit: 100, at: Self.now)
                return (found.heads.map(\.id), found.urgent.map(\.id))
            }
            #expect(try await look(one, after: .max) == ([], ["b1", "d1"]))
            #expect(try await look(other, after: .min) == (["a1", "c1", "e1"], ["e1", "f1", "g1"]))
            #expect(try await look(one, after: .min) == (["b1", "d1"], ["b1", "d1"]))
            let heads = try await one.heads()
            #expect(try await one.apply(claiming: heads) == ["b1", "d1"])
            #expect(try await other.apply(claiming: heads) == [])
            _ = try await one.apply(heads.map { .acknowledged($0.position) })
            #expect(try await look(other, after: .max) == ([], ["b2", "e1", "f1"]))
            await other.store.unlock(for: other.id)
            #expect(try await look(one, after: .max) == ([], ["b2", "e1"]))
        }

        @Test("two workers send ten urgent mutations first and once each, although others were enqueued before them")
        func urgentFirst() async throws {
            let sent = Locked<[String]>([])
            func queue() async throws -> SyncQueue {
                SyncQueue(store: try await database.store(sending: .shared), pipeline: Pipeline {}) { mutation in
                    sent.withLock { $0.append(mutation.id) }
                }
            }
            let queues = [try await queue(), try await queue()]
            let ten = (0..<10).map { Mutation(id: "u\($0)", entity: "u\($0)", kind: "create", isUrgent: true) }
            try await queues[0].enqueue(Mutation.many(500) + ten)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for queue in queues { group.addTask { _ = try await queue.drain() } }
                try await group.waitForAll()
            }
            let ids = sent.withLock { $0 }
            #expect(ids.count == 510 && Set(ids).count == 510)
            // Each worker sends four at a time, and every tenth request goes in order; the second worker finds all
            // urgent mutations taken.
            let last = try #require(ids.lastIndex { $0.hasPrefix("u") })
            #expect(last < 60, "\(ids.prefix(last + 1))")
            for queue in queues { await queue.stop() }
        }

        @Test(
            "a silent worker loses its lanes: its claims and failures are void, but its acknowledgements count"
        )
        func fencing() async throws {
            let (one, other) = (try await worker(), try await worker())
            try await append(["a1", "a2", "b1", "b2"], to: one)
            try await one.lock()
            let heads = try await one.heads()
            #expect(try await one.apply(claiming: heads) == ["a1", "b1"])
            try await other.lock()
            #expect(try await other.heads() == [])

            try await database.endLeases()
            let taken = try await other.heads()
            #expect(taken.map(\.id) == ["a1", "b1"])
            #expect(try await other.apply(claiming: taken) == ["a1", "b1"])
            #expect(one.store.maySend(for: one.id), "it does not know yet")
            // The silent worker wakes up.
            let late = try await one.apply(
                [
                    .acknowledged(heads[0].position), .failed(heads[1].position, error: "late"),
                    .died(heads[1].position, error: "late", rest: .skip),
                ], claiming: heads)
            #expect(late == [])
            #expect(!one.store.maySend(for: one.id))
            #expect(try await one.heads() == [])
            let pending = try await other.store.pending(after: .min, limit: 10)
            #expect(pending.map(\.mutation.id) == ["a2", "b1", "b2"])
            #expect(pending.map(\.failures) == [0, 0, 0])
            // The lane of the late acknowledgement still belongs to the other worker, which is sending it.
            let third = try await worker()
            try await third.lock()
            #expect(try await third.heads() == [])
            #expect(try await other.apply([.acknowledged(taken[0].position)]) == [])
            #expect(try await other.heads().map(\.id) == ["a2", "b1"])
        }

        @Test("a worker's answer resets a mutation's claims, whichever worker has the lane, with or without a lease")
        func survived() async throws {
            let (one, other) = (try await worker(), try await worker())
            try await append(["a1", "b1"], to: one)
            func claims() async throws -> [Int] { try await one.store.pending(after: .min, limit: 10).map(\.claims) }
            try await one.lock()
            let heads = try await one.heads()
            _ = try await one.apply(claiming: heads)
            #expect(try await claims() == [1, 1])
            try await database.endLeases()
            try await other.lock()
            #expect(try await other.heads().map(\.id) == ["a1", "b1"])
            _ = try await one.apply([.answered(heads[0].position)])
            #expect(try await claims() == [0, 1])
            await one.store.unlock(for: one.id)
            try await one.lock()
            _ = try await one.apply([.answered(heads[1].position)])
            #expect(try await claims() == [0, 0])
        }

        @Test("a pause by hand that is read for a status during a write is obeyed at the next claim")
        func pauseReadMeanwhile() async throws {
            let fixture = Fixture()
            let (store, other) = (
                try await database.store(sending: .shared), try await database.store(sending: .shared)
            )
            let known = Box<SyncQueue>()
            let queue = fixture.queue(
                HookedStore(inner: store, locks: store) { step in
                    guard step == .after("setting"), let queue = known.value else { return }
                    known.value = nil
                    try await queue.keepPause(nil)
                })
            try await queue.enqueue([Mutation("a1"), Mutation("a2")])
            fixture.server.hold()
            let flush = Task { try await queue.flush() }
            await fixture.server.waitForCalls(1)
            try await Fixture().queue(other).pause()
            known.value = queue
            _ = try await queue.status
            fixture.server.release()
            #expect(try await flush.value.end == .paused(until: .distantFuture))
            #expect(fixture.server.ids == ["a1"])
        }

        @Test("a late renewal keeps the lanes if no other worker has taken them")
        func lateRenewal() async throws {
            let one = try await worker()
            try await append(["a1"], to: one)
            try await one.lock()
            let heads = try await one.heads()
            try await database.endLeases()
            #expect(try await one.apply(claiming: heads) == ["a1"])
        }

        @Test("a worker sends nothing after its lease is over by its own clock, timed from the moment of its request")
        func ownClock() async throws {
            let clock = ManualClock()
            let one = try await worker(timeBase: clock)
            #expect(one.store.maySend(for: one.id), "who never locked is not held up")
            try await one.lock()
            clock.advance(by: .seconds(9))
            #expect(one.store.maySend(for: one.id))
            #expect(!one.store.maySend(for: UUID()))
            // No renewal can have run: the clock jumps past it.
            try await database.endLeases()
            _ = try await database.run("DELETE FROM {}.sync_worker")
            clock.advance(by: .seconds(21))
            #expect(!one.store.maySend(for: one.id))
        }

        @Test("after its lease is over, a queue does not send what it had claimed; other queues do")
        func notSent() async throws {
            let fixture = Fixture()
            let store = try await database.store(sending: .shared, timeBase: fixture.clock)
            let gate = Gate()
            let sent = Locked<[String]>([])
            let queue = SyncQueue(
                store: store, pipeline: Pipeline(timeBase: fixture.clock) { HoldingUp(gate: gate) },
                wallClock: fixture.wallClock
            ) { mutation in sent.withLock { $0.append(mutation.id) } }
            try await queue.enqueue(Mutation("a1"))
            let flush = Task { try await queue.flush() }
            await gate.waitForArrival()
            // The queue's process stands still after the claim.
            _ = try await database.run("DELETE FROM {}.sync_worker")
            fixture.clock.advance(by: .seconds(60))
            gate.open()
            await fixture.clock.waitForSleepers(1)
            await queue.stop()
            _ = try? await flush.value
            #expect(sent.withLock { $0 } == [])
            let other = try await worker()
            try await other.lock()
            #expect(try await other.apply(claiming: try await other.heads()) == ["a1"])
        }

        @Test("a pause that one worker stores holds for all at their next claim, and ends for all")
        func pause() async throws {
            let (one, other) = try await workers(["a1", "b1"])
            let heads = try await other.heads(limit: 1)
            try await one.store.set("pausedUntil", to: "1234.5")
            func claim() async throws -> ApplyResult {
                try await other.store.apply([], claiming: heads.map(\.position), keeping: DeadLimits(), at: Self.now)
            }
            let first = try await claim()
            #expect(first.hasOtherPause && first.claimed.isEmpty)
            #expect(try await other.store.setting("pausedUntil") == "1234.5")
            #expect(try await claim().hasOtherPause == false, "now it knows")
            // The worker ends only the pause that it knows.
            try await one.store.set("pausedUntil", to: "2345.5")
            // A shorter pause changes nothing, and the worker that stores it learns of the longer pause.
            try await one.store.set("pausedUntil", to: "999.5")
            let own = try await one.store.apply(
                [], claiming: heads.map(\.position), keeping: DeadLimits(), at: Self.now)
            #expect(own.hasOtherPause && own.claimed.isEmpty)
            try await other.store.set("pausedUntil", to: nil)
            #expect(try await one.store.setting("pausedUntil") == "2345.5")
            #expect(try await claim().hasOtherPause)
        }

        @Test(
            "a sending queue learns of a pause at its next claim; a queue that follows the store also learns its end")
        func pauseOfAQueue() async throws {
            let (one, other) = (Fixture(), Fixture())
            let (first, second) = (
                one.queue(try await database.store(sending: .shared)),
                other.queue(try await database.store(sending: .shared))
            )
            other.server.hold()
            try await first.enqueue([Mutation("a1"), Mutation("b1")])
            let flush = Task { try await second.flush() }
            await other.server.waitForCalls(1)
            one.server.enqueue(.refused(.throttled(retryAfter: .seconds(60))))
            try await first.enqueue(Mutation("c1"))
            // The first queue needs this lane; the second may have taken it.
            _ = try await database.run("UPDATE {}.sync_lane SET worker = NULL WHERE entity = 'c'")
            guard case .paused = try await first.flush().end else {
                Issue.record("the first is not paused")
                return
            }
            other.server.release()
            guard case .paused = try await flush.value.end else {
                Issue.record("the second is not paused")
                return
            }
            let calls = other.server.callCount
            let follower = Task { await second.followStore() }
            // By hand, in another process.
            let third = try await database.store(sending: .shared)
            _ = try await third.setting("pausedUntil")
            try await third.set("pausedUntil", to: nil)
            await other.server.waitForCalls(calls + 1)
            follower.cancel()
        }

        @Test("a queue that follows the store sends another process's mutations")
        func follows() async throws {
            let fixture = Fixture()
            let queue = fixture.queue(try await database.store(sending: .shared))
            let follower = Task { await queue.followStore() }
            let one = try await worker()
            try await append(["a1"], to: one)
            await fixture.server.waitForCalls(1)
            // In the caller's transaction, the commit sends the notification.
            let filler = Fixture().queue(one.store)
            try await database.engine.transaction { session in
                try await filler.enqueue([Mutation("b1")], in: session)
            }
            await fixture.server.waitForCalls(2)
            #expect(fixture.server.ids == ["a1", "b1"])
            follower.cancel()
        }

        @Test(
            "a queue that follows the store learns a date from another process, and sends then, by the server's clock"
        )
        func followsDates() async throws {
            let fixture = Fixture()
            let queue = SyncQueue(store: try await database.store(sending: .shared), pipeline: Pipeline {}) {
                [server = fixture.server] in try await server($0)
            }
            let follower = Task { await queue.followStore() }
            let other = try await worker()
            let date = try #require(other.store.now).addingTimeInterval(1)
            try await other.store.append([Mutation(id: "a1", entity: "a", kind: "create", notBefore: date)])
            await fixture.server.waitForCalls(1)
            #expect(try #require(queue.store.now) >= date)
            follower.cancel()
            await queue.stop()
        }

        @Test("a queue that follows the store sends promptly while a statement of its process waits for a lock")
        func followsDuringSlowStatement() async throws {
            let fixture = Fixture()
            let queue = fixture.queue(try await database.store(sending: .shared))
            let follower = Task { await queue.followStore() }
            let one = try await worker()
            try await append(["a1"], to: one)
            await fixture.server.waitForCalls(1)
            let (database, other) = (database, try TestDatabase.engine())
            let lock = Int64.random(in: 0...Int64.max)
            let waiting = Locked<Task<Void, any Error>?>(nil)
            try await other.transaction { session in
                try await session.run("SELECT 1::int8 FROM pg_advisory_xact_lock($1)", [.integer(lock)])
                // The statement may run on the listening connection, which receives nothing meanwhile.
                let task = Task {
                    _ = try await database.run("SELECT 1::int8 FROM pg_advisory_lock($1)", [.integer(lock)])
                }
                waiting.withLock { $0 = task }
                while try await other.run(
                    "SELECT 1::int8 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = $1",
                    [.integer(lock & 0xFFFF_FFFF)]
                ).isEmpty {}
                let store = try await PostgreSQLStore(
                    other, schema: database.schema, queue: "sync", sending: .shared, lease: .seconds(30),
                    lanesAtOnce: 16, pollInterval: .seconds(3_600), tellsOthers: true, migrates: true,
                    timeBase: SystemTimeBase.shared)
                _ = try await store.append([Mutation("b1")], under: AppendRules(), at: Date())
                await fixture.server.waitForCalls(2)
            }
            try await waiting.withLock { $0 }?.value
            follower.cancel()
        }

        /// Starts something that waits for the lane of `a`, and lets something else happen before it can continue.
        private func whileLaneIsHeld<R: Sendable>(
            by worker: Worker, _ function: String, _ wait: @escaping @Sendable () async throws -> R,
            meanwhile: @Sendable () async throws -> Void = {}
        ) async throws -> R {
            let now = Self.now
            return try await whileHeld(
                { session in
                    _ = try await worker.store.append(
                        [Mutation("a9")], under: AppendRules(coalescing: .off), at: now, joining: session)
                }, function, wait, meanwhile: meanwhile)
        }

        /// Starts something that waits for a transaction, and lets something else happen before its commit.
        private func whileHeld<R: Sendable>(
            _ hold: @Sendable (any StatementSession) async throws -> Void, _ function: String,
            _ wait: @escaping @Sendable () async throws -> R, meanwhile: @Sendable () async throws -> Void
        ) async throws -> R {
            let database = database
            let task = try await database.engine.transaction { session in
                try await hold(session)
                let isOver = Box<Bool>()
                let task = Task {
                    defer { isOver.value = true }
                    return try await wait()
                }
                while isOver.value == nil, try await !database.isWaiting(in: function) {}
                try await meanwhile()
                return task
            }
            return try await task.value
        }

        /// Runs the body while a program's transaction that appends to the lane of `a` is open.
        private func holdingALane(_ worker: Worker, _ body: @Sendable () async throws -> Void) async throws {
            let now = Self.now
            try await database.engine.transaction { session in
                _ = try await worker.store.append(
                    [Mutation("a9")], under: AppendRules(coalescing: .off), at: now, joining: session)
                try await body()
            }
        }

        @Test("reviving waits for a transaction that appends to the lane, and locks no other lane meanwhile")
        func heldLaneRevived() async throws {
            let (one, heads) = try await sender(["a1", "b1", "b2", "c1"])
            _ = try await one.apply([0, 2].map { .died(heads[$0].position, error: "", rest: .skip) })
            let count = try await whileLaneIsHeld(by: one, "revive") {
                try await one.store.reviveAll(at: Self.now)
            } meanwhile: {
                _ = try await one.apply([.died(heads[1].position, error: "", rest: .block)])
                try await append(["c2"], to: one)
            }
            #expect(count == 2)
            #expect(try await one.store.dead(after: .min, limit: 9).map(\.mutation.id) == ["b1"])
            #expect(try await one.heads().map(\.id) == ["a1", "c1"])
        }

        @Test(
            "a revival counts an uncommitted claim as an attempt; a claim behind an uncommitted revival finds no head")
        func claimedMeanwhile() async throws {
            let (one, store) = (try await worker(), try await database.store(sending: .shared))
            try await append(["a1", "a2"], to: one)
            try await one.lock()
            let a1 = try #require(try await one.heads().first)
            _ = try await one.apply(claiming: [a1])
            _ = try await one.apply([.died(a1.position, error: "", rest: .skip)])
            let a2 = try #require(try await one.heads().first)
            // The claim is not committed yet.
            try await whileRowIsHeld(a2.position, by: "UPDATE {}.sync_mutation SET attempted = true", "revive") {
                let count = try await store.revive([a1.position], evenOvertaken: false, at: Self.now)
                #expect(count == 0)
            }
            _ = try await database.run("UPDATE {}.sync_mutation SET attempted = false")
            // A revival that is not committed yet.
            let revival = """
                WITH l AS (UPDATE {}.sync_lane SET head = \(a1.position)), m AS
                (UPDATE {}.sync_mutation SET state = 0, died_at = NULL WHERE position = \(a1.position))
                UPDATE {}.sync_mutation SET claims = claims
                """
            try await whileRowIsHeld(a2.position, by: revival, "apply") {
                let claimed = try await one.apply(claiming: [a2])
                #expect(claimed == [])
            }
        }

        /// Changes a mutation in a transaction, and commits once something waits for it.
        private func whileRowIsHeld(
            _ position: Int64, by change: String, _ function: String,
            _ wait: @escaping @Sendable () async throws -> Void
        ) async throws {
            let statement =
                change.replacing("{}", with: "\"\(database.schema)\"") + " WHERE position = \(position)"
            try await whileHeld({ try await $0.run(statement, []) }, function, wait) {}
        }

        @Test("discarding does not wait for a transaction that appends to the lane, and the lane continues in order")
        func heldLane() async throws {
            let (one, heads) = try await sender(["a1", "b1", "b2"])
            _ = try await one.apply([.died(heads[0].position, error: "", rest: .skip)])
            try await holdingALane(one) {
                let count = try await one.store.discardAll()
                #expect(count == 1)
                _ = try await one.apply([.died(heads[1].position, error: "", rest: .block)])
            }
            #expect(try await one.store.dead(after: .min, limit: 9).map(\.mutation.id) == ["b1"])
            #expect(try await one.heads().map(\.id) == ["a9"])
            // The lane continues in order once it is not blocked.
            #expect(try await one.store.discardAll() == 1)
            try await append(["b3"], to: one)
            let b2 = try #require(try await one.heads().first { $0.entity == "b" })
            #expect(b2.id == "b2")
            #expect(try await one.apply(claiming: [b2]) == ["b2"])
            #expect(try await one.apply([.acknowledged(b2.position)]) == [])
            let next = try await one.heads().first { $0.entity == "b" }
            #expect(next?.id == "b3")
        }

        @Test("a mutation revived while the queue is cleared stays, and its lane continues")
        func revivedMeanwhile() async throws {
            let (one, heads) = try await sender(["a1", "b1"])
            _ = try await one.apply([.died(heads[1].position, error: "", rest: .skip)])
            let pending = try await one.store.pendingPositions()
            try await holdingALane(one) {
                let revived = try await one.store.reviveAll(at: Self.now)
                let removed = try await one.store.removePending(pending)
                #expect(revived == 1 && removed == 1)
            }
            try await append(["b2"], to: one)
            #expect(try await one.store.pending(after: .min, limit: 9).map(\.mutation.id) == ["b1", "a9", "b2"])
            #expect(try await one.heads().map(\.id) == ["b1", "a9"])
        }

        @Test("an uncommitted append keeps its lane: its mutations are neither lost nor cancelled")
        func appendedWhileCancelled() async throws {
            let one = try await worker()
            try await append(["a1"], to: one)
            let cancelled = try await whileLaneIsHeld(by: one, "sync_lane") {
                try await one.store.mutation("a1", cancelling: true)
            }
            #expect(cancelled?.mutation.id == "a1")
            #expect(try await one.store.pending(after: .min, limit: 9).map(\.mutation.id) == ["a9"])
            #expect(try await one.heads().map(\.id) == ["a9"])
            #expect(try await one.store.totals().pending == 1)
        }

        @Test(
            "when another worker's mutation in flight is cancelled, that worker keeps the lane and alone sends the next"
        )
        func cancelledInFlight() async throws {
            let (one, other) = try await workers(["a1", "b1", "b2"])
            let heads = try await one.heads()
            #expect(try await one.apply(claiming: heads) == ["a1", "b1"])
            #expect(try await other.store.mutation("a1", cancelling: true)?.claims == 1)
            #expect(try await other.store.mutation("b1", cancelling: true)?.isAttempted == true)
            try await append(["a1"], to: other)
            #expect(try await other.heads() == [], "the lanes are the first's, which may be sending")
            #expect(try await one.heads().map(\.id) == ["b2", "a1"])
            // The answers come late.
            #expect(
                try await one.apply([
                    .acknowledged(heads[0].position), .died(heads[1].position, error: "late", rest: .killRest),
                ]) == [])
            let next = try await one.heads()
            #expect(next.map(\.id) == ["b2", "a1"])
            #expect(try await one.apply(claiming: next) == ["b2", "a1"])
            _ = try await one.apply(next.map { .acknowledged($0.position) })
            #expect(try await other.store.totals() == QueueTotals())
            #expect(try await database.count("sync_lane") == 0)
        }

        @Test("a lane kept for a cancelled mutation is free once its worker is gone")
        func cancelledAndGone() async throws {
            let (one, other) = try await workers(["a1"])
            #expect(try await one.apply(claiming: one.heads()) == ["a1"])
            _ = try await other.store.mutation("a1", cancelling: true)
            try await append(["a2"], to: other)
            #expect(try await other.heads() == [])
            await one.store.unlock(for: one.id)
            #expect(try await other.heads().map(\.id) == ["a2"])
        }

        @Test("concurrent appends, claims and cancellations lose nothing, and totals and lanes agree in the end")
        func cancelledAtOnce() async throws {
            let stores = [try await worker(), try await worker(), try await worker()]
            for worker in stores { try await worker.lock() }
            let ids = (0..<120).map { "\(["a", "b", "c", "d"][$0 % 4])\($0)" }
            // The claimed mutations, and those cancelled before.
            var gone = try await withThrowingTaskGroup(of: [String].self) { group in
                group.addTask {
                    for id in ids { try await self.append([id], to: stores[0]) }
                    return []
                }
                for worker in stores {
                    group.addTask {
                        var sent: [String] = []
                        for _ in 0..<60 {
                            let heads = try await worker.heads()
                            let claimed = try await worker.apply(claiming: heads)
                            sent += claimed
                            _ = try await worker.apply(
                                heads.filter { claimed.contains($0.id) }.map { .acknowledged($0.position) })
                        }
                        return sent
                    }
                }
                group.addTask {
                    var cancelled: [String] = []
                    for id in ids + ids {
                        let one = try await stores[1].store.mutation(id, cancelling: true)
                        if let one, !one.isAttempted { cancelled.append(id) }
                    }
                    return cancelled
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            for worker in stores { await worker.store.unlock(for: worker.id) }
            try await stores[0].lock()
            while case let heads = try await stores[0].heads(), !heads.isEmpty {
                gone += try await stores[0].apply(claiming: heads)
                _ = try await stores[0].apply(heads.map { .acknowledged($0.position) })
            }
            #expect(gone.sorted() == ids.sorted())
            #expect(try await stores[0].store.totals() == QueueTotals())
        }

        @Test("a lane that another transaction creates while an append waits is kept until that append is committed")
        func madeMeanwhile() async throws {
            let (one, database) = (try await worker(), database)
            try await append(["a1"], to: one)
            let rules = AppendRules(coalescing: .off)
            // This append sees no lane of `b`, and waits for the lane of `a`.
            try await whileLaneIsHeld(by: one, "begin_append") {
                try await database.engine.transaction { session in
                    _ = try await one.store.append(
                        [Mutation("a2"), Mutation("b2")], under: rules, at: Self.now, joining: session)
                    let b1 = try await one.store.pending(after: .min, limit: 9).first { $0.mutation.id == "b1" }
                    // This was the only committed mutation in its lane, so the lane would be removed.
                    _ = try await one.apply([.acknowledged(try #require(b1).position)])
                }
            } meanwhile: {
                try await append(["b1"], to: one)
            }
            try await one.lock()
            #expect(try await one.heads().map(\.id) == ["a1", "b2"])
        }

        @Test("queues in one schema begin at the same time, even if their names begin alike")
        func oneSchema() async throws {
            let (engine, schema) = (try TestDatabase.engine(connections: 8), TestDatabase.newSchema())
            let queues = ["sync", "sync_dead", "sync_index", "q4", "q5", "q6", "q7", "q8"]
            let pending = try await withThrowingTaskGroup { group in
                for queue in queues {
                    group.addTask {
                        let store = try await PostgreSQLStore(engine, schema: schema, queue: queue)
                        _ = try await store.append([Mutation("a1")], under: AppendRules(coalescing: .off), at: Self.now)
                        return try await store.totals().pending
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(pending == queues.map { _ in 1 })
        }

        @Test("a transaction that appends and stays open blocks neither acknowledgements nor other lanes")
        func openTransaction() async throws {
            let (one, heads) = try await sender(["a1", "b1"])
            let (database, now) = (database, Self.now)
            try await database.engine.transaction { session in
                _ = try await one.store.append(
                    [Mutation("a2")], under: AppendRules(coalescing: .off), at: now, joining: session)
                // Acknowledged from another connection, while the lane is locked.
                let result = try await one.store.apply(
                    heads.map { .acknowledged($0.position) }, claiming: [], keeping: DeadLimits(), at: now)
                #expect(result.claimed == [])
                #expect(try await one.store.pending(after: .min, limit: 10) == [])
                #expect(try await one.heads() == [])
                #expect(try await one.store.othersHaveHeads(), "it can't be told that nothing is left")
            }
            #expect(try await one.heads().map(\.id) == ["a2"])
            #expect(try await database.count("sync_late") == 0)
        }

        @Test(
            "the server's clock decides about pauses and ages, whatever the workers' clocks show (P68)",
            arguments: [7200.0, -7200])
        func serversClock(offBy seconds: TimeInterval) async throws {
            let (wrong, right) = (Fixture(), Fixture())
            func queue(_ fixture: Fixture, offBy seconds: TimeInterval) async throws -> SyncQueue {
                SyncQueue(
                    store: try await database.store(sending: .shared), pipeline: Pipeline(timeBase: fixture.clock) {},
                    configuration: SyncQueueConfiguration(maxInFlight: 1, maxAge: .seconds(3600)),
                    wallClock: { Date().addingTimeInterval(seconds) }
                ) { [server = fixture.server] in try await server($0) }
            }
            let (one, other) = (try await queue(wrong, offBy: seconds), try await queue(right, offBy: 0))
            try await other.enqueue(Mutation("a1"))
            try await one.flush()
            #expect(wrong.server.ids == ["a1"], "it is not too old")
            try await one.enqueue(Mutation("b1"))
            wrong.server.enqueue(.refused(.throttled(retryAfter: .seconds(100))))
            try await one.flush()
            try await other.flush()
            let left = try #require(other.pausedUntil.map { right.clock.now.duration(to: $0) })
            #expect(.seconds(40) < left && left <= .seconds(101))
            try await other.resume()
            try await other.flush()
            #expect(right.server.ids == ["b1"])
        }

        @Test("a mutation that another worker takes while this one counts is not reported as blocked")
        func takenWhileCounting() async throws {
            let (one, other) = (try await worker(), try await worker())
            try await other.lock()
            let store = HookedStore(inner: one.store, locks: one.store) { step in
                guard step == .before("totals") else { return }
                try await append(["a1"], to: other)
                #expect(try await other.heads().map(\.id) == ["a1"])
            }
            let end = try await Fixture().queue(store).flush().end
            guard case .lockedOut = end else {
                Issue.record("it ends with \(end)")
                return
            }
        }

        @Test("queues that flush together send each mutation once, each entity in order, and leave nothing behind")
        func together() async throws {
            let log = Locked<[String]>([])
            let clocks = (0..<4).map { _ in Fixture() }
            var queues: [SyncQueue] = []
            for fixture in clocks {
                let store = try await database.store(sending: .shared)
                queues.append(
                    SyncQueue(
                        store: store, pipeline: Pipeline(timeBase: fixture.clock) {},
                        configuration: SyncQueueConfiguration(maxInFlight: 4), wallClock: fixture.wallClock
                    ) { mutation in log.withLock { $0.append(mutation.id) } })
            }
            let lanes = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
            for round in 1...30 {
                try await queues[round % 4].enqueue(lanes.map { Mutation("\($0)\(round)") })
            }
            for (queue, fixture) in zip(queues, clocks) {
                Task { [queue] in _ = try? await fixture.whileTimePasses { try await queue.drain() } }
            }
            while try await queues[0].status.pending > 0 { _ = try await queues[0].flush() }
            for queue in queues { await queue.stop(within: .seconds(60)) }
            let sent = log.withLock { $0 }
            #expect(sent.count == 300)
            #expect(Set(sent).count == 300)
            for lane in lanes { #expect(sent.filter { $0.hasPrefix(lane) } == (1...30).map { "\(lane)\($0)" }) }
            for table in ["sync_mutation", "sync_lane", "sync_late", "sync_worker"] {
                #expect(try await database.count(table) == 0, "\(table)")
            }
        }

        @Test("while another queue has the rest, a queue is not done, and reports when it will look again")
        func others() async throws {
            let (one, other) = (try await worker(), Fixture())
            try await append(["a1"], to: one)
            try await one.lock()
            _ = try await one.heads()
            let queue = other.queue(try await database.store(sending: .shared))
            #expect(try await queue.flush().end == .lockedOut(retryAt: other.clock.now + .seconds(1)))
            await one.store.unlock(for: one.id)
            #expect(try await queue.flush().end == .drained)
            #expect(other.server.ids == ["a1"])
        }

        @Test("when a mutation dies under a lease, its lane is returned, blocked or not; mutations behind it come next")
        func deaths() async throws {
            let (one, other) = try await workers(["a1", "b1", "c1", "a2", "b2", "c2"])
            let heads = try await one.heads()
            #expect(try await one.apply(claiming: heads) == ["a1", "b1", "c1"])
            _ = try await one.apply([
                .died(heads[0].position, error: "no", rest: .block), .failed(heads[1].position, error: "no"),
                .died(heads[1].position, error: "no", rest: .skip),
                .died(heads[2].position, error: "no", rest: .killRest),
            ])
            #expect(try await other.heads().map(\.id) == ["b2"])
            #expect(try await other.store.dead(after: .min, limit: 9).map(\.mutation.id) == ["a1", "b1", "c1", "c2"])
            #expect(try await other.store.discard([heads[0].position]) == 1)
            #expect(try await other.heads().map(\.id) == ["a2", "b2"])
            #expect(try await one.heads() == [])
        }

        @Test("a failed mutation stays with its worker, which waits before its retry")
        func failed() async throws {
            let (one, other) = try await workers(["a1"])
            let heads = try await one.heads()
            _ = try await one.apply(claiming: heads)
            _ = try await one.apply([.failed(heads[0].position, error: "no")])
            #expect(try await other.heads() == [])
            #expect(try await one.heads().map(\.failures) == [1])
        }

        @Test("two queues can't share one value of a shared store")
        func oneValue() async throws {
            let one = try await worker()
            try await one.lock()
            #expect(try await one.store.lock(for: UUID()) == .denied)
            #expect(try await one.store.lock(for: one.id) == .taken)
        }

        @Test("exclusive and shared locks exclude each other")
        func mixed() async throws {
            let one = try await worker()
            let exclusive = try await database.store()
            let id = UUID()
            try await one.lock()
            #expect(try await exclusive.lock(for: id) == .denied)
            await one.store.unlock(for: one.id)
            #expect(try await exclusive.lock(for: id) == .taken)
            #expect(try await one.store.lock(for: one.id) == .denied)
        }

        @Test("the lock of an exclusive store passes on when its lease is over, and fences off its former holder")
        func exclusive() async throws {
            let (one, other) = (try await database.store(), try await database.store())
            let (first, second) = (UUID(), UUID())
            _ = try await one.append([Mutation("a1")])
            #expect(try await one.lock(for: first) == .taken)
            let head = try #require(try await one.heads(after: .min, limit: 1).first)
            #expect(try await other.lock(for: second) == .denied)
            try await database.endLeases()
            #expect(try await other.lock(for: second) == .taken)
            let late = try await one.apply(
                [.failed(head.position, error: "late")], claiming: [head.position], keeping: DeadLimits(), at: Self.now)
            #expect(late.claimed == [])
            #expect(!one.maySend(for: first))
            #expect(try await other.pending(after: .min, limit: 1).first?.failures == 0)
            #expect(
                try await other.apply([], claiming: [head.position], keeping: DeadLimits(), at: Self.now).claimed.count
                    == 1)
            #expect(try await one.lock(for: first) == .denied)
        }
    }

    /// Lets a test wait for an arrival, and decide when to continue.
    private final class Gate: Sendable {
        private let arrived = AsyncStream.makeStream(of: Void.self)
        private let opened = AsyncStream.makeStream(of: Void.self)

        func pass() async {
            arrived.continuation.yield()
            for await _ in opened.stream { return }
        }

        func waitForArrival() async { for await _ in arrived.stream { return } }

        func open() { opened.continuation.yield() }
    }

    /// Holds calls between the claim and the handler.
    private struct HoldingUp: AroundPolicy {
        let gate: Gate

        func around(
            _ call: inout PolicyCall, isolation: isolated (any Actor)?,
            _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
        ) async throws -> Verdict {
            await gate.pass()
            return try await inside(call.deadline)
        }
    }
#endif
