import Foundation
import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

/// Mutations that always fail, or that arrive faster than they can be sent, do not keep others out for ever.
@Suite(.timeLimit(.minutes(20))) final class FairnessTests: Sendable {
    private let clock = ManualClock()
    private let delivered = Locked<[String]>([])

    private func queue(
        _ lanes: Int = 1, _ send: @escaping @Sendable (Mutation) async throws -> Void
    ) -> SyncQueue {
        SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: clock) {},
            configuration: SyncQueueConfiguration(maxInFlight: lanes)
        ) { [self] mutation in
            try await send(mutation)
            try await clock.sleep(for: .milliseconds(100))
            delivered.withLock { $0.append(mutation.id) }
        }
    }

    private func mutation(_ id: String) -> Mutation { Mutation(entity: id, id: id) }

    @Test("a mutation that a policy always rejects keeps no other out, at any position", arguments: [1, 4], [0, 1])
    func refused(lanes: Int, place: Int) throws {
        let host = CircuitBreaker("b", timeBase: clock)
        host.setMode(.isolated)
        let queue = queue(lanes) { mutation in
            if mutation.entity == "b" { try await host.run {} }
        }
        let sent = try clock.run { [self] in
            try await queue.enqueue((place == 0 ? ["b", "a"] : ["a", "b"]).map(mutation))
            queue.trigger()
            try await clock.sleep(for: .seconds(600))
            try await queue.enqueue((0..<20).map { mutation("x\($0)") })
            queue.trigger()
            try await clock.sleep(for: .seconds(3600))
            await queue.stop()
            return delivered.withLock { $0 }
        }
        #expect(Set(sent) == Set(["a"] + (0..<20).map { "x\($0)" }))
    }

    @Test("an entity with its own limit, which is throttled each time, does not pause the others each time")
    func throttledAlone() throws {
        let refusals = Locked(0)
        let queue = queue { mutation in
            guard mutation.entity == "tenant" else { return }
            refusals.withLock { $0 += 1 }
            throw Refusal.throttled(retryAfter: .seconds(10))
        }
        // One more mutation each second, for an hour.
        let sent = try clock.run { [self] in
            try await queue.enqueue(mutation("tenant"))
            for number in 0..<3_600 {
                try await queue.enqueue(mutation("\(number)"))
                queue.trigger()
                try await clock.sleep(for: .seconds(1))
            }
            await queue.stop()
            return delivered.withLock { $0.count }
        }
        #expect(sent > 3_500 && refusals.withLock { $0 } < 100, "\(sent), \(refusals.withLock { $0 })")
    }

    @Test("the oldest of many mutations that get a 429 does not come last because of it")
    func throttledOnce() throws {
        let isFirst = Locked(true)
        let queue = queue { _ in
            if isFirst.withLock({ isFirst in
                defer { isFirst = false }
                return isFirst
            }) {
                throw Refusal.throttled(retryAfter: .seconds(5))
            }
        }
        let sent = try clock.run { [self] in
            try await queue.enqueue((0..<500).map { mutation("\($0)") })
            _ = try await queue.drain()
            return delivered.withLock { $0 }
        }
        #expect(sent.count == 500)
        #expect(sent.prefix(5).contains("0"))
    }

    @Test(
        "however fast others arrive, a failed mutation is sent when its time has come, and those behind it follow",
        arguments: [Refusal.unavailable, .throttled(retryAfter: .seconds(5))])
    func steadyArrivals(refusal: Refusal) throws {
        let isFirst = Locked(true)
        let queue = queue { mutation in
            guard mutation.entity == "old" else { return }
            if isFirst.withLock({ isFirst in
                defer { isFirst = false }
                return isFirst
            }) {
                throw refusal
            }
        }
        let sent = try clock.run { [self] in
            try await queue.enqueue([mutation("old"), Mutation(entity: "old", id: "next")])
            try await queue.enqueue((0..<20).map { mutation("\($0)") })
            queue.trigger()
            // As fast as they can be sent.
            for index in 0..<300 {
                try await clock.sleep(for: .milliseconds(100))
                try await queue.enqueue(mutation("later \(index)"))
                queue.trigger()
            }
            await queue.stop()
            return delivered.withLock { $0 }
        }
        let (old, next) = (sent.firstIndex(of: "old"), sent.firstIndex(of: "next"))
        #expect(old.map { $0 < 100 } ?? false, "\(String(describing: old))")
        #expect(next.map { $0 < 150 } ?? false, "\(String(describing: next))")
    }

    @Test("if nearly all are held back, the store is read at most twice per page of heads", arguments: [1, 50])
    func reads(one good: Int) throws {
        let reads = Locked(0)
        let store = HookedStore(inner: MemoryStore()) { if $0 == .before("heads") { reads.withLock { $0 += 1 } } }
        let queue = SyncQueue(
            store: store, pipeline: Pipeline(timeBase: clock) {},
            configuration: SyncQueueConfiguration(failedBackoff: .constant(.seconds(3600)))
        ) { mutation in
            if !(Int(mutation.entity) ?? 0).isMultiple(of: good) { throw Refusal.unavailable }
        }
        try clock.run {
            for page in 0..<5 { try await queue.enqueue((0..<1_000).map { self.mutation("\(page * 1_000 + $0)") }) }
            _ = try await queue.flush()
            await queue.stop()
        }
        #expect(reads.withLock { $0 } < 160)
    }
}

extension Mutation {
    fileprivate init(entity: String, id: String) {
        self.init(id: id, entity: entity, kind: "create", payload: Data())
    }
}
