import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct OrderTests {
    let fixture = Fixture()

    @Test(
        "mutations are sent in the order they were enqueued, over any number of pages (C7)", arguments: [1, 2, 7, 100])
    func order(pageSize: Int) async throws {
        let queue = fixture.queue(configuration: SyncQueueConfiguration(maxInFlight: 1, pageSize: pageSize))
        try await queue.enqueue(Mutation.many(20))
        #expect(try await queue.flush().delivered == 20)
        #expect(fixture.server.ids == (0..<20).map { "\($0)" })
    }

    @Test("a failing mutation holds back only later mutations of its entity", arguments: [1, 100])
    func heldBack(pageSize: Int) async throws {
        fixture.server.enqueue(.refused(.unavailable))
        let queue = fixture.queue(configuration: SyncQueueConfiguration(maxInFlight: 1, pageSize: pageSize))
        try await queue.enqueue([Mutation("b1"), Mutation("a1"), Mutation("b2"), Mutation("a2")])
        let report = try await queue.flush()
        if pageSize == 100 { #expect(fixture.server.ids == ["b1", "a1", "a2"] && report.delivered == 2) }
        #expect(report.failed == 1 && report.end == .stalled(retryAt: fixture.clock.now + .seconds(1)))
        _ = try await fixture.whileTimePasses { try await queue.drain() }
        #expect(fixture.server.ids.filter { $0.hasPrefix("b") } == ["b1", "b1", "b2"])
    }

    @Test("being offline ends the flush at the first mutation, and the queue retries without a trigger")
    func offline() async throws {
        fixture.server.enqueue(.refused(.unreachable))
        let queue = fixture.queue()
        try await queue.enqueue(Mutation.many(5))
        let retryAt = fixture.clock.now + .seconds(1)
        #expect(try await queue.flush().end == .offline(retryAt: retryAt))
        #expect(fixture.server.callCount == 1 && fixture.clock.sleepers == [retryAt])
        fixture.clock.advance(to: retryAt)
        await fixture.server.waitForCalls(6)
    }

    @Test("when everything fails, a flush gives up after as many entities as a page holds")
    func everythingFails() async throws {
        let server = Server(fallback: .refused(.unavailable))
        let queue = SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: fixture.clock) {},
            configuration: SyncQueueConfiguration(maxInFlight: 1, pageSize: 3)
        ) { try await server($0) }
        try await queue.enqueue(Mutation.many(50))
        #expect(try await queue.flush().failed == 3)
        #expect(server.callCount == 3)
    }

    @Test("under random answers each entity stays in order; each mutation is acknowledged or dead", arguments: 1...20)
    func walk(seed: UInt64) async throws {
        let random = Locked(SeededGenerator(seed: seed))
        let acknowledged = Locked<[Mutation]>([])
        let queue = SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: fixture.clock) { fixture.breaker },
            configuration: SyncQueueConfiguration(pageSize: 5)
        ) { mutation in
            switch random.withLock({ Int.random(in: 0..<10, using: &$0) }) {
            case 0..<2: throw Refusal.unavailable
            case 2: throw Refusal.gone
            case 3..<5: throw Refusal.throttled
            default: acknowledged.withLock { $0.append(mutation) }
            }
        }
        let all = (0..<60).map { number in
            Mutation("\(random.withLock { ["a", "b", "c", "d"].randomElement(using: &$0)! })\(number)")
        }
        try await queue.enqueue(all)
        let report = try await fixture.whileTimePasses { try await queue.drain() }
        let sent = acknowledged.withLock { $0 }
        let dead = try await queue.dead(limit: 1000).map(\.mutation)
        #expect(Set(sent).count == sent.count && Set(sent).isDisjoint(with: dead))
        #expect(Set(sent).union(dead) == Set(all))
        #expect(report.delivered == sent.count && report.died == dead.count && report.end == .drained)
        for entity in ["a", "b", "c", "d"] {
            let expected = all.filter { $0.entity == entity && !dead.contains($0) }
            #expect(sent.filter { $0.entity == entity } == expected)
        }
    }
}
