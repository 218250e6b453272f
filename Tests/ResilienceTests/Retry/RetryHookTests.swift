import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// An error that counts its living instances.
private final class Leaf: Error, VerdictConvertible {
    var verdict: Verdict { .transient }
    /// Makes such errors.
    final class Source: Sendable {
        private let count = Locked(0)

        var alive: Int { count.withLock { $0 } }

        func make() -> Leaf {
            count.withLock { $0 += 1 }
            return Leaf(self)
        }

        fileprivate func gone() { count.withLock { $0 -= 1 } }
    }

    private let source: Source

    private init(_ source: Source) { self.source = source }

    deinit { source.gone() }
}

@Suite struct RetryHookTests {
    let clock = ManualClock()
    let journal = Journal()

    @Test("before each wait the hook gets the failure and the wait; after the last attempt it gets nothing")
    func beforeRetry() async {
        let retry = Retry(
            maxRetries: 2, backoff: .linear(.seconds(1)),
            beforeRetry: { [journal] in journal.note("\($0.attempt) \($0.verdict) \($0.error!) \($1)") })
        let operation = ScriptedOperation<Void, Int>((1...3).map { .failure(Outage(number: $0)) })
        _ = try? await Pipeline(timeBase: RushingClock()) { retry }.run { try await operation() }
        #expect(
            journal.lines == [
                "1 transient Outage(number: 1) 1.0 seconds", "2 transient Outage(number: 2) 2.0 seconds",
            ])
    }

    @Test("on giving up the hook gets all failures in order, and the reason")
    func onGiveUp() async {
        let retry = Retry(
            maxRetries: 2, backoff: .none,
            onGiveUp: { [journal] history, reason in
                journal.note("\(history.failures.map { "\($0.attempt) \($0.error!)" }) \(reason)")
            })
        let operation = ScriptedOperation<Void, Int>((1...3).map { .failure(Outage(number: $0)) })
        await #expect(throws: Outage(number: 3)) {
            try await Pipeline(timeBase: RushingClock()) { retry }.run { try await operation() }
        }
        #expect(
            journal.lines == [
                #"["1 Outage(number: 1)", "2 Outage(number: 2)", "3 Outage(number: 3)"] no attempt is left"#
            ])
    }

    @Test("no hook gets a success, a failure that is not retried, or a cancelled call")
    func silent() async {
        for verdict in [Verdict.success, .permanent, .rejected, .cancelled] {
            let retry = Retry(
                beforeRetry: { [journal] _, _ in journal.note("before") },
                onGiveUp: { [journal] _, _ in journal.note("gave up") })
            let pipeline = Pipeline(timeBase: RushingClock()) { retry }
            let task = Task {
                try await pipeline.run {
                    if verdict == .cancelled { cancelCurrentTask() }
                    if verdict != .success { throw Judged(verdict: verdict) }
                }
            }
            _ = await task.result
        }
        #expect(journal.lines == [])
    }

    @Test("with wrapsLastError a given-up call throws all its errors, with the last error's verdict")
    func wrapped() async throws {
        let retry = Retry(maxRetries: 2, on: [.transient, .throttled, .uncertain], wrapsLastError: true)
        let operation = ScriptedOperation<Void, Int>([
            .failure(Outage(number: 1)), .failure(Outage(number: 2)), .failure(Judged(verdict: .uncertain)),
        ])
        let pipeline = Pipeline(timeBase: RushingClock()) { retry }
        let error = try #require(
            await #expect(throws: RetriesExhausted.self) { try await pipeline.run { try await operation() } })
        #expect(error.reason == .attemptsExhausted && error.lastError as? Judged == Judged(verdict: .uncertain))
        #expect(error.history.failures.map(\.attempt) == [1, 2, 3] && error.history.count == 3)
        #expect(pipeline.verdict(for: error) == .uncertain)
        #expect(
            "\(error)".hasPrefix("Gave up after 3 failed attempts (no attempt is left): Judged("), "\(error)")
    }

    @Test("a breaker outside the retry counts the wrapped error's verdict")
    func wrappedVerdict() async {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1))
        let pipeline = Pipeline {
            breaker
            Retry(maxRetries: 0, wrapsLastError: true)
        }
        await #expect(throws: RetriesExhausted.self) { try await pipeline.run { throw Outage() } }
        #expect(breaker.state == .open)
    }

    @Test("a result that means failure, and an error that is not retried, stay unchanged")
    func unwrapped() async throws {
        let pipeline = Pipeline(timeBase: RushingClock()) { Retry(maxRetries: 1, wrapsLastError: true) }
        #expect(try await pipeline.run(judging: { _ in .transient }, { _ in 503 }) == 503)
        await #expect(throws: Judged(verdict: .permanent)) {
            try await pipeline.run { throw Judged(verdict: .permanent) }
        }
    }

    @Test("of many failures the history keeps the first eight, the last eight and their number")
    func history() {
        var history = RetryHistory()
        #expect(history.failures.isEmpty && history.count == 0)
        for attempt in 1...100 {
            history.append(RetryFailure(attempt: attempt, verdict: .transient))
            #expect(history.count == attempt && history.failures.count == min(attempt, 16))
        }
        #expect(history.failures.map(\.attempt) == Array(1...8) + Array(93...100))
        let same = RetryHistory((1...100).map { RetryFailure(attempt: $0, verdict: .transient) })
        #expect(same.failures.map(\.attempt) == history.failures.map(\.attempt) && same.count == 100)
    }

    @Test(
        "after every end of a call its errors are released, even if it is cancelled during a wait (P17)",
        arguments: ["success", "gave up", "permanent", "cancelled in the wait", "cancelled inside"])
    func noLeak(end: String) async {
        let isHeld = end == "cancelled in the wait"
        let source = Leaf.Source()
        let pipeline = Pipeline(timeBase: isHeld ? clock : RushingClock()) {
            Retry(maxRetries: 2, backoff: .constant(.seconds(1)), onGiveUp: { _, _ in })
        }
        let task = Task {
            var attempt = 0
            // The error is not rethrown, because a task keeps its result.
            _ = try? await pipeline.run {
                attempt += 1
                if attempt == 1 || end == "gave up" { throw source.make() }
                if end == "permanent" { throw Judged(verdict: .permanent) }
                if end == "cancelled inside" {
                    cancelCurrentTask()
                    throw source.make()
                }
            }
        }
        if isHeld {
            await clock.waitForSleepers(1)
            #expect(source.alive == 1)
            task.cancel()
        }
        await task.value
        #expect(source.alive == 0)
    }

    @Test("a permit reported by hand keeps no error, whatever its verdict")
    func noLeakByHand() throws {
        let source = Leaf.Source()
        let retry = Retry(onGiveUp: { _, _ in })
        for verdict in [Verdict.success, .transient, .permanent, .cancelled] {
            try retry.tryAcquire().complete(verdict, error: source.make())
            #expect(source.alive == 0, "\(verdict)")
        }
    }
}
