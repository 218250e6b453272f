import Foundation
import Resilience
import ResilienceTesting
import Testing

@testable import ResilienceSync

private struct Ended: Error {}

/// Mutations whose handlers crash the process: they never return, so nothing fails.
@Suite struct PoisonPillTests {
    private let clock = ManualClock()

    /// A process that dies while these mutations are in flight.
    private func end(_ store: some MutationStore, with positions: [Int64], times: Int = 1) async throws {
        for _ in 0..<times { _ = try await store.apply([], claiming: positions, at: Date()) }
    }

    /// Starts the app, which flushes until it is done or a pill kills it.
    /// - Returns: The handler's inputs.
    private func start(
        _ store: any MutationStore, pills: Set<String> = [], told: EventRecorder = EventRecorder(),
        _ configuration: SyncQueueConfiguration = SyncQueueConfiguration()
    ) async -> (sent: [String], ended: Bool) {
        let hasEnded = Box<Bool>()
        let sent = Locked<[String]>([])
        let queue = SyncQueue(
            store: HookedStore(inner: store) { _ in if hasEnded.value == true { throw Ended() } },
            pipeline: Pipeline(timeBase: clock) {}, configuration: configuration, observers: PolicyObservers(told)
        ) { mutation in
            if hasEnded.value == true { throw Ended() }
            sent.withLock { $0.append(mutation.id) }
            guard pills.contains(mutation.id) else { return }
            hasEnded.value = true
            throw Ended()
        }
        _ = try? await queue.flush()
        return (sent.withLock { $0 }, hasEnded.value == true)
    }

    @Test(
        "a pill kills the app six times at most, and all other mutations are delivered, however many pills (P67)",
        arguments: [1, 3])
    func starts(pillCount: Int) async throws {
        for store in try everyStore() {
            let pills = Set((0..<pillCount).map { "\($0 * 7)" })
            _ = try await store.append(Mutation.many(30), under: AppendRules(), at: Date())
            let told = EventRecorder()
            var ends = 0
            while await start(store, pills: pills, told: told).ended {
                ends += 1
                try #require(ends <= 6 * pillCount, "an app that can't be opened again")
            }
            let dead = try await store.dead(after: .min, limit: 100)
            #expect(Set(dead.map(\.mutation.id)) == pills)
            #expect(dead.allSatisfy { $0.failures == 0 && $0.claims == 6 && $0.lastError?.contains("process") == true })
            let left = try await store.pending(after: .min, limit: 100)
            #expect(left.isEmpty)
            let died = told.events(of: SyncEvent.self).filter { $0.kind == "died" }
            #expect(died.count == pillCount)
        }
    }

    @Test("a mutation is delivered even after the user killed the app five times while it was in flight (P67)")
    func forceQuit() async throws {
        for store in try everyStore() {
            _ = try await store.append([Mutation("a1"), Mutation("a2")], under: AppendRules(), at: Date())
            let position = try #require(try await store.heads(after: .min, limit: 1).first?.position)
            try await end(store, with: [position], times: 5)
            let told = EventRecorder()
            let sent = await start(store, told: told).sent
            #expect(sent == ["a1", "a2"])
            let events = told.events(of: SyncEvent.self)
            #expect(events.contains(.suspected(id: "a1", claims: 5)) && events.contains(.attempted(id: "a2")))
        }
    }

