import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

/// Several requests at once.
@Suite(.timeLimit(.minutes(20))) struct LanesTests {
    let fixture = Fixture()

    @Test("mutations are sent concurrently up to the limit, but never two of one entity", arguments: [2, 3, 8])
    func sideBySide(limit: Int) async throws {
        let running = Locked<[String: Int]>([:])
        let server = fixture.server
        let queue = SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: fixture.clock) {},
            configuration: SyncQueueConfiguration(maxInFlight: limit)
        ) { mutation in
            let mine = running.withLock { running in
                running[mutation.entity, default: 0] += 1
                return running[mutation.entity]
            }
            #expect(mine == 1)
            defer { running.withLock { $0[mutation.entity, default: 0] -= 1 } }
            try await server(mutation)
        }
        let lanes = (0..<10).map { String(Character(Unicode.Scalar(UInt8(97 + $0)))) }
        for number in 1...5 { try await queue.enqueue(lanes.map { Mutation("\($0)\(number)") }) }
        // After a few answers the queue has as many in flight as allowed.
        #expect(try await queue.flush().delivered == 50)
        for lane in lanes {
            #expect(server.ids.filter { $0.hasPrefix(lane) } == (1...5).map { "\(lane)\($0)" })
        }
        #expect(server.mostRunning <= limit)
    }

    @Test("with answers outstanding, as many entities are in flight as allowed")
    func fillsUp() async throws {
        let (queue, server) = (
            fixture.queue(configuration: SyncQueueConfiguration(maxInFlight: 4)), fixture.server
        )
        try await queue.enqueue(Mutation.many(30))
        _ = try await queue.flush()
        server.hold()
        try await queue.enqueue((0..<10).map { Mutation("\(Character(Unicode.Scalar(UInt8(97 + $0))))1") })
        queue.trigger()
        await server.waitForCalls(34)
        #expect(server.running == 4)
        #expect(try await queue.status.inFlight == 4)
        server.release()
        _ = try await queue.flush()
        #expect(server.mostRunning == 4)
    }

    @Test("a mutation enqueued and triggered while another entity is in flight is sent at once, not after it")
    func joinsAtOnce() async throws {
        let (queue, server) = (
            fixture.queue(configuration: SyncQueueConfiguration(maxInFlight: 4)), fixture.server
        )
        try await queue.enqueue(Mutation.many(30))
        _ = try await queue.flush()
        server.hold()
        try await queue.enqueue(Mutation("a1"))
        queue.trigger()
        await server.waitForCalls(31)
        try await queue.enqueue([Mutation("a2"), Mutation("b1")])
        queue.trigger()
        await server.waitForCalls(32)
        #expect(server.ids.suffix(2) == ["a1", "b1"])
        server.release()
        #expect(try await queue.flush().end == .drained)
        #expect(server.ids.last == "a2")
    }

    @Test("a trigger sends new mutations, but does not retry failed mutations before their time; a resume does")
    func triggersKeepTheBackoff() async throws {
        let (queue, server) = (fixture.queue(), fixture.server)
        server.enqueue(.refused(.unavailable))
        try await queue.enqueue(Mutation("a1"))
        let retryAt = fixture.clock.now + .seconds(1)
        #expect(try await queue.flush().end == .stalled(retryAt: retryAt))
        for number in 1...5 {
            try await queue.enqueue(Mutation("b\(number)"))
            #expect(try await queue.flush().end == .stalled(retryAt: retryAt))
        }
        #expect(server.ids == ["a1", "b1", "b2", "b3", "b4", "b5"])
        try await queue.resume()
        await server.waitForCalls(7)
        #expect(server.ids.last == "a1")
    }
}
