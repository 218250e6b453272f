import Resilience
import ResilienceTraffic
import ResilienceTesting
import TestSupport
import Testing

/// Holds the permit of an open call.
private final class Held: Sendable {
    private final class Box: Sendable {
        let deadline: MonotonicInstant
        private let permit: Locked<PipelinePermit?>

        init(_ permit: consuming PipelinePermit) {
            deadline = permit.deadline
            self.permit = Locked(permit)
        }

        func complete(_ verdict: Verdict) {
            let permit = permit.withLock { $0.take() }
            permit?.complete(verdict)
        }
    }

    private let box = Locked<Box?>(nil)

    func hold(_ permit: consuming PipelinePermit) {
        let new = Box(permit)
        box.withLock { $0 = new }
    }

    var deadline: MonotonicInstant? { box.withLock { $0?.deadline } }

    func complete(_ verdict: Verdict) {
        let old = box.withLock { $0.take() }
        old?.complete(verdict)
    }
}

/// Records how each call inside ended.
private struct Ends: Policy {
    private final class Kinds: Sendable {
        let all = Locked<[Verdict.Kind]>([])
    }

    private let kinds = Kinds()

    var all: [Verdict.Kind] { kinds.all.withLock { $0 } }

    func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        kinds.all.withLock { $0.append(outcome.verdict.kind) }
        return .pass
    }
}

/// Fails after its inside has succeeded.
private struct Closing: AroundPolicy {
    func around(
        _ call: inout PolicyCall, isolation: isolated (any Actor)?,
        _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
    ) async throws -> Verdict {
        _ = try await inside(call.deadline)
        throw Judged(verdict: .transient)
    }
}

