import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

/// A flush of five mutations with an interference at its nth step: before or after any call of the store or the server.
/// One mutation fails at first, and one always.
@Suite(.timeLimit(.minutes(20))) struct CancellationTests {
    private let bench = Bench()

    @Test(
        "after a cancellation at any step, each mutation is pending, acknowledged or dead, none lost or sent again",
        arguments: 1...24)
    func cancelledAnywhere(step: Int) async throws {
        let task = Box<Task<FlushReport, any Error>>()
        let gate = ScriptedOperation<Int, Void>(fallback: .ok)
        gate.hold()
        let queue = bench.queue(interferingAt: step) { task.value?.cancel() }
        try await queue.enqueue(Bench.all)
        task.value = Task {
            // The flush begins only after the test has a handle to cancel it with.
            try await gate(0)
            return try await queue.flush()
        }
        gate.release()
        let report = try await task.value?.value
        let pending = bench.store.pending(after: 0, limit: 9).map(\.mutation)
        let dead = bench.store.dead(after: 0, limit: 9).map(\.mutation)
        let everywhere = bench.acknowledged + pending + dead
        #expect(everywhere.count == 5 && Set(everywhere) == Set(Bench.all))
        #expect(report?.end == .cancelled || pending.map(\.id) == ["a1", "a2"])

        _ = try await bench.fixture.whileTimePasses { try await queue.drain() }
        bench.expectAllOnce()
    }

    @Test("after a stop at any step, the next start sends only what was not acknowledged", arguments: 1...24)
    func stoppedAnywhere(step: Int) async throws {
        let stopping = Box<Task<Void, Never>>()
        let box = Box<SyncQueue>()
        let queue = bench.queue(interferingAt: step) {
            guard let queue = box.value else { return }
            stopping.value = Task { await queue.stop() }
        }
        box.value = queue
        try await queue.enqueue(Bench.all)
        _ = try? await queue.flush()
        await stopping.value?.value
        await queue.stop()
        let next = bench.queue()
        _ = try await bench.fixture.whileTimePasses { try await next.drain() }
        bench.expectAllOnce()
    }

    @Test(
        "a store that fails at any call loses nothing; at most the mutation in flight is sent again, under its key",
        arguments: 1...24)
    func storeFailsAnywhere(step: Int) async throws {
        let queue = bench.queue(interferingAt: step) { throw DiskFull() }
        try await queue.enqueue(Bench.all)
        try await bench.fixture.whileTimePasses {
            do {
                _ = try await queue.drain()
            } catch is DiskFull {
                _ = try await queue.drain()
            }
        }
        let acknowledged = bench.acknowledged
        #expect(acknowledged.count <= 5 && Set(acknowledged.map(\.idempotencyKey)).count == 4)
        #expect(bench.store.pendingCount() == 0 && bench.store.deadCount() == 1)
    }

    @Test("the queue retries a failed store without a trigger, and reports the failure")
    func storeRecovers() async throws {
        let queue = bench.queue(interferingAt: 3) { throw DiskFull() }
        let events = queue.events()
        try await queue.enqueue(Bench.all)
        await #expect(throws: DiskFull.self) { try await queue.flush() }
        #expect(bench.fixture.events.contains(.storeFailed(error: "DiskFull()")))
        #expect(bench.store.pendingCount() == 5)
        bench.fixture.clock.advance(by: .seconds(1))
        for await event in events where event == .delivered(id: "d1") { break }
        #expect(bench.store.pendingCount() < 5)
    }
}

private struct DiskFull: Error {}

private struct Bench {
    static let all = ["a1", "a2", "b1", "c1", "d1"].map { Mutation($0) }

    private struct State {
        var step = 0
        var acknowledged: [Mutation] = []
        var hasFailed = false
    }

    let fixture = Fixture()
    let store = MemoryStore()
    private let state = Shared(State())

    private final class Shared: Sendable {
        let mutex: Locked<State>
        init(_ state: State) { mutex = Locked(state) }
    }

    var acknowledged: [Mutation] { state.mutex.withLock { $0.acknowledged } }

    func queue(
        interferingAt step: Int = .max, _ interfere: @escaping @Sendable () async throws -> Void = {}
    ) -> SyncQueue {
        let state = state
        let hook: @Sendable () async throws -> Void = {
            let isNow = state.mutex.withLock { state in
                state.step += 1
                return state.step == step
            }
            if isNow { try await interfere() }
        }
        let filling: Set<HookedStore.Step> = [.before("append"), .after("append")]
        return SyncQueue(
            store: HookedStore(inner: store) { if !filling.contains($0) { try await hook() } },
            pipeline: Pipeline(timeBase: fixture.clock) {},
            observers: PolicyObservers(fixture.recorder)
        ) { mutation in
            try await hook()
            if mutation.id == "b1" { throw Refusal.gone }
            try state.mutex.withLock { state in
                if mutation.id == "a1", !state.hasFailed {
                    state.hasFailed = true
                    throw Refusal.unavailable
                }
                state.acknowledged.append(mutation)
            }
            try await hook()
        }
    }

    func expectAllOnce() {
        #expect(acknowledged.map(\.id).sorted() == ["a1", "a2", "c1", "d1"])
        #expect(store.pendingCount() == 0 && store.deadCount() == 1)
    }
}
