@testable import Resilience
import ResilienceTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct BulkheadTests {
    let clock = ManualClock()
    let recorder = EventRecorder()
    let journal = Journal()
    let operation = ScriptedOperation<Int, Void>(fallback: .success(()))

    @Test("a call is rejected at once when all permits are in use and the queue is full")
    func full() async throws {
        let bulkhead = bulkhead(limit: 1)
        let inside = try bulkhead.tryAcquire()
        let error = await #expect(throws: BulkheadFull.self) { try await bulkhead.run { try await operation(1) } }
        #expect(error == BulkheadFull(policy: "bulkhead", reason: .full) && error?.retryAfter == nil)
        #expect(operation.callCount == 0)
        inside.complete(.success)
        try await bulkhead.run { try await operation(1) }
    }

    @Test("a newcomer does not take the permit that a queued call got")
    func noOvertaking() async throws {
        let bulkhead = bulkhead(limit: 1, queue: 1)
        let inside = try bulkhead.tryAcquire()
        operation.hold()
        let queued = Task { try await bulkhead.run { try await operation(1) } }
        await recorder.waitForEvents(1)
        inside.complete(.success)
        #expect(throws: WouldWait.self) { _ = try bulkhead.tryAcquire() }
        await operation.waitForCalls(1)
        operation.release()
        try await queued.value
        #expect(bulkhead.inUse == 0)
    }

    @Test("a cancelled waiter leaves the queue at once, and takes no permit later (P20)")
    func cancelledWaiter() async throws {
        let bulkhead = bulkhead(limit: 1, queue: 1)
        let inside = try bulkhead.tryAcquire()
        let queued = Task { try await bulkhead.run { try await operation(1) } }
        await recorder.waitForEvents(1)
        queued.cancel()
        await #expect(throws: CancellationError.self) { try await queued.value }
        #expect(bulkhead.queued == 0 && bulkhead.inUse == 1 && operation.callCount == 0)
        inside.complete(.success)
        #expect(bulkhead.inUse == 0)
    }

    @Test("a permit handed to a waiter that is cancelled at the same time goes to the next waiter (P34)")
    func handedOverThenCancelled() async throws {
        let bulkhead = bulkhead(limit: 1, queue: 9)
        for _ in 0..<200 {
            recorder.reset()
            let inside = try bulkhead.tryAcquire()
            let first = Task { try await bulkhead.run {} }
            await recorder.waitForEvents(1)
            let second = Task { try await bulkhead.run {} }
            await recorder.waitForEvents(2)
            // Both happen concurrently: either may win, but the permit must not get lost.
            async let cancelled: Void = first.cancel()
            inside.complete(.success)
            await cancelled
            try await second.value
            _ = await first.result
            #expect(bulkhead.inUse == 0 && bulkhead.queued == 0)
        }
    }

    @Test("a permit for a call that no longer waits goes to the next call (P34)")
    func cancelledAfterHandOver() {
        let bulkhead = bulkhead(limit: 1, queue: 9)
        let core = PipelineCore(name: nil, timeBase: clock)
        defer { withExtendedLifetime(core) {} }
        var call = PolicyCall(core)
        var (first, second, third) = (PolicySlot(), PolicySlot(), PolicySlot())
        _ = bulkhead.enter(&call, &first)
        _ = bulkhead.enter(&call, &second)
        _ = bulkhead.enter(&call, &third)
        _ = bulkhead.exit(&call, &first, .success)
        _ = bulkhead.exit(&call, &second, PolicyOutcome(.cancelled))
        guard case .proceed = bulkhead.enter(&call, &third) else {
            Issue.record("not passed on")
            return
        }
        _ = bulkhead.exit(&call, &third, .success)
        #expect(bulkhead.inUse == 0 && bulkhead.queued == 0)
    }

    @Test("a call that waited for the longest allowed time is rejected, and leaves the queue")
    func maxWait() async throws {
        let bulkhead = bulkhead(limit: 1, queue: 1, maxWait: .seconds(2))
        let inside = try bulkhead.tryAcquire()
        let queued = Task { try await bulkhead.run { try await operation(1) } }
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(1999))
        #expect(bulkhead.queued == 1)
        clock.advance(by: .milliseconds(1))
        await #expect(throws: BulkheadFull(policy: "bulkhead", reason: .waitedTooLong)) { try await queued.value }
        #expect(bulkhead.queued == 0 && operation.callCount == 0)
        inside.complete(.success)
        #expect(bulkhead.inUse == 0)
    }

    @Test("no call waits in the queue beyond its deadline (P23)")
    func deadline() async throws {
        let bulkhead = bulkhead(limit: 1, queue: 1, maxWait: .seconds(60))
        let inside = try bulkhead.tryAcquire()
        let pipeline = Pipeline {
            Timeout(limit: .seconds(3)); bulkhead
        }
        let queued = Task { try await pipeline.run { try await operation(1) } }
        await clock.waitForSleepers(2)
        #expect(clock.sleepers.allSatisfy { $0 == clock.now + .seconds(3) })
        clock.advance(by: .seconds(3))
        await #expect(throws: TimedOut.self) { try await queued.value }
        #expect(bulkhead.queued == 0 && operation.callCount == 0)
        inside.complete(.success)
    }

    @Test("a queued call that gets its permit in time leaves no alarm behind")
    func noAlarm() async throws {
        let bulkhead = bulkhead(limit: 1, queue: 1, maxWait: .seconds(60))
        let inside = try bulkhead.tryAcquire()
        let queued = Task { try await bulkhead.run {} }
        await clock.waitForSleepers(1)
        inside.complete(.success)
        try await queued.value
        #expect(clock.sleepers.isEmpty)
    }

    @Test("an observer may read the bulkhead during its event: nothing runs under the lock (P7)")
    func observerAsks() async throws {
        let bulkhead = bulkhead(limit: 1)
        bulkhead.observers.add { _ in journal.note("\(bulkhead.inUse) in use") }
        let inside = try bulkhead.tryAcquire()
        await #expect(throws: BulkheadFull.self) { try await bulkhead.run {} }
        #expect(journal.lines == ["1 in use"])
        inside.complete(.success)
    }

    @Test("observers learn which calls queue, which are rejected, and why")
    func events() async throws {
        let bulkhead = bulkhead(limit: 1, queue: 1, maxWait: .seconds(1))
        let inside = try bulkhead.tryAcquire()
        let queued = Task { try await bulkhead.run {} }
        await clock.waitForSleepers(1)
        await #expect(throws: BulkheadFull.self) { try await bulkhead.run {} }
        clock.advance(by: .seconds(1))
        await #expect(throws: BulkheadFull.self) { try await queued.value }
        #expect(recorder.events(of: Bulkhead.Event.self) == [.queued, .rejected(.full), .rejected(.waitedTooLong)])
        inside.complete(.success)
    }

    private func bulkhead(limit: Int, queue: Int = 0, maxWait: Duration? = nil) -> Bulkhead {
        Bulkhead(limit: limit, queue: queue, maxWait: maxWait, timeBase: clock, observers: PolicyObservers(recorder))
    }

    @Test("calls rejected in sequence get the same error, until something changes")
    func rejectedAgain() async throws {
        let bulkhead = Bulkhead(limit: 1, timeBase: clock)
        func rejection() async -> BulkheadFull? {
            do {
                try await bulkhead.run {}
                return nil
            } catch { return error as? BulkheadFull }
        }
        let first = try bulkhead.tryAcquire()
        for _ in 0..<3 { #expect(await rejection() == BulkheadFull(policy: "bulkhead", reason: .full)) }
        clock.advance(by: .seconds(4))
        first.complete(.success)
        #expect(await rejection() == nil)
        let second = try bulkhead.tryAcquire()
        // A permit came back 4 s after the first rejection.
        for _ in 0..<3 {
            #expect(await rejection() == BulkheadFull(policy: "bulkhead", reason: .full, retryAfter: .seconds(4)))
        }
        bulkhead.setLimit(2)
        #expect(await rejection() == nil)
        second.complete(.success)
    }
}
