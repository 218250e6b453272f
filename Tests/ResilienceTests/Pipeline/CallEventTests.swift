import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

@Suite struct CallEventTests {
    let clock = ManualClock()
    let recorder = EventRecorder()

    private func pipeline(@PipelineBuilder _ elements: () -> [Pipeline.Element]) -> Pipeline {
        Pipeline("calls", timeBase: clock, observers: PolicyObservers(recorder), elements)
    }

    private func work(_ seconds: Int) async {
        _ = await PolicyWaiter().wait(until: clock.now + .seconds(seconds), on: clock)
    }

    private var told: [Pipeline.Event] { recorder.events() }

    @Test("each attempt, and the whole call, is reported with its duration and verdict")
    func durations() throws {
        let pipeline = pipeline {
            Retry(maxRetries: 2, backoff: .constant(.seconds(10)), throttledBackoff: .constant(.seconds(10)))
        }
        try clock.run { [self] in
            try await pipeline.run { attempt in
                await work(attempt.number)
                if attempt.number < 3 { throw Judged(verdict: attempt.number == 1 ? .transient : .throttled) }
            }
        }
        #expect(
            told == [
                .attemptFailed(1, .transient, took: .seconds(1)), .attemptFailed(2, .throttled, took: .seconds(2)),
                .attemptSucceeded(3, took: .seconds(3)),
                .succeeded(
                    took: .seconds(26), attempts: 3, waits: [PolicyWait(policy: "retry", duration: .seconds(20))]),
            ])
    }

    @Test("a call's last event lists the wait for each policy, on both sides of a timeout")
    func waits() throws {
        let bulkhead = Bulkhead("permits", limit: 1, queue: 4, timeBase: clock)
        let pipeline = pipeline {
            Retry(maxRetries: 1, backoff: .constant(.seconds(10)))
            Throttle("rate", limit: .perSecond(1), maxWait: .seconds(60), timeBase: clock)
            Timeout(limit: .seconds(60))
            bulkhead
        }
        let held = Locked<PolicyPermit?>(nil)
        try held.withLock { $0 = try bulkhead.tryAcquire() }
        _ = clock.schedule(at: clock.now + .seconds(4)) { held.withLock { $0.take() }?.complete(.success) }
        #expect(throws: Outage.self) {
            try clock.run { try await pipeline.run { throw Outage() } }
        }
        #expect(
            told.last
                == .failed(
                    .transient, took: .seconds(14), attempts: 2,
                    waits: [
                        PolicyWait(policy: "permits", duration: .seconds(4)),
                        PolicyWait(policy: "retry", duration: .seconds(10)),
                    ]))
        try clock.run { try await pipeline.run {} }
        #expect(
            told.last
                == .succeeded(
                    took: .seconds(1), attempts: 1, waits: [PolicyWait(policy: "rate", duration: .seconds(1))]))
    }

    @Test("a call that was cancelled or rejected during a wait also reports that wait")
    func cancelledWait() async throws {
        let bulkhead = Bulkhead("permits", limit: 1, queue: 4, maxWait: .seconds(3), timeBase: clock)
        let permit = try bulkhead.tryAcquire()
        let pipeline = pipeline { bulkhead }
        let task = Task { try await pipeline.run {} }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(2))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(throws: BulkheadFull.self) { try clock.run { try await pipeline.run {} } }
        permit.complete(.success)
        #expect(
            told == [
                .cancelled(
                    took: .seconds(2), attempts: 0, waits: [PolicyWait(policy: "permits", duration: .seconds(2))]),
                .rejected(
                    took: .seconds(3), attempts: 0, waits: [PolicyWait(policy: "permits", duration: .seconds(3))]),
            ])
    }

    @Test("each event has a line for people (P42)")
    func texts() {
        for (event, text) in [
            (.attemptSucceeded(1, took: .milliseconds(120)), "attempt 1 succeeded after 120 ms"),
            (
                .attemptFailed(2, .throttled(retryAfter: .seconds(1)), took: .microseconds(1_657)),
                "attempt 2 failed after 1.66 ms (throttled (retry in 1 s))"
            ),
            (.succeeded(took: .seconds(3), attempts: 2), "succeeded after 3 s, 2 attempts"),
            (.failed(.permanent, took: .nanoseconds(5), attempts: 1), "failed after 5 ns, 1 attempt (permanent)"),
            (.rejected(took: .zero, attempts: 0), "rejected after 0 s, 0 attempts"),
            (.cancelled(took: .milliseconds(10_050), attempts: 1), "cancelled after 10.05 s, 1 attempt"),
            (
                .succeeded(
                    took: .seconds(3), attempts: 2,
                    waits: [
                        PolicyWait(policy: "retry", duration: .seconds(2)),
                        PolicyWait(policy: "rate", duration: .milliseconds(5)),
                    ]),
                "succeeded after 3 s, 2 attempts, waited 2 s for retry, 5 ms for rate"
            ),
        ] as [(Pipeline.Event, String)] {
            #expect("\(event)" == text)
        }
    }

    @Test(
        "each call's end is reported once, with its meaning",
        arguments: [
            (.success, .succeeded(took: .zero, attempts: 1)),
            (.permanent, .failed(.permanent, took: .zero, attempts: 1)),
            (.uncertain, .failed(.uncertain, took: .zero, attempts: 1)),
            (.rejected, .failed(.rejected, took: .zero, attempts: 1)),
            (.cancelled, .cancelled(took: .zero, attempts: 1)),
        ] as [(Verdict, Pipeline.Event)])
    func ends(verdict: Verdict, event: Pipeline.Event) async throws {
        for throwing in [true, false] {
            recorder.reset()
            let pipeline = pipeline { Timeout(limit: .seconds(5)) }
            _ = try? await pipeline.run(judging: { (_: Int) in verdict }) {
                if throwing, verdict != .success { throw Judged(verdict: verdict) }
                return 1
            }
            #expect(told.last == event && told.count == 2)
        }
    }

    @Test("a call rejected by a policy counts as rejected without an attempt, and a cancelled call as cancelled")
    func withoutAnAttempt() async throws {
        let breaker = CircuitBreaker(timeBase: clock)
        breaker.trip()
        let pipeline = pipeline {
            breaker; Bulkhead(limit: 1, timeBase: clock)
        }
        await #expect(throws: CircuitOpen.self) { try await pipeline.run {} }
        #expect(told == [.rejected(took: .zero, attempts: 0)])
        recorder.reset()
        breaker.reset()
        await #expect(throws: Outage.self) {
            try await Task { [pipeline] in
                try await pipeline.run {
                    cancelCurrentTask()
                    throw Outage()
                }
            }.value
        }
        #expect(told == [.attemptFailed(1, .cancelled, took: .zero), .cancelled(took: .zero, attempts: 1)])
    }

    @Test("a call ended by a timeout is a failure that took as long as the limit")
    func timedOut() throws {
        let pipeline = pipeline { Timeout(limit: .seconds(5)) }
        #expect(throws: TimedOut.self) {
            try clock.run { [self] in
                try await pipeline.run {
                    await work(60)
                    try Task.checkCancellation()
                }
            }
        }
        #expect(
            told == [
                .attemptFailed(1, .cancelled, took: .seconds(5)), .failed(.uncertain, took: .seconds(5), attempts: 1),
            ])
    }

    @Test("a policy's own error has the verdict that the policy gave it")
    func replaced() async {
        struct Replacing: Policy {
            func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
                .replace(Outage(number: 9), as: .permanent)
            }
        }
        let pipeline = pipeline { Replacing() }
        await #expect(throws: Outage(number: 9)) { try await pipeline.run { throw Outage() } }
        #expect(told.last == .failed(.permanent, took: .zero, attempts: 1))
    }

    @Test("an attempt is reported with its own verdict, not with the previous attempt's verdict")
    func ownVerdict() async throws {
        let pipeline = Pipeline("calls", timeBase: RushingClock(), observers: PolicyObservers(recorder)) {
            Retry(maxRetries: 1, backoff: .none)
        }
        _ = try await pipeline.run(judging: { $0 == 1 ? .transient : .success }) { attempt in attempt.number }
        #expect(
            told == [
                .attemptFailed(1, .transient, took: .zero), .attemptSucceeded(2, took: .zero),
                .succeeded(took: .zero, attempts: 2),
            ])
    }

    @Test("a policy's or deadline's error is reported by its meaning, whatever a custom classifier returns")
    func ownClassifier() throws {
        struct Replacing: Policy {
            func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
                .replace(Outage(number: 9), as: .throttled)
            }
        }
        func pipeline(@PipelineBuilder _ elements: () -> [Pipeline.Element]) -> Pipeline {
            Pipeline(
                timeBase: clock, classifier: Classifier { _ in .permanent }, observers: PolicyObservers(recorder),
                elements)
        }
        let (plain, replacing) = (pipeline { Retry(maxRetries: 0) }, pipeline { Replacing() })
        let sleepy = pipeline { ScriptedPolicy("sleepy", in: [.sleep(.seconds(10))]) }
        @Sendable func deadline(_ seconds: Int) -> RunOptions { RunOptions(deadline: clock.now + .seconds(seconds)) }
        try clock.run { [self] in
            _ = try? await plain.run(options: deadline(0)) {}
            #expect(told.last == .rejected(took: .zero, attempts: 0))
            _ = try? await sleepy.run(options: deadline(5)) {}
            let wait = PolicyWait(policy: "sleepy", duration: .seconds(5))
            #expect(told.last == .rejected(took: .seconds(5), attempts: 0, waits: [wait]))
            _ = try? await plain.run(options: deadline(5)) {
                await work(60)
                try Task.checkCancellation()
            }
            #expect(told.last == .failed(.uncertain, took: .seconds(5), attempts: 1))
            _ = try? await replacing.run(options: deadline(5)) { throw Outage() }
            #expect(told.last == .failed(.throttled, took: .zero, attempts: 1))
        }
    }

    @Test("an observer added during a call gets only later calls, because this call was not recorded from its start")
    func lateObserver() async throws {
        let pipeline = Pipeline(timeBase: clock) {}
        var subscriptions: [PolicyObservers.Subscription] = []
        defer { for subscription in subscriptions { subscription.cancel() } }
        let deadline = RunOptions(deadline: clock.now + .seconds(5))
        try? await pipeline.run(options: deadline) {
            subscriptions.append(pipeline.observers.add(recorder))
            throw Outage()
        }
        #expect(told == [])
        subscriptions.removeLast().cancel()
        let permit = try await pipeline.acquire()
        subscriptions.append(pipeline.observers.add(recorder))
        permit.complete(.transient)
        #expect(told == [])
        try await pipeline.acquire().complete(.transient)
        #expect(told.count == 2)
    }

    @Test("without observers no call is reported, and the clock is not read for it")
    func unobserved() async throws {
        let counting = CountingTimeBase()
        let pipeline = Pipeline(timeBase: counting) {
            Retry(); CircuitBreaker(timeBase: counting)
        }
        let before = counting.readings
        try await pipeline.run {}
        #expect(counting.readings == before)
        let subscription = pipeline.observers.add(recorder)
        try await pipeline.run {}
        #expect(told.count == 2 && counting.readings > before)
        subscription.cancel()
        recorder.reset()
        try await pipeline.run {}
        #expect(told.isEmpty)
    }
}

/// Counts how often the clock is read.
private final class CountingTimeBase: TimeBase {
    private let count = Locked(0)

    var readings: Int { count.withLock { $0 } }

    var now: MonotonicInstant {
        count.withLock { $0 += 1 }
        return .second(0)
    }

    func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> TimeBaseAlarm {
        TimeBaseAlarm(id: 0)
    }

    func cancel(_ alarm: TimeBaseAlarm) {}
}