    @Test("if two processes died with a mutation in flight, it is sent last and alone; a single death changes nothing")
    func alone() async throws {
        let store = MemoryStore()
        _ = try store.append(Mutation.many(20), under: AppendRules(), at: Date())
        let heads = try await store.heads(after: .min, limit: 20).map(\.position)
        try await end(store, with: Array(heads[0..<8]))
        try await end(store, with: Array(heads[0..<4]))
        let inFlight = Locked((now: 0, most: 0, besideSuspects: 0))
        let order = Locked<[String]>([])
        let suspects = Set((0..<4).map { "\($0)" })
        let queue = SyncQueue(store: store, pipeline: Pipeline(timeBase: clock) {}) { mutation in
            order.withLock { $0.append(mutation.id) }
            inFlight.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
                if suspects.contains(mutation.id) { $0.besideSuspects = max($0.besideSuspects, $0.now - 1) }
            }
            // The other mutations that may be in flight with it come now.
            await Task {}.value
            inFlight.withLock { $0.now -= 1 }
        }
        let report = try await queue.flush()
        #expect(report.counts.delivered == 20)
        #expect(order.withLock { $0.suffix(4) } == ["0", "1", "2", "3"])
        #expect(inFlight.withLock { $0.besideSuspects } == 0)
    }

    @Test("429s, being offline, a cancellation, and failures that don't count, all count as answers")
    func answers() async throws {
        let fixture = Fixture()
        let store = MemoryStore()
        let queue = fixture.queue(store)
        try await queue.enqueue(Mutation("a1"))
        for refusal in [Refusal.throttled, .unreachable, .abandoned, .unavailable] {
            fixture.server.enqueue(.refused(refusal))
            try await queue.flush()
            #expect(store.pendingCount() == 1)
            #expect(try await store.heads(after: .min, limit: 1).map(\.claims) == [0], "\(refusal)")
            try await queue.resume()
            try await queue.flush()
            #expect(store.pendingCount() == 0)
            try await queue.enqueue(Mutation("\(refusal)1"))
        }
    }

    @Test(
        "a mutation that the process survived is not a suspected pill, even if the store lost the answer or failed",
        arguments: [true, false], [true, false])
    func survived(losesClaims: Bool, isSentByOthers: Bool) async throws {
        let fixture = Fixture()
        let (store, locks, fails) = (MemoryStore(), MemoryStore(), Box<Bool>())
        let hooked = HookedStore(inner: store, locks: locks) { step in
            switch step {
            case .after(let name, let rows):
                if losesClaims, name != "heads", rows > 0, fails.value == true { throw Ended() }
            case .before(let name): if !losesClaims, name == "answer", fails.value == true { throw Ended() }
            }
        }
        let isDown = Box<Bool>()
        isDown.value = true
        let queue = SyncQueue(
            store: hooked, pipeline: Pipeline(timeBase: fixture.clock) {}, observers: PolicyObservers(fixture.recorder)
        ) { _ in
            guard isDown.value == true else { return }
            fails.value = true
            throw Refusal.unavailable
        }
        try await queue.enqueue([Mutation("a1"), Mutation("b1")])
        for _ in 0..<12 {
            fails.value = losesClaims
            fixture.clock.advance(by: .seconds(100))
            await #expect(throws: Ended.self) { try await queue.flush() }
            let another = UUID()
            if isSentByOthers, locks.lock(for: another) != .denied { locks.unlock(for: another) }
        }
        (fails.value, isDown.value) = (false, false)
        fixture.clock.advance(by: .seconds(100))
        #expect(try await queue.flush().end == .drained)
        #expect(store.pendingCount() == 0 && store.deadCount() == 0)
        #expect(!fixture.events.contains { $0.kind == "suspected" })
    }

    @Test("a batch contains no suspect")
    func batch() async throws {
        let store = MemoryStore()
        _ = try store.append(Mutation.many(6), under: AppendRules(), at: Date())
        try await end(store, with: [try await store.heads(after: .min, limit: 6)[2].position], times: 2)
        let batches = Locked<[[String]]>([])
        let handler = SyncHandler.batch("create", upTo: 10) { mutations in
            batches.withLock { $0.append(mutations.map(\.id)) }
            return mutations.map { _ in .success(()) }
        }
        let queue = SyncQueue(store: store, pipeline: Pipeline(timeBase: clock) {}, handlers: [handler])
        try await queue.flush()
        #expect(batches.withLock { $0 } == [["0", "1", "3", "4", "5"], ["2"]])
    }

    @Test("a suspect waits for at most 1 000 other mutations, even if new ones keep coming")
    func patience() {
        var lanes = LanesStateMachine(pageSize: 10)
        let rules = LanesStateMachine.Rules(batchLimits: ["one": 1], otherKinds: nil, maxClaims: 6)
        var position: Int64 = 1
        var others = 0
        let suspect = LaneHead(1, "suspect", claims: 2)
        while others <= 2_000 {
            switch lanes.next(at: clock.now, pace: .now, rules: rules) {
            case .look:
                position += 1
                lanes.found((position == 2 ? [suspect] : []) + [LaneHead(position, "lane \(position)")])
            case .send(let heads):
                if heads == [suspect] {
                    #expect(others == 1_000)
                    return
                }
                others += 1
                lanes.ended(heads)
            default: Issue.record("it waits")
            }
        }
        Issue.record("the suspect is never sent")
    }
}
