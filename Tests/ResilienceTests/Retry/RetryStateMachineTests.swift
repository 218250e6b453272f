import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

private let now = MonotonicInstant.second(100)

/// Two retries, 1 s after a transient failure, 5 s after a 429, and no Retry-After above a minute.
private func configured(
    maxRetries: Int = 2, backoff: Backoff = .constant(.seconds(1)), on verdicts: VerdictSet = [.transient, .throttled],
    maxElapsed: Duration? = nil
) -> Retry.Settings {
    Retry.Settings(
        maxRetries: maxRetries, maxElapsed: maxElapsed, backoff: backoff, throttledBackoff: .constant(.seconds(5)),
        on: verdicts, retryAfterCeiling: .seconds(60))
}

// C1
@Suite struct RetryStateMachineTests {
    private func decide(
        _ verdict: Verdict, attempt: Int = 1, _ settings: Retry.Settings = configured(), rejectedFor: Duration? = nil,
        repetition: Repetition = .unsaid, since start: MonotonicInstant = .distantFuture
    ) -> RetryStateMachine.Decision {
        var generator = SeededGenerator(seed: 1)
        var machine = RetryStateMachine(attempts: attempt)
        return machine.failed(
            verdict, rejectedFor: rejectedFor, repetition: repetition, at: now, since: start, deadline: .distantFuture,
            settings, using: &generator)
    }

    @Test(
        "each verdict leads to the expected decision",
        arguments: [
            (.transient, .retry(at: .second(101))), (.throttled, .retry(at: .second(105))),
            (.permanent, .notMine), (.rejected, .notMine), (.cancelled, .notMine),
            (.uncertain, .giveUp(.effectUnknown)),
        ] as [(Verdict, RetryStateMachine.Decision)])
    func verdicts(verdict: Verdict, decision: RetryStateMachine.Decision) {
        #expect(decide(verdict) == decision)
    }

    @Test("a call without a deadline never gives up because of a deadline, even before a very long wait")
    func noDeadline() {
        for wait in [Duration.seconds(9_300_000_000), .seconds(Int64.max)] {
            let limited = configured(backoff: .constant(wait), maxElapsed: .seconds(1))
            #expect(decide(.transient, limited, since: now) == .giveUp(.elapsedTooLong))
            #expect(decide(.transient, configured(backoff: .constant(wait))) == .giveUp(.attemptsExhausted))
        }
    }

    @Test("each retry waits for its delay in the backoff; without a backoff it does not wait")
    func place() {
        let growing = configured(maxRetries: 9, backoff: .linear(.seconds(1)))
        #expect((1...3).map { decide(.transient, attempt: $0, growing) } == (101...103).map { .retry(at: .second($0)) })
        #expect(decide(.transient, configured(backoff: .none)) == .retry(at: now))
    }

    @Test(
        "a wait that the service names is the minimum; if it is above the ceiling, the retry gives up (A10, P15)",
        arguments: [
            (.seconds(30), .retry(at: .second(130))),
            // Shorter than the backoff, absent or invalid: the backoff applies.
            (.seconds(2), .retry(at: .second(105))), (.zero, .retry(at: .second(105))),
            (.seconds(-7), .retry(at: .second(105))), (Duration(attoseconds: .min), .retry(at: .second(105))),
            (.seconds(60), .retry(at: .second(160))),
            (.seconds(60) + .nanoseconds(1), .giveUp(.retryAfterTooLong)),
            (.seconds(Int64.max), .giveUp(.retryAfterTooLong)),
            (Duration(attoseconds: .max), .giveUp(.retryAfterTooLong)),
            // Rounded up, never early.
            (.seconds(30) + Duration(attoseconds: 1), .retry(at: MonotonicInstant(nanoseconds: 130_000_000_001))),
        ] as [(Duration, RetryStateMachine.Decision)])
    func retryAfter(named: Duration, decision: RetryStateMachine.Decision) {
        #expect(decide(.throttled(retryAfter: named)) == decision)
    }

