import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

private let now = MonotonicInstant.second(100)

/// Two retries, 1 s after a failure that may pass, 5 s after a 429, and no Retry-After above a minute.
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
        _ verdict: Verdict, attempt: Int = 1, previous: Duration = .zero, deadline: MonotonicInstant = .distantFuture,
        _ settings: Retry.Settings = configured(), rule: Retry.Decision? = nil, rejectedFor: Duration? = nil,
        repetition: Repetition = .unsaid, callerRetries: Bool = false, since start: MonotonicInstant = .distantFuture
    ) -> RetryStateMachine.Decision {
        var generator = SeededGenerator(seed: 1)
        var machine = RetryStateMachine(attempts: attempt, previousDelay: previous.saturatedNanoseconds)
        return machine.failed(
            verdict, rule: rule, rejectedFor: rejectedFor, repetition: repetition, callerRetries: callerRetries,
            at: now, since: start, deadline: deadline, settings, using: &generator)
    }

    @Test(
        "what each verdict leads to",
        arguments: [
            (.transient, .retry(at: .second(101))), (.throttled, .retry(at: .second(105))),
            (.permanent, .notMine), (.rejected, .notMine), (.cancelled, .notMine),
            (.uncertain, .giveUp(.effectUnknown)),
        ] as [(Verdict, RetryStateMachine.Decision)])
    func verdicts(verdict: Verdict, decision: RetryStateMachine.Decision) {
        #expect(decide(verdict) == decision)
    }

    @Test("a call without a deadline is never given up for one, however long the wait is")
    func noDeadline() {
        for wait in [Duration.seconds(9_300_000_000), .seconds(Int64.max)] {
            let limited = configured(backoff: .constant(wait), maxElapsed: .seconds(1))
            #expect(decide(.transient, limited, since: now) == .giveUp(.elapsedTooLong))
            #expect(decide(.transient, configured(backoff: .constant(wait))) == .giveUp(.attemptsExhausted))
        }
    }

    @Test("where the caller retries, what would be retried is given up, unless a rule says otherwise")
    func callerRetries() {
        #expect(decide(.transient, callerRetries: true) == .giveUp(.callerRetries))
        #expect(decide(.throttled, attempt: 9, callerRetries: true) == .giveUp(.callerRetries))
        #expect(decide(.permanent, callerRetries: true) == .notMine)
        #expect(decide(.transient, repetition: .never, callerRetries: true) == .giveUp(.notIdempotent))
        #expect(decide(.transient, rule: .retry, callerRetries: true) == .retry(at: .second(101)))
        #expect(decide(.transient, rule: .leave, callerRetries: true) == .notMine)
    }

    @Test("the other side's word on whether to retry wins over the kind of failure, and over what is configured")
    func shouldRetry() {
        for kind in [.transient, .throttled, .uncertain, .permanent] as [Verdict.Kind] {
            for settings in [configured(), configured(on: [.uncertain])] {
                #expect(decide(Verdict(kind, shouldRetry: false), settings) == .notMine)
                #expect(
                    decide(Verdict(kind, shouldRetry: true), settings)
                        == .retry(at: .second(kind == .throttled ? 105 : 101)))
            }
        }
        #expect(
            decide(Verdict(.permanent, retryAfter: .seconds(7), shouldRetry: true)) == .retry(at: .second(107)))
    }

    @Test("the other side's word does not repeat what never reached it, nor what the caller or a rule forbids")
    func shouldRetryInVain() {
        for kind in [.success, .rejected, .cancelled] as [Verdict.Kind] {
            #expect(decide(Verdict(kind, shouldRetry: true)) == .notMine)
        }
        let wanted = Verdict(.transient, shouldRetry: true)
        #expect(decide(wanted, repetition: .never) == .giveUp(.notIdempotent))
        #expect(decide(wanted, attempt: 3) == .giveUp(.attemptsExhausted))
        #expect(decide(wanted, rule: .leave) == .notMine)
        #expect(decide(Verdict(.transient, shouldRetry: false), rule: .retry) == .retry(at: .second(101)))
    }

    @Test("the wait that a failure names is a floor, whatever its kind")
    func floor() {
        #expect(decide(.transient(retryAfter: .seconds(9))) == .retry(at: .second(109)))
        #expect(decide(.transient(retryAfter: .zero)) == .retry(at: .second(101)))
        #expect(decide(.transient(retryAfter: .seconds(61))) == .giveUp(.retryAfterTooLong))
    }

    @Test(
        "the last attempt's failure ends it",
        arguments: [
            (1, .retry(at: .second(101))), (2, .retry(at: .second(101))), (3, .giveUp(.attemptsExhausted)),
            (4, .giveUp(.attemptsExhausted)), (.max, .giveUp(.attemptsExhausted)),
        ] as [(Int, RetryStateMachine.Decision)])
    func attempts(attempt: Int, decision: RetryStateMachine.Decision) {
        #expect(decide(.transient, attempt: attempt) == decision)
    }

    @Test("each retry waits as long as its place in the backoff says, and without a backoff not at all")
    func place() {
        let growing = configured(maxRetries: 9, backoff: .linear(.seconds(1)))
        #expect((1...3).map { decide(.transient, attempt: $0, growing) } == (101...103).map { .retry(at: .second($0)) })
        #expect(decide(.transient, configured(backoff: .none)) == .retry(at: now))
    }

    @Test("with no retries allowed the first failure ends it")
    func noRetries() {
        #expect(decide(.transient, configured(maxRetries: 0)) == .giveUp(.attemptsExhausted))
    }

    @Test(
        "a wait that the other side named is a floor, never fired before, and is not waited for above the ceiling (A10, P15)",
        arguments: [
            (.seconds(30), .retry(at: .second(130))),
            // Shorter than the backoff, absent or nonsense: the backoff holds.
            (.seconds(2), .retry(at: .second(105))), (.zero, .retry(at: .second(105))),
            (.seconds(-7), .retry(at: .second(105))), (Duration(attoseconds: .min), .retry(at: .second(105))),
            (.seconds(60), .retry(at: .second(160))),
            (.seconds(60) + .nanoseconds(1), .giveUp(.retryAfterTooLong)),
            (.seconds(Int64.max), .giveUp(.retryAfterTooLong)),
            (Duration(attoseconds: .max), .giveUp(.retryAfterTooLong)),
            // Rounded up: not a nanosecond early.
            (.seconds(30) + Duration(attoseconds: 1), .retry(at: MonotonicInstant(nanoseconds: 130_000_000_001))),
        ] as [(Duration, RetryStateMachine.Decision)])
    func retryAfter(named: Duration, decision: RetryStateMachine.Decision) {
        #expect(decide(.throttled(retryAfter: named)) == decision)
    }

    @Test(
        "it never waits up to the deadline or past it",
        arguments: [
            (.second(102), .retry(at: .second(101))), (.second(101), .giveUp(.deadlineTooNear)),
            (.second(99), .giveUp(.deadlineTooNear)), (.distantPast, .giveUp(.deadlineTooNear)),
        ] as [(MonotonicInstant, RetryStateMachine.Decision)])
    func deadline(deadline: MonotonicInstant, decision: RetryStateMachine.Decision) {
        #expect(decide(.transient, deadline: deadline) == decision)
    }

    @Test("a wait without end is not begun")
    func infiniteBackoff() {
        let forever = configured(backoff: .constant(Duration(attoseconds: .max)))
        #expect(decide(.transient, forever) == .giveUp(.attemptsExhausted))
    }

    @Test("it tries again only what it is told to")
    func chosenVerdicts() {
        let uncertain = configured(on: .uncertain)
        #expect(decide(.uncertain, uncertain) == .retry(at: .second(101)))
        #expect(decide(.transient, uncertain) == .notMine)
        #expect(decide(.throttled, uncertain) == .notMine)
    }

    @Test(
        "a rule has a failure tried again that would not be, sooner or later than usual, or lets it through",
        arguments: [
            (.permanent, .retry, .retry(at: .second(101))), (.throttled, .retry, .retry(at: .second(105))),
            (.permanent, .retry(after: .constant(.seconds(9))), .retry(at: .second(109))),
            (.uncertain, .retry(after: .none), .retry(at: now)), (.rejected, .retry, .retry(at: .second(101))),
            (.throttled(retryAfter: .seconds(30)), .retry(after: .none), .retry(at: .second(130))),
            (.throttled(retryAfter: .seconds(61)), .retry, .giveUp(.retryAfterTooLong)),
            (.transient, .leave, .notMine), (.throttled, .leave, .notMine), (.permanent, .leave, .notMine),
            (.transient, nil, .retry(at: .second(101))), (.permanent, nil, .notMine),
        ] as [(Verdict, Retry.Decision?, RetryStateMachine.Decision)])
    func rules(verdict: Verdict, rule: Retry.Decision?, decision: RetryStateMachine.Decision) {
        #expect(decide(verdict, rule: rule) == decision)
    }

    @Test("no rule has a cancelled call tried again, or a success", arguments: [.cancelled, .success] as [Verdict])
    func ruledOut(verdict: Verdict) {
        #expect(decide(verdict, rule: .retry) == .notMine)
    }

    @Test("a rule does not lift the limits")
    func ruledLimits() {
        #expect(decide(.permanent, attempt: 3, rule: .retry) == .giveUp(.attemptsExhausted))
        #expect(decide(.permanent, deadline: .second(101), rule: .retry) == .giveUp(.deadlineTooNear))
    }

    @Test(
        "a sequence that stops ends the retries with its last delay; one that repeats does not",
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
        "a retry of what a policy of ours rejected waits at least as long as the rejection says: no tight loop (P19)",
        arguments: [
            (nil, .retry(at: now)), (.seconds(-1), .retry(at: now)), (.seconds(42), .retry(at: .second(142))),
            (.seconds(60) + .nanoseconds(1), .giveUp(.retryAfterTooLong)),
        ] as [(Duration?, RetryStateMachine.Decision)])
    func rejected(retryAfter: Duration?, decision: RetryStateMachine.Decision) {
        let settings = configured(backoff: .none, on: .rejected)
        #expect(decide(.rejected, settings, rejectedFor: retryAfter) == decision)
    }

    @Test(
        "what must not be done twice is not tried again if it may have been done, and what may be, is (P18)",
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

    @Test(
        "a retry that names uncertain failures repeats them, but not those of a request that is known to have effects")
    func uncertainNamed() {
        let settings = configured(on: [.transient, .uncertain])
        #expect(decide(.uncertain, settings) == .retry(at: .second(101)))
        #expect(decide(.uncertain, settings, repetition: .effectful) == .giveUp(.notIdempotent))
        #expect(decide(.uncertain, settings, rule: .retry, repetition: .effectful) == .retry(at: .second(101)))
    }

    @Test("no rule and no setting has it done twice that must not be (P18)")
    func idempotenceFirst() {
        for verdict in [Verdict.transient, .uncertain, .throttled, .permanent] {
            #expect(decide(verdict, rule: .retry, repetition: .never) == .giveUp(.notIdempotent))
        }
        #expect(decide(.uncertain, configured(on: .uncertain), repetition: .never) == .giveUp(.notIdempotent))
        // A policy rejected the attempt, which did not run.
        #expect(decide(.rejected, configured(on: .rejected), repetition: .never) == .retry(at: .second(101)))
    }

    @Test("that it may be done twice adds nothing to a retry of 429s alone")
    func idempotentThrottledOnly() {
        #expect(decide(.uncertain, configured(on: .throttled), repetition: .harmless) == .notMine)
    }

    @Test(
        "no attempt begins longer after the first than allowed",
        arguments: [
            (nil, 0, .retry(at: .second(101))), (.seconds(10), 91, .retry(at: .second(101))),
            (.seconds(10) - .nanoseconds(1), 91, .giveUp(.elapsedTooLong)),
            (.seconds(10), 90, .giveUp(.elapsedTooLong)),
            (.zero, 100, .giveUp(.elapsedTooLong)), (.seconds(Int64.max), 0, .retry(at: .second(101))),
        ] as [(Duration?, Int64, RetryStateMachine.Decision)])
    func elapsed(maxElapsed: Duration?, start: Int64, decision: RetryStateMachine.Decision) {
        #expect(decide(.transient, configured(maxElapsed: maxElapsed), since: .second(start)) == decision)
    }

    @Test("decorrelated jitter builds on the last delay, not on a wait that the other side named")
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

    @Test("through any run of failures no wait is below its floor, above what is allowed, or past the deadline")
    func walk() throws {
        var random = SeededNumbers(seed: 21)
        let jitters: [Backoff.Jitter] = [.none, .full, .equal, .decorrelated, .proportional(0.5)]
        for _ in 0..<20_000 {
            let settings = configured(
                maxRetries: random.pick([0, 1, 1_000_000, .max]),
                backoff: .exponential(
                    from: .nanoseconds(random.wideNatural()), cap: .seconds(20), jitter: random.pick(jitters)))
            let named: Duration? = random.below(2) == 0 ? nil : .nanoseconds(random.wide())
            let verdict = random.pick([Verdict.transient, .throttled(retryAfter: named)])
            let deadline = random.pick([MonotonicInstant.distantFuture, now + .nanoseconds(random.wide())])
            var machine = RetryStateMachine(
                attempts: 1 + random.below(1_000_000), previousDelay: random.wideNatural())
            let answer = machine.failed(verdict, at: now, deadline: deadline, settings, using: &random)
            guard case .retry(let next) = answer else { continue }
            let floor = max(.zero, verdict.retryAfter ?? .zero)
            try #require(next >= now + floor && next < deadline && next <= now + max(.seconds(20), floor))
        }
    }
}
