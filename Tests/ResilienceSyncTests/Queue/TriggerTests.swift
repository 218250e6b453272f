import Resilience
import ResilienceTesting
import TestSupport
import Testing

@testable import ResilienceSync

@Suite(.timeLimit(.minutes(20))) struct TriggerTests {
    let fixture = Fixture()

    @Test("of 50 flushes and 50 triggers at the same instant one flush runs, and sends each mutation once (B12)")
    func sameInstant() async throws {
        let (queue, server) = (fixture.queue(), fixture.server)
        try await queue.enqueue(Mutation.many(20))
        try await withThrowingTaskGroup(of: FlushReport.End.self) { group in
            for _ in 0..<50 {
                group.addTask { try await queue.flush().end }
                group.addTask {
                    queue.trigger()
                    return .drained
                }
            }
            for try await end in group { #expect(end == .drained) }
        }
        _ = try await queue.flush()
        #expect(server.callCount == 20 && server.mostRunning == 1)
        #expect(Set(server.ids).count == 20)
    }

    @Test("no trigger is lost: a mutation enqueued before a trigger is sent without another (B12)", arguments: 0..<20)
    func noneLost(round: Int) async throws {
        let (queue, server) = (fixture.queue(), fixture.server)
        await withThrowingTaskGroup(of: Void.self) { group in
            for mutation in Mutation.many(50) {
                group.addTask {
                    try await queue.enqueue(mutation)
                    queue.trigger()
                }
            }
        }
        await server.waitForCalls(50)
        _ = try await queue.flush()
        #expect(server.callCount == 50 && server.mostRunning == 1)
        #expect(try await queue.status.pending == 0)
    }

    @Test("a mutation enqueued and triggered just as the flush has found nothing more is sent by that flush (B12)")
    func enqueueAtTheEnd() async throws {
        let box = Box<SyncQueue>()
        let store = HookedStore(inner: MemoryStore(), at: .after("heads", rows: 0)) {
            try await box.value?.enqueue(Mutation("b1"))
            box.value?.trigger()
        }
        let queue = fixture.queue(store)
        box.value = queue
        try await queue.enqueue(Mutation("a1"))
        #expect(try await queue.flush().delivered == 2)
        #expect(fixture.server.ids == ["a1", "b1"])
    }

    @Test("cancelling one caller's flush does not lose another's trigger (B12)")
    func cancelOne() async throws {
        let (queue, server) = (fixture.queue(), fixture.server)
        server.hold()
        try await queue.enqueue(Mutation("a1"))
        let flush = Task { try await queue.flush() }
        await server.waitForCalls(1)
        queue.trigger()
        flush.cancel()
        #expect(try await flush.value.end == .cancelled)
        await server.waitForCalls(2)
        server.release()
        #expect(try await queue.flush().end == .drained)
        #expect(server.ids == ["a1", "a1"])
    }

    @Test("cancelling a caller who joined a flush ends its waiting, but not the flush (P49)", arguments: [true, false])
    func cancelJoiner(isTriggered: Bool) async throws {
        let (queue, server) = (fixture.queue(), fixture.server)
        server.hold()
        try await queue.enqueue(Mutation.many(20))
        let owner = isTriggered ? nil : Task { try await queue.flush() }
        if isTriggered { queue.trigger() }
        await server.waitForCalls(1)
        let joiner = Task { try await queue.flush() }
        joiner.cancel()
        #expect(try await joiner.value.end == .cancelled)
        #expect(server.callCount == 1 && server.running == 1)
        server.release()
        if let owner { #expect(try await owner.value.end == .drained) }
        #expect(try await queue.flush().end == .drained)
        #expect(server.callCount == 20)
    }

    @Test("a caller who joined a cancelled flush gets another flush, even after a pause, if the pause is over")
    func joinedPauseIsOver() throws {
        let clock = fixture.clock
        let start = clock.now
        let queue = SyncQueue(
            store: MemoryStore(), pipeline: Pipeline(timeBase: clock) {},
            configuration: SyncQueueConfiguration(maxInFlight: 2)
        ) { mutation in
            let length = Duration.milliseconds(mutation.entity == "b" ? 3_000 : 100)
            // Ignores cancellation.
            _ = await Task(executorPreference: clock.taskExecutor) { try await clock.sleep(for: length) }.result
            if mutation.entity == "a", clock.now < start + .seconds(2) {
                throw Refusal.throttled(retryAfter: .seconds(1))
            }
        }
        try clock.run {
            try await queue.enqueue([Mutation("a1"), Mutation("b1"), Mutation("c1")])
            let first = Task(executorPreference: clock.taskExecutor) { try await queue.flush() }
            try await clock.sleep(for: .milliseconds(50))
            let second = Task(executorPreference: clock.taskExecutor) { try await queue.flush() }
            try await clock.sleep(for: .milliseconds(50))
            first.cancel()
            let report = try await first.value
            #expect(report.throttled == 1 && "\(report.lastError ?? Refusal.gone)" == "429")
            #expect(try await second.value.end == .drained)
        }
    }

    @Test("cancelling a flush keeps the queue's own next attempt")
    func cancelKeepsTheAlarm() async throws {
        let (queue, server, clock) = (fixture.queue(), fixture.server, fixture.clock)
        server.enqueue(.refused(.unavailable))
        try await queue.enqueue(Mutation("a1"))
        let retryAt = clock.now + .seconds(1)
        #expect(try await queue.flush().end == .stalled(retryAt: retryAt))
        server.hold()
        try await queue.enqueue(Mutation("b1"))
        let flush = Task { try await queue.flush() }
        await server.waitForCalls(2)
        // This is the round's own wait for the failed entity, and not the alarm beside it.
        await clock.waitForSleepers(1)
        #expect(clock.sleepers == [retryAt])
        flush.cancel()
        #expect(try await flush.value.end == .cancelled)
        #expect(clock.sleepers == [retryAt])
    }

    @Test("a flush that is cancelled while it waits for its rate returns at once")
    func cancelledWhileItPaces() async throws {
        let configuration = SyncQueueConfiguration(maxRate: .perSecond(1))
        let (queue, clock) = (fixture.queue(configuration: configuration), fixture.clock)
        try await queue.enqueue(Mutation.many(5))
        let flush = Task { try await queue.flush() }
        await clock.waitForSleepers(1)
        flush.cancel()
        #expect(try await flush.value.end == .cancelled)
        #expect(try await queue.status.pending > 0)
    }

    @Test(
        "an alarm is cancelled if the queue began another flight, or was stopped, while the alarm was being set",
        arguments: [true, false])
    func lateAlarm(isStopped: Bool) async throws {
        let (clock, server) = (fixture.clock, fixture.server)
        let interrupted = InterruptedClock(clock)
        let queue = SyncQueue(store: MemoryStore(), pipeline: Pipeline(timeBase: interrupted) {}) {
            try await server($0)
        }
        server.enqueue(.refused(.unavailable))
        try await queue.enqueue(Mutation("a1"))
        interrupted.meanwhile {
            server.hold()
            queue.change { state, now in
                if isStopped { state.machine.stop() } else { state.machine.resumed(at: now) }
            }
            queue.trigger()
        }
        _ = try? await queue.flush()
        if !isStopped { await server.waitForCalls(2) }
        #expect(clock.sleepers.isEmpty)
    }
}
