import Resilience
import ResilienceTesting
import TestSupport
import Testing

/// The rate, with time, tasks and deadlines.
@Suite(.timeLimit(.minutes(20))) struct ThrottleTests {
    let clock = ManualClock()
    let recorder = EventRecorder()
    let journal = Journal()
    let operation = ScriptedOperation<Int, Void>(fallback: .success(()))

    @Test("a call over the rate is rejected at once, with the time until the next turn")
    func rejects() async throws {
        let throttle = throttle(burst: 2)
        for number in 1...2 { try await throttle.run { try await operation(number) } }
        clock.advance(by: .milliseconds(400))
        let error = await #expect(throws: ThrottleExceeded.self) { try await throttle.run { try await operation(3) } }
        #expect(error == ThrottleExceeded(policy: "throttle", retryAfter: .milliseconds(600)))
        #expect(operation.inputs == [1, 2])
        clock.advance(by: .milliseconds(600))
        try await throttle.run { try await operation(4) }
    }

    @Test("waiting calls get their turns in order, spaced by the rate")
    func spacedTurns() async throws {
        let throttle = throttle(maxWait: .seconds(10))
        let start = clock.now
        try await throttle.run {}
        for number in 1...4 {
            Task { try await throttle.run { try await operation(number) } }
            await clock.waitForSleepers(number)
        }
        #expect(clock.sleepers == (1...4).map { start + .seconds($0) })
        #expect(throttle.queued == 4)
        for number in 1...4 {
            clock.advance(by: .seconds(1))
            await operation.waitForCalls(number)
        }
        #expect(operation.inputs == [1, 2, 3, 4])
    }

    @Test("no call waits for a turn that comes after its deadline: it is rejected at once (P23)")
    func deadline() async throws {
        let throttle = throttle(maxWait: .seconds(60))
        let pipeline = Pipeline {
            Timeout(limit: .seconds(1)); throttle
        }
        try await pipeline.run {}
        await #expect(throws: ThrottleExceeded(policy: "throttle", retryAfter: .seconds(1))) {
            try await pipeline.run { try await operation(1) }
        }
        #expect(operation.callCount == 0 && throttle.queued == 0 && clock.sleepers.isEmpty)
        clock.advance(by: .milliseconds(1))
        async let turn: Void = pipeline.run { try await operation(2) }
        await clock.waitForSleepers(2)
        clock.advance(by: .milliseconds(999))
        try await turn
    }

    @Test("when a waiting call gives up, the calls behind it go sooner (P20)")
    func comeSooner() async throws {
        let throttle = throttle(maxWait: .seconds(10))
        let start = clock.now
        try await throttle.run {}
        let first = Task { try await throttle.run { try await operation(1) } }
        await clock.waitForSleepers(1)
        async let second: Void = throttle.run { try await operation(2) }
        await clock.waitForSleepers(2)
        async let third: Void = throttle.run { try await operation(3) }
        await clock.waitForSleepers(3)
        first.cancel()
        _ = await first.result
        #expect(throttle.queued == 2)
        clock.advance(to: start + .seconds(1))
        await operation.waitForCalls(1)
        clock.advance(to: start + .seconds(2))
        _ = try await (second, third)
        #expect(operation.inputs == [2, 3] && throttle.queued == 0)
    }

    @Test("a failed call has used its permit")
    func failure() async {
        let throttle = throttle()
        await #expect(throws: Outage()) { try await throttle.run { throw Outage() } }
        await #expect(throws: ThrottleExceeded.self) { try await throttle.run {} }
    }

    @Test("without holdOnThrottled a 429 is an ordinary failure: it holds no call")
    func notHeld() async throws {
        let throttle = throttle(burst: 2)
        await #expect(throws: Judged.self) { try await throttle.run { throw Judged(verdict: .throttled) } }
        #expect(throttle.heldUntil == nil)
        try await throttle.run {}
    }

    @Test("with a retry around a throttle, every attempt takes a permit")
    func everyAttempt() async {
        let throttle = Throttle(limit: .perSecond(1, burst: 2), timeBase: clock)
        let pipeline = Pipeline {
            Retry(maxRetries: 5, backoff: .none); throttle
        }
        await #expect(throws: Outage.self) {
            try await pipeline.run {
                journal.note("attempt")
                throw Outage()
            }
        }
        #expect(journal.lines.count == 2)
    }

    @Test("an observer may read the throttle during its event: nothing runs under the lock (P7)")
    func observerAsks() async throws {
        let throttle = throttle()
        throttle.observers.add { _ in journal.note("\(throttle.queued) wait, \(throttle.heldUntil == nil)") }
        try await throttle.run {}
        await #expect(throws: ThrottleExceeded.self) { try await throttle.run {} }
        #expect(journal.lines == ["0 wait, true"])
        #expect(recorder.events(of: Throttle.Event.self) == [.rejected(retryAfter: .seconds(1))])
    }

    private func throttle(burst: Int = 1, maxWait: Duration = .zero, queue: Int = 100) -> Throttle {
        Throttle(
            limit: .perSecond(1, burst: burst), maxWait: maxWait, queue: queue, timeBase: clock,
            observers: PolicyObservers(recorder))
    }
}