/// Copies of calls that stay inside their policies, as the adapters make them.
@Suite(.timeLimit(.minutes(20))) struct OpenHedgedTests {
    private let clock = ManualClock()
    private let recorder = EventRecorder()
    private let held = Held()
    private let start: MonotonicInstant
    private let (outer, inner): (Bulkhead, Bulkhead)
    private let breaker: CircuitBreaker
    private let hedge: Hedge

    init() {
        start = clock.now
        outer = Bulkhead("outer", limit: 8, timeBase: clock)
        inner = Bulkhead("inner", limit: 8, timeBase: clock)
        breaker = CircuitBreaker(tripping: .consecutiveFailures(5), timeBase: clock)
        hedge = Hedge(after: .constant(.milliseconds(100)), budget: .tokens(capacity: 100))
    }

    private func pipeline(retries: Int = 0, @PipelineBuilder _ inside: () -> [Pipeline.Element] = { [] }) -> Pipeline {
        Pipeline("search", timeBase: clock, observers: PolicyObservers(recorder)) {
            Retry(maxRetries: retries, backoff: .none)
            outer
            hedge
            breaker
            inner
            inside()
        }
    }

    private func open(
        _ pipeline: Pipeline, copying: Bool = true, options: RunOptions = RunOptions(isIdempotent: true),
        judging judge: @escaping @Sendable (Int) -> Verdict = { _ in .success },
        _ operation: @escaping @Sendable (CallAttempt) async throws -> Int
    ) throws -> Int {
        let (held, clock) = (held, clock)
        return try clock.run {
            try await pipeline.openHedged(
                copying: copying, options: options, judging: judge, judgingErrors: { _ in nil },
                describing: { _ in nil }, operation,
                holding: { result, permit in
                    held.hold(permit)
                    return result
                })
        }
    }

    @Test("a call counts once for a budget that a hedge and a retry share (P61)")
    func sharedBudget() throws {
        let budget = RetryBudget.ratio(0.5, reserve: 0, timeBase: clock)
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            Retry(budget: budget)
            Hedge(after: .never, budget: budget)
        }
        for _ in 0..<10 {
            _ = try open(pipeline) { _ in 1 }
            held.complete(.success)
        }
        #expect(budget.retriesLeft == 5)
    }

    private var hedges: [Hedge.Event] { recorder.events() }
    private var calls: [String] { recorder.events(of: Pipeline.Event.self).map(\.kind) }

    /// The time since the test began.
    private var time: Duration { start.duration(to: clock.now) }

    @Test("the winning copy keeps its place in outer and inner policies until its work has ended (P28)")
    func winner() throws {
        let clock = clock
        let result = try open(pipeline()) { attempt in
            try await clock.sleep(for: attempt.hedge == 0 ? .seconds(9) : .milliseconds(30))
            return attempt.hedge
        }
        #expect(result == 1 && time == .milliseconds(130))
        #expect(outer.inUse == 1 && inner.inUse == 1, "the copy that lost has gone")
        #expect(hedges == [.hedged(1, after: .milliseconds(100)), .won(1, after: .milliseconds(130))])
        #expect(calls == [])
        held.complete(.transient)
        #expect(outer.inUse == 0 && inner.inUse == 0 && breaker.status.failureCount == 1)
        #expect(calls == ["attemptFailed", "failed"])
    }

    @Test("a copy that succeeds after another has won leaves its policies as if cancelled (P28)")
    func lateSuccess() throws {
        let clock = clock
        let ends = Ends()
        let pipeline = pipeline { ends }
        let result = try open(pipeline) { attempt in
            // The copy ignores its cancellation.
            await clock.sleepUncancelled(for: attempt.hedge == 0 ? .seconds(1) : .milliseconds(30))
            return attempt.hedge
        }
        #expect(result == 1 && time == .seconds(1))
        #expect(outer.inUse == 1 && inner.inUse == 1 && ends.all == [.cancelled])
        held.complete(.success)
        #expect(outer.inUse == 0 && inner.inUse == 0 && ends.all == [.cancelled, .success])
        #expect(calls == ["attemptSucceeded", "succeeded"])
    }

    @Test("the permit has the winning copy's deadline")
    func deadline() throws {
        let clock = clock
        let pipeline = pipeline { ClientTimeout(limit: .seconds(5)) }
        let result = try open(pipeline) { attempt in
            if attempt.hedge == 0 { try await clock.sleep(for: .seconds(4)) }
            return attempt.hedge
        }
        #expect(result == 1 && held.deadline == start + .milliseconds(5_100))
        held.complete(.success)
        #expect(inner.inUse == 0)
    }

    @Test(
        "a failure of the first copy begins the next copy; if all fail, the call ends, and keeps no place in a policy")
    func failures() throws {
        let result = try open(pipeline(), judging: { $0 == 1 ? .success : .transient }) { $0.hedge }
        #expect(result == 1 && inner.inUse == 1)
        held.complete(.success)
        #expect(try open(pipeline(), judging: { _ in .transient }) { $0.hedge } == 1)
        #expect(throws: Judged(verdict: .permanent)) {
            try open(pipeline()) { _ in throw Judged(verdict: .permanent) }
        }
        #expect(outer.inUse == 0 && inner.inUse == 0 && held.deadline == nil)
        #expect(
            calls == ["attemptSucceeded", "succeeded"] + ["attemptFailed", "failed"] + ["attemptFailed", "failed"])
    }

    @Test("a retry around the hedge repeats the race, and each attempt is reported once")
    func retried() throws {
        let result = try open(pipeline(retries: 1), judging: { $0 == 20 ? .success : .transient }) {
            $0.number * 10 + $0.hedge
        }
        #expect(result == 20 && outer.inUse == 1 && inner.inUse == 1)
        held.complete(.success)
        #expect(outer.inUse == 0 && inner.inUse == 0)
        #expect(calls == ["attemptFailed", "attemptSucceeded", "succeeded"])
    }

    @Test("an outer policy that discards the result also releases the winner's place")
    func lostFurtherOut() throws {
        let ends = Ends()
        let pipeline = Pipeline("search", timeBase: clock) {
            Closing()
            outer
            hedge
            inner
            ends
        }
        #expect(throws: Judged(verdict: .transient)) { try open(pipeline) { $0.hedge } }
        #expect(outer.inUse == 0 && inner.inUse == 0 && held.deadline == nil && ends.all == [.transient])
    }

    @Test("an error at the call's deadline is a timeout, and a rejection of all copies stays a rejection")
    func ends() throws {
        let clock = clock
        let options = RunOptions(deadline: clock.now + .seconds(1), isIdempotent: true)
        #expect(throws: TimedOut.self) {
            try open(pipeline(), options: options) { _ in
                try await clock.sleep(for: .seconds(1))
                throw Judged(verdict: .transient)
            }
        }
        breaker.setMode(.isolated)
        #expect(throws: CircuitOpen.self) { try open(pipeline()) { $0.hedge } }
        #expect(outer.inUse == 0 && inner.inUse == 0 && calls.last == "rejected")
        #expect(recorder.events(of: Pipeline.Event.self).last == .rejected(took: .zero, attempts: 0))
    }

    @Test("a call that can't run concurrently with itself has no copies, and the hedge reports it (P65)")
    func notCopied() throws {
        let clock = clock
        let result = try open(pipeline(), copying: false) { attempt in
            try await clock.sleep(for: .seconds(9))
            return attempt.hedge
        }
        #expect(result == 0 && hedges == [.notCopied(.runOnce)] && hedge.status.ranOnce == 1)
        held.complete(.success)
        #expect(outer.inUse == 0 && inner.inUse == 0)
    }

    @Test("a cancelled caller leaves no place in use")
    func cancelled() throws {
        let (clock, pipeline) = (clock, pipeline())
        try clock.run {
            let call = Task {
                try await pipeline.openHedged(
                    copying: true, options: RunOptions(isIdempotent: true), judging: { _ in .success },
                    judgingErrors: { _ in nil }, describing: { _ in nil },
                    { _ in try await clock.sleep(for: .seconds(9)) },
                    holding: { _, _ in })
            }
            try await clock.sleep(for: .milliseconds(150))
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
        }
        #expect(outer.inUse == 0 && inner.inUse == 0 && calls.last == "cancelled")
    }
}

extension ManualClock {
    /// Sleeps, even in a cancelled task.
    fileprivate func sleepUncancelled(for duration: Duration) async {
        await withCheckedContinuation { continuation in
            _ = schedule(at: now + duration) { continuation.resume() }
        }
    }
}
