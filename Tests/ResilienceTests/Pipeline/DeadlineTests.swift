import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

@Suite(.timeLimit(.minutes(20))) struct DeadlineTests {
    let clock = ManualClock()
    let operation = ScriptedOperation<Int, Int>(fallback: .success(7))

    private func near(_ seconds: Int) -> RunOptions { RunOptions(deadline: clock.now + .seconds(seconds)) }

    @Test("the deadline cancels a running operation, even without a timeout or a pipeline")
    func enforced() throws {
        let breaker = CircuitBreaker(timeBase: clock)
        let bulkhead = Bulkhead(limit: 3, timeBase: clock)
        let calls: [@Sendable (RunOptions) async throws -> Int] = [
            { [clock, operation] in try await Pipeline(timeBase: clock) {}.run(options: $0) { try await operation(1) }
            },
            { [clock, operation] in
                try await Pipeline(timeBase: clock) {
                    Retry(); breaker
                }.run(options: $0) { try await operation(1) }
            },
            { [operation] in try await breaker.run(options: $0) { try await operation(1) } },
            { [operation] in try await bulkhead.run(options: $0) { try await operation(1) } },
            { [operation, clock] in
                try await Pipeline(timeBase: clock) {}.withFallback(to: 3, on: .permanent).run(options: $0) {
                    try await operation(1)
                }
            },
        ]
        for call in calls {
            operation.hold()
            let (start, options) = (clock.now, near(5))
            let error = #expect(throws: TimedOut.self) { try clock.run { try await call(options) } }
            #expect(error?.policy == "deadline" && error?.limit == .seconds(5))
            #expect(start.duration(to: clock.now) == .seconds(5))
            operation.release()
            let later = near(5)
            #expect(try clock.run { try await call(later) } == 7)
        }
        #expect(bulkhead.inUse == 0 && clock.sleepers.isEmpty)
    }

    @Test("before the deadline a result is returned, even a non-Sendable one")
    func result() async throws {
        final class Page { var text = "page" }
        var visits = 0
        let page = try await Pipeline(timeBase: clock) { Retry() }.run(options: near(5)) {
            visits += 1
            return Page()
        }
        #expect(page.text == "page" && visits == 1)
    }

    @Test("a call whose deadline has passed is rejected before any policy sees it, and its operation does not run")
    func over() async {
        let recorder = EventRecorder()
        let breaker = CircuitBreaker(timeBase: clock, observers: PolicyObservers(recorder))
        let pipeline = Pipeline("calls", observers: PolicyObservers(recorder)) { breaker }
        for seconds in [0, -1, -1_000_000] {
            let error = await #expect(throws: DeadlinePassed.self) {
                try await pipeline.run(options: near(seconds)) { try await operation(1) }
            }
            #expect(error.map { CallFailure($0).reachedService } == false)
            await #expect(throws: DeadlinePassed.self) {
                try await breaker.run(options: near(seconds)) { try await operation(1) }
            }
        }
        #expect(operation.callCount == 0)
        #expect(
            recorder.events.map { "\($0)" }
                == Array(
                    repeating: "[calls/call] rejected after 0 s, 0 attempts: DeadlinePassed (deadline)", count: 3))
    }

    @Test("a call that waits for its first attempt until the deadline throws DeadlinePassed, and has not run")
    func waiting() throws {
        let bulkhead = Bulkhead(limit: 1, queue: 9, timeBase: clock)
        let permit = try bulkhead.tryAcquire()
        let options = near(5)
        #expect(throws: DeadlinePassed.self) {
            try clock.run { [operation] in
                try await Pipeline { bulkhead }.run(options: options) { try await operation(1) }
            }
        }
        permit.complete(.success)
        #expect(operation.callCount == 0 && bulkhead.queued == 0 && bulkhead.inUse == 0)
    }

    @Test("no attempt begins after the deadline, however late the call wakes: it throws TimedOut (P33)")
    func lateWake() async throws {
        operation.enqueue(.failure(Outage()))
        for limit in [nil, Timeout("total", limit: .milliseconds(1_500))] {
            operation.reset()
            operation.enqueue(.failure(Outage()))
            operation.fallback = .success(7)
            let pipeline = Pipeline(timeBase: clock) {
                if let limit { limit }
                Retry(maxRetries: 1, backoff: .constant(.seconds(1)))
            }
            let options = RunOptions(deadline: clock.now + .milliseconds(limit == nil ? 1_500 : 60_000))
            let task = Task { [operation] in try await pipeline.run(options: options) { try await operation(1) } }
            await clock.waitForSleepers(2)
            // As after a stop of the process: all due alarms fire at once, and late.
            clock.jump(by: .seconds(5))
            let error = await #expect(throws: TimedOut.self) { try await task.value }
            #expect(error?.policy == (limit == nil ? "deadline" : "total"))
            #expect(operation.callCount == 1)
        }
    }

    @Test("a call that a policy wakes after its deadline does not begin, even if nothing cancels the call (P33)")
    func latePolicy() throws {
        let bulkhead = Bulkhead(limit: 4, timeBase: clock)
        let pipeline = Pipeline(timeBase: clock) {
            DeadlineIn(.seconds(1))
            bulkhead
            Oversleeping(.seconds(2))
        }
        #expect(throws: DeadlinePassed.self) {
            try clock.run { [operation] in try await pipeline.run { try await operation(1) } }
        }
        #expect(operation.callCount == 0 && bulkhead.inUse == 0)
    }

    @Test("acquire also admits nothing after the deadline (P33)")
    func byHand() async throws {
        let sleeper = Oversleeping(.seconds(2), timeBase: clock)
        let options = near(1)
        let task = Task { try await sleeper.acquire(options: options).complete(.success) }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(2))
        await #expect(throws: DeadlinePassed.self) { try await task.value }
        try await sleeper.acquireSoon(clock)
    }

    @Test("the caller's cancellation is not mistaken for the deadline's, and the operation's own error is thrown")
    func others() async throws {
        operation.hold()
        let pipeline = Pipeline(timeBase: clock) {}
        let options = near(5)
        let task = Task { [operation] in try await pipeline.run(options: options) { try await operation(1) } }
        await operation.waitForCalls(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await #expect(throws: Outage.self) { try await pipeline.run(options: options) { throw Outage() } }
        let status = try await pipeline.run(options: options, judging: { _ in .permanent }) { 404 }
        #expect(status == 404 && clock.sleepers.isEmpty)
    }

    @Test("an actor's call with a deadline runs on the actor")
    func isolation() async throws {
        let actor = Visited()
        try await actor.visit(Pipeline(timeBase: clock) { Retry() }, near(5))
        #expect(await actor.visits == 1)
    }
}

private actor Visited {
    var visits = 0

    func visit(_ pipeline: Pipeline, _ options: RunOptions) async throws {
        try await pipeline.run(options: options) {
            visits += 1
            assertIsolated()
        }
    }
}

/// Sets a deadline, but does not enforce it.
private struct DeadlineIn: AroundPolicy {
    let length: Duration

    init(_ length: Duration) { self.length = length }

    func around(
        _ call: inout PolicyCall, isolation: isolated (any Actor)?,
        _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
    ) async throws -> Verdict { try await inside(call.now + length) }
}

/// Makes a call sleep, ignoring its deadline.
private final class Oversleeping: Policy {
    let length: Duration
    let timeBase: (any TimeBase)?

    init(_ length: Duration, timeBase: (any TimeBase)? = nil) {
        self.length = length
        self.timeBase = timeBase
    }

    func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        if slot.first == 1 { return .proceed }
        slot.first = 1
        return .sleep(until: call.now + length)
    }

    func acquireSoon(_ clock: ManualClock) async throws {
        let task = Task { try await acquire().complete(.success) }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(2))
        try await task.value
    }
}