    @Test("an infinite wait does not begin")
    func infiniteBackoff() {
        let forever = configured(backoff: .constant(Duration(attoseconds: .max)))
        #expect(decide(.transient, forever) == .giveUp(.attemptsExhausted))
    }

    @Test(
        "a sequence that stops ends the retries after its last delay; a sequence that repeats does not",
        arguments: [
            (.stop, [.retry(at: .second(101)), .retry(at: .second(103)), .giveUp(.attemptsExhausted)]),
            (.repeatLast, [.retry(at: .second(101)), .retry(at: .second(103)), .retry(at: .second(103))]),
        ] as [(Backoff.SequenceEnd, [RetryStateMachine.Decision])])
    func sequenceEnd(end: Backoff.SequenceEnd, decisions: [RetryStateMachine.Decision]) {
        let settings = configured(
            maxRetries: 9, backoff: .sequence([.seconds(1), .seconds(3)], atEnd: end))
        #expect((1...3).map { decide(.transient, attempt: $0, settings) } == decisions)
        #expect(decide(.throttled, attempt: 3, settings) == .retry(at: .second(105)))
    }

    @Test(
        "a retry of a policy's rejection waits at least for the rejection's retryAfter: no tight loop (P19)",
        arguments: [
            (nil, .retry(at: now)), (.seconds(-1), .retry(at: now)), (.seconds(42), .retry(at: .second(142))),
            (.seconds(60) + .nanoseconds(1), .giveUp(.retryAfterTooLong)),
        ] as [(Duration?, RetryStateMachine.Decision)])
    func rejected(retryAfter: Duration?, decision: RetryStateMachine.Decision) {
        let settings = configured(backoff: .none, on: .rejected)
        #expect(decide(.rejected, settings, rejectedFor: retryAfter) == decision)
    }

    @Test(
        "a call that may have had its effect is retried if it is idempotent, and otherwise not (P18)",
        arguments: [
            (.unsaid, .transient, .retry(at: .second(101))), (.unsaid, .uncertain, .giveUp(.effectUnknown)),
            (.harmless, .transient, .retry(at: .second(101))), (.harmless, .uncertain, .retry(at: .second(101))),
            (.harmless, .permanent, .notMine), (.harmless, .rejected, .notMine), (.harmless, .cancelled, .notMine),
            (.effectful, .transient, .retry(at: .second(101))), (.effectful, .uncertain, .giveUp(.notIdempotent)),
            (.effectful, .throttled, .retry(at: .second(105))),
            (.never, .transient, .giveUp(.notIdempotent)), (.never, .throttled, .giveUp(.notIdempotent)),
            (.never, .uncertain, .giveUp(.notIdempotent)), (.never, .permanent, .notMine),
            (.never, .rejected, .notMine),
        ] as [(Repetition, Verdict, RetryStateMachine.Decision)])
    func repetition(repetition: Repetition, verdict: Verdict, decision: RetryStateMachine.Decision) {
        #expect(decide(verdict, repetition: repetition) == decision)
    }

    @Test("if a retry is only for 429s, isIdempotent adds no other failures")
    func idempotentThrottledOnly() {
        #expect(decide(.uncertain, configured(on: .throttled), repetition: .harmless) == .notMine)
    }

    @Test("decorrelated jitter builds on the last delay, not on a wait named by the service")
    func previousDelay() {
        var generator = SeededGenerator(seed: 3)
        let settings = configured(
            backoff: .exponential(from: .seconds(1), cap: .seconds(100), jitter: .decorrelated))
        var machine = RetryStateMachine(attempts: 1)
        #expect(machine.previousDelay == 0)
        _ = machine.failed(.transient, at: now, deadline: .distantFuture, settings, using: &generator)
        #expect((1_000_000_000...3_000_000_000).contains(machine.previousDelay))
        _ = machine.failed(
            .throttled(retryAfter: .seconds(50)), at: now, deadline: .distantFuture, settings, using: &generator)
        #expect(machine.previousDelay == 5_000_000_000)
    }
}
