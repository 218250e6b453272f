import Resilience
import ResilienceTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct PermitTests {
    let clock = ManualClock()
    let journal = Journal()

    @Test("a completed permit reports its outcome, once")
    func completed() throws {
        let policy = ScriptedPolicy("a", journal)
        let permit = try policy.tryAcquire()
        permit.complete(.permanent)
        #expect(journal.lines == ["a in", "a out permanent round 1"])
    }

    @Test("the error with which a permit is completed reaches the policy")
    func completedWithAnError() throws {
        final class Listening: Policy {
            let errors = Box<[(any Error)?]>([])
            func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
                errors.value.append(outcome.error)
                return .pass
            }
        }
        let policy = Listening()
        try policy.tryAcquire().complete(.transient, error: Outage(number: 4))
        try policy.tryAcquire().complete(.transient)
        #expect(policy.errors.value.map { $0 as? Outage } == [Outage(number: 4), nil])
    }

    @Test("a permit dropped without an outcome counts as cancelled (A7)")
    func dropped() throws {
        _ = try ScriptedPolicy("a", journal).tryAcquire()
        #expect(journal.lines == ["a in", "a out cancelled round 1"])
    }

    @Test("a permit held for a while is reported at the time of its end")
    func reportTime() throws {
        let breaker = CircuitBreaker(
            tripping: .consecutiveFailures(1), openFor: .seconds(60), timeBase: clock)
        let permit = try breaker.tryAcquire()
        clock.advance(by: .seconds(30))
        permit.complete(.transient)
        #expect(breaker.status.timeRemaining == .seconds(60))
    }

    @Test("a permit never releases more than it took: the limit holds after any mix of ends (P4)")
    func overRelease() throws {
        let bulkhead = Bulkhead(limit: 2, timeBase: clock)
        try bulkhead.tryAcquire().complete(.success)
        _ = try bulkhead.tryAcquire()
        let first = try bulkhead.tryAcquire()
        let second = try bulkhead.tryAcquire()
        #expect(throws: BulkheadFull.self) { _ = try bulkhead.tryAcquire() }
        first.complete(.transient)
        second.complete(.cancelled)
        #expect(bulkhead.inUse == 0)
    }

    @Test("tryAcquire never waits: instead it throws WouldWait and leaves nothing behind (A7)")
    func neverWaits() throws {
        let throttle = Throttle("pace", limit: .perSecond(1), maxWait: .seconds(5), timeBase: clock)
        let bulkhead = Bulkhead("room", limit: 1, queue: 1, timeBase: clock)
        let inside = try bulkhead.tryAcquire()
        try throttle.tryAcquire().complete(.success)
        #expect(throws: WouldWait(policy: "pace", retryAfter: .seconds(1))) { _ = try throttle.tryAcquire() }
        #expect(throws: WouldWait(policy: "room", retryAfter: nil)) { _ = try bulkhead.tryAcquire() }
        #expect(throttle.queued == 0 && bulkhead.queued == 0 && clock.sleepers.isEmpty)
        inside.complete(.success)
        #expect(bulkhead.inUse == 0)
    }

    @Test("if a policy wants to sleep, tryAcquire throws WouldWait, and tells the policy that the call has left")
    func neverSleeps() throws {
        let policy = ScriptedPolicy("a", in: [.sleep(.seconds(3))], journal)
        #expect(throws: WouldWait(policy: "a", retryAfter: .seconds(3))) { _ = try policy.tryAcquire() }
        #expect(policy.owed == 0 && policy.mistakes == [])
    }

    @Test("acquire waits for its turn in a throttle")
    func waitsForTurn() async throws {
        let throttle = Throttle(limit: .perSecond(1), maxWait: .seconds(5), timeBase: clock)
        try throttle.tryAcquire().complete(.success)
        async let turn: Void = throttle.acquire().complete(.success)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(1))
        try await turn
        #expect(throttle.queued == 0)
    }

    @Test("at or after the deadline nothing is admitted, and a cancelled task gets no permit")
    func tooLate() async {
        let policy = ScriptedPolicy("a", journal)
        let options = RunOptions(deadline: SystemTimeBase.shared.now)
        #expect(throws: DeadlinePassed.self) { _ = try policy.tryAcquire(options: options) }
        await #expect(throws: DeadlinePassed.self) { _ = try await policy.acquire(options: options) }
        await withTaskGroup(of: Void.self) { group in
            group.cancelAll()
            group.addTask {
                await #expect(throws: CancellationError.self) { _ = try await policy.acquire() }
            }
        }
        #expect(journal.lines == [])
    }

    @Test("acquire waits until its deadline, and then throws the policy's rejection")
    func waitsUntilDeadline() throws {
        let clock = ManualClock()
        let bulkhead = Bulkhead(limit: 1, queue: 1, timeBase: clock)
        let first = try bulkhead.tryAcquire()
        let error = try clock.run {
            let options = RunOptions(deadline: clock.now + .seconds(5))
            return await #expect(throws: BulkheadFull.self) { _ = try await bulkhead.acquire(options: options) }
        }
        #expect(error?.reason == .waitedTooLong && bulkhead.queued == 0)
        first.complete(.success)
    }

    @Test("a caller cancelled during acquire leaves the queue and gets a CancellationError")
    func cancelledWaiting() async throws {
        let recorder = EventRecorder()
        let bulkhead = Bulkhead(limit: 1, queue: 1, timeBase: clock, observers: PolicyObservers(recorder))
        let inside = try bulkhead.tryAcquire()
        let task = Task { try await bulkhead.acquire().complete(.success) }
        await recorder.waitForEvents(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(bulkhead.queued == 0)
        inside.complete(.success)
        #expect(bulkhead.inUse == 0)
    }
}
