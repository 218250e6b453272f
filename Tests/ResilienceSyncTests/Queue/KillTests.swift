import Foundation
import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

/// The app dies at every step of filling and flushing a queue, in turn: before and after each call of the store and
/// each effect on the server. A dead app learns and does nothing more; the next start finds what the store holds.
@Suite(.timeLimit(.minutes(20))) struct KillTests {
    @Test("a kill at any step loses nothing, doubles no effect and keeps the order; only mutations in flight repeat")
    func everyStep() async throws {
        var step = 0
        var wasKilled = true
        while wasKilled {
            step += 1
            let world = World()
            wasKilled = try await world.live(dyingAt: step)
            _ = try await world.live(dyingAt: nil)
            world.check("killed at step \(step)")
        }
        // A shorter walk would mean that the kills do not reach every step.
        #expect(step > 50)
    }

    @Test("kills at any step of the first life and of the second lose nothing", arguments: [3, 11, 19, 27, 35, 43])
    func twice(first: Int) async throws {
        for second in stride(from: 1, through: 60, by: 3) {
            let world = World()
            _ = try await world.live(dyingAt: first)
            _ = try await world.live(dyingAt: second)
            _ = try await world.live(dyingAt: nil)
            world.check("killed at \(first), then at \(second)")
        }
    }
}

private struct Dead: Error {}

/// What outlives the app: the store's contents, the server, and the mutations the app means to enqueue.
private final class World: Sendable {
    private struct Server {
        var effects: [Mutation] = []
        var keys: Set<String> = []
        var calls = 0
        var repeated = 0
    }

    private static let maxInFlight = 2
    private static let plan = ["a1", "b1", "a2", "c1", "b2", "a3", "c2"].map { Mutation($0) }

    private let store = MemoryStore()
    private let server = Locked(Server())
    /// The mutations that the app knows to be enqueued.
    private let confirmed = Locked<Set<String>>([])
    private let deaths = Locked(0)

    /// - Returns: Whether it died.
    func live(dyingAt step: Int?) async throws -> Bool {
        let clock = ManualClock()
        let life = Life(dyingAt: step)
        let store = HookedStore(inner: store) { _ in try life.step() }
        let queue = SyncQueue(
            store: store, pipeline: Pipeline(timeBase: clock) {},
            configuration: SyncQueueConfiguration(maxInFlight: Self.maxInFlight)
        ) { [self] mutation in
            try life.step()
            try server.withLock { server in
                server.calls += 1
                // The second call finds the server busy, and the fifth comes too early.
                if server.calls == 2 { throw Refusal.unavailable }
                if server.calls == 5 { throw Refusal.throttled(retryAfter: .seconds(2)) }
                if server.keys.insert(mutation.idempotencyKey).inserted {
                    server.effects.append(mutation)
                } else {
                    server.repeated += 1
                }
            }
            try life.step()
        }
        for (index, mutation) in Self.plan.enumerated() {
            if confirmed.withLock({ $0.contains(mutation.id) }) { continue }
            do {
                try life.step()
                try await queue.enqueue(mutation)
                try life.step()
                _ = confirmed.withLock { $0.insert(mutation.id) }
            } catch is Dead {
                break
            } catch SyncQueueError.duplicate {
                // The mutation was stored just before the app died.
                _ = confirmed.withLock { $0.insert(mutation.id) }
            }
            if index == 2 { queue.trigger() }
        }
        if !life.isOver {
            let time = Task {
                while !Task.isCancelled {
                    await clock.waitForSleepers(1)
                    clock.advanceToNextSleeper()
                }
            }
            while !life.isOver, !Task.isCancelled {
                guard let end = try? await queue.drain().end else { continue }
                if end == .drained { break }
            }
            time.cancel()
        }
        await queue.stop()
        if life.isOver { deaths.withLock { $0 += 1 } }
        return life.isOver
    }

    func check(_ story: Comment) {
        let (effects, repeated) = server.withLock { ($0.effects.map(\.id), $0.repeated) }
        #expect(effects.sorted() == Self.plan.map(\.id).sorted(), story)
        for lane in ["a", "b", "c"] {
            let mine = effects.filter { $0.hasPrefix(lane) }
            #expect(mine == mine.sorted(), story)
        }
        // Mutations in flight, and those enqueued again because the app did not learn that they were stored.
        #expect(repeated <= deaths.withLock { $0 } * (Self.maxInFlight + 1), story)
        #expect(store.pendingCount() == 0 && store.deadCount() == 0, story)
    }
}

/// One life of the app, until its nth step.
private final class Life: Sendable {
    private let left: Locked<Int?>

    init(dyingAt step: Int?) { left = Locked(step) }

    var isOver: Bool { left.withLock { $0 == 0 } }

    func step() throws {
        let isOver = left.withLock { left in
            if let steps = left, steps > 0 { left = steps - 1 }
            return left == 0
        }
        if isOver { throw Dead() }
    }
}
