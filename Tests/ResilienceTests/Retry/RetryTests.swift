import Resilience
import ResilienceTesting
import TestSupport
import Testing

@Suite struct RetryTests {
    let clock = ManualClock()
    let recorder = EventRecorder()

    private func pipeline(_ retry: Retry) -> Pipeline {
        Pipeline("calls", timeBase: clock, observers: PolicyObservers(recorder)) { retry }
    }

    /// Runs to the end; the clock advances to the end of every wait.
    private func play(
        _ retries: Retry..., operation: ScriptedOperation<Void, Int>
    ) async -> (waits: [Duration], result: Result<Int, any Error>) {
        let clock = RecordingClock(clock)
        let pipeline = Pipeline("calls", timeBase: clock, observers: PolicyObservers(recorder)) {
            for retry in retries { retry }
        }
        do {
            let value = try await pipeline.run { try await operation() }
            return (clock.waits, .success(value))
        } catch {
            return (clock.waits, .failure(error))
        }
    }

    @Test("a success is returned at once, without a retry")
    func success() async throws {
        let operation = ScriptedOperation<Void, Int>([.success(7)])
        #expect(try await pipeline(Retry()).run { try await operation() } == 7)
        #expect(operation.callCount == 1 && recorder.events(of: Retry.Event.self).isEmpty)
    }

    @Test("a transient failure is retried after its wait, and the retry's result is returned")
    func recovers() async throws {
        let operation = ScriptedOperation<Void, Int>([.failure(Outage()), .success(7)])
        let pipeline = pipeline(Retry(maxRetries: 1, backoff: .constant(.seconds(5))))
        async let result = pipeline.run { try await operation() }
        await clock.waitForSleepers(1)
        #expect(clock.sleepers == [clock.now + .seconds(5)])
        clock.advance(by: .seconds(5))
        #expect(try await result == 7 && operation.callCount == 2)
    }

    @Test("when retries run out, the last error is thrown unchanged")
    func exhausted() async {
        let operation = ScriptedOperation<Void, Int>((1...4).map { .failure(Outage(number: $0)) })
        let (waits, result) = await play(Retry(backoff: .none), operation: operation)
        #expect(throws: Outage(number: 4)) { try result.get() }
        #expect(waits.count == 3 && operation.callCount == 4)
    }

    @Test("when retries run out, the last result that means failure is returned unchanged")
    func exhaustedResult() async throws {
        let clock = RecordingClock(clock)
        let operation = ScriptedOperation<Void, Int>([.success(500), .success(502), .success(503)])
        let pipeline = Pipeline(timeBase: clock) { Retry(maxRetries: 2, backoff: .none) }
        let status = try await pipeline.run(judging: { $0 < 500 ? .success : .transient }) { _ in
            try await operation()
        }
        #expect(status == 503 && operation.callCount == 3)
    }

    @Test("throttledOnly waits 1, 2 and 4 seconds after 429s, then gives up (B15)")
    func throttledOnly() async {
        let operation = ScriptedOperation<Void, Int>(fallback: .failure(Judged(verdict: .throttled)))
        let (waits, result) = await play(Retry.throttledOnly, operation: operation)
        #expect(waits == [.seconds(1), .seconds(2), .seconds(4)])
        #expect(throws: Judged(verdict: .throttled)) { try result.get() }
        #expect(operation.callCount == 4)
    }

    @Test(
        "throttledOnly retries no other failure (B15)",
        arguments: [.transient, .uncertain, .permanent, .rejected] as [Verdict])
    func throttledOnlyOthers(verdict: Verdict) async {
        let operation = ScriptedOperation<Void, Int>(fallback: .failure(Judged(verdict: verdict)))
        await #expect(throws: Judged(verdict: verdict)) {
            try await pipeline(.throttledOnly).run { try await operation() }
        }
        #expect(operation.callCount == 1)
    }

    @Test("a Retry-After is one wait: it uses up no attempts, and no retry comes earlier (P16)")
    func retryAfter() async throws {
        let limited = Judged(verdict: .throttled(retryAfter: .seconds(90)))
        let operation = ScriptedOperation<Void, Int>([.failure(limited), .success(7)])
        let pipeline = pipeline(Retry(maxRetries: 1))
        async let result = pipeline.run { try await operation() }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(90) - .nanoseconds(1))
        #expect(operation.callCount == 1 && clock.sleepers.count == 1)
        clock.advance(by: .nanoseconds(1))
        #expect(try await result == 7 && operation.callCount == 2)
    }

    @Test("a rule can retry one error at once, and not retry another; other errors follow the configuration")
    func rules() async {
        let operation = ScriptedOperation<Void, Int>([
            .failure(Judged(verdict: .permanent)), .failure(Outage()), .failure(Outage(number: 2)),
        ])
        let retry = Retry(maxRetries: 9, backoff: .constant(.seconds(4))) { failure in
            if failure.error is Judged { return .retry(after: .constant(.zero)) }
            return (failure.error as? Outage)?.number == 2 ? .leave : nil
        }
        let (waits, result) = await play(retry, operation: operation)
        #expect(waits == [.zero, .seconds(4)])
        #expect(throws: Outage(number: 2)) { try result.get() }
        #expect(recorder.events(of: Retry.Event.self).count == 2)
    }

    @Test("a rule gets the attempt, the verdict and the error; a result that means failure has no error")
    func ruleInput() async throws {
        let journal = Journal()
        let retry = Retry(maxRetries: 2, backoff: .none) { failure in
            journal.note("\(failure.attempt) \(failure.verdict) \(failure.error.map { "\($0)" } ?? "none")")
            return nil
        }
        let operation = ScriptedOperation<Void, Int>([
            .failure(Judged(verdict: .throttled)), .success(500), .success(7),
        ])
        let pipeline = Pipeline(timeBase: RushingClock()) { retry }
        let status = try await pipeline.run(judging: { $0 < 500 ? .success : .transient }) { _ in try await operation()
        }
        #expect(status == 7)
        #expect(
            journal.lines == [
                "1 throttled Judged(verdict: throttled)",
                "2 transient none",
            ])
    }

    @Test("a retry of rejections waits for an open circuit's retryAfter: no tight loop (P19)")
    func rejectionFloor() async {
        let clock = RecordingClock(clock)
        let breaker = CircuitBreaker(
            tripping: .consecutiveFailures(1), openFor: .seconds(60), timeBase: clock)
        let pipeline = Pipeline(timeBase: clock) {
            Retry(maxRetries: 2, backoff: .none, on: [.transient, .rejected])
            breaker
        }
        let operation = ScriptedOperation<Void, Int>([.failure(Outage()), .success(7)])
        let result = try? await pipeline.run { try await operation() }
        #expect(result == 7 && clock.waits == [.zero, .seconds(60)])
    }

    @Test("each call, and each round of an outer retry, has the whole maxElapsed")
    func elapsedAnew() async {
        let operation = ScriptedOperation<Void, Int>(fallback: .failure(Outage()))
        let inner = Retry("inner", maxRetries: 8, maxElapsed: .seconds(10), backoff: .constant(.seconds(10)))
        _ = await play(Retry(maxRetries: 2, backoff: .none), inner, operation: operation)
        #expect(operation.callCount == 6)
    }

    @Test("attempts before this call's first attempt count toward the limit and the backoff's growth")
    func resumed() async throws {
        let clock = RecordingClock(clock)
        let retry = Retry(maxRetries: 4, backoff: .linear(.seconds(1)))
        let pipeline = Pipeline(timeBase: clock, observers: PolicyObservers(recorder)) { retry }
        var attempts: [Int] = []
        await #expect(throws: Outage()) {
            try await pipeline.run(options: RunOptions(firstAttempt: 3)) { attempt in
                attempts.append(attempt.number)
                throw Outage()
            }
        }
        #expect(attempts == [3, 4, 5] && clock.waits == [.seconds(3), .seconds(4)])
        #expect(recorder.events(of: Retry.Event.self).last == .gaveUp(attempt: 5, .attemptsExhausted))
    }

    @Test("nested retries each count from the call's first attempt, in every round")
    func resumedNested() async throws {
        let pipeline = Pipeline(timeBase: RushingClock()) {
            Retry("outer", maxRetries: 2, backoff: .none)
            Retry("inner", maxRetries: 2, backoff: .none)
        }
        var attempts: [Int] = []
        await #expect(throws: Outage()) {
            try await pipeline.run(options: RunOptions(firstAttempt: 2)) { attempt in
                attempts.append(attempt.number)
                throw Outage()
            }
        }
        #expect(attempts == [2, 3, 2, 3])
    }

    @Test(
        "a call whose firstAttempt exceeds the allowed attempts, or is Int.max, still makes an attempt",
        arguments: [9, .max])
    func resumedTooLate(firstAttempt: Int) async throws {
        let operation = ScriptedOperation<Void, Int>(fallback: .failure(Outage()))
        let pipeline = Pipeline(timeBase: RushingClock()) { Retry(maxRetries: firstAttempt == .max ? .max : 3) }
        var left = 3
        await #expect(throws: Outage()) {
            try await pipeline.run(options: RunOptions(firstAttempt: firstAttempt)) { attempt in
                #expect(attempt.number == firstAttempt)
                left -= 1
                if left == 0 { cancelCurrentTask() }
                _ = try await operation()
            }
        }
        #expect(operation.callCount == (firstAttempt == .max ? 3 : 1))
    }

    @Test(
        "a call that must not be repeated is not retried after any failure, and this is reported (P18)",
        arguments: [.transient, .throttled, .uncertain] as [Verdict])
    func notIdempotent(verdict: Verdict) async {
        let operation = ScriptedOperation<Void, Int>([.failure(Judged(verdict: verdict)), .success(7)])
        let pipeline = Pipeline(timeBase: RushingClock(), observers: PolicyObservers(recorder)) { Retry() }
        _ = try? await pipeline.run(options: RunOptions(isIdempotent: false)) { try await operation() }
        #expect(operation.callCount == 1)
        #expect(recorder.events(of: Retry.Event.self) == [.gaveUp(attempt: 1, .notIdempotent)])
    }

    @Test(
        "an unknown error is not retried unless pipeline or call are idempotent, and the error names isIdempotent (P75)"
    )
    func effectUnknown() async {
        func attempts(_ isIdempotent: Bool?, _ options: RunOptions = RunOptions()) async -> (Int, (any Error)?) {
            let operation = ScriptedOperation<Void, Int>([.failure(Unknown()), .success(7)])
            let retry = Retry(wrapsLastError: true)
            let observers = PolicyObservers(recorder)
            let pipeline = Pipeline(timeBase: RushingClock(), isIdempotent: isIdempotent, observers: observers) {
                retry
            }
            var thrown: (any Error)?
            do { _ = try await pipeline.run(options: options) { try await operation() } } catch { thrown = error }
            return (operation.callCount, thrown)
        }
        let (once, error) = await attempts(nil)
        #expect(once == 1 && error.map { "\($0)".contains("isIdempotent: true") } == true)
        #expect((error as? RetriesExhausted)?.reason == .effectUnknown)
        #expect(recorder.events(of: Retry.Event.self) == [.gaveUp(attempt: 1, .effectUnknown)])
        #expect(await attempts(true).0 == 2)
        #expect(await attempts(nil, RunOptions(isIdempotent: true)).0 == 2)
        #expect(await attempts(true, RunOptions(isIdempotent: false)).0 == 1)
        #expect(await attempts(false, RunOptions(isIdempotent: true)).0 == 2)
    }

    @Test("a custom backoff gets the retry and the previous delay")
    func customBackoff() async {
        let retry = Retry(maxRetries: 4, backoff: .custom { retry, previous in previous + .seconds(retry) })
        let (waits, _) = await play(retry, operation: ScriptedOperation(fallback: .failure(Outage())))
        #expect(waits == [.zero, .seconds(1), .seconds(3), .seconds(6)])
    }

    @Test("the operation gets its attempt's number")
    func attemptNumbers() async throws {
        let pipeline = Pipeline(timeBase: RushingClock()) { Retry(maxRetries: 2, backoff: .none) }
        var attempts: [Int] = []
        try await pipeline.run { attempt in
            attempts.append(attempt.number)
            if attempt.number < 3 { throw Outage() }
        }
        #expect(attempts == [1, 2, 3])
    }

    @Test("two runs with generators of the same seed have the same waits")
    func seeded() async {
        func waits(seed: UInt64) async -> [Duration] {
            let retry = Retry(maxRetries: 8, generator: SplitMix64(seed: seed))
            return await play(retry, operation: ScriptedOperation(fallback: .failure(Outage()))).waits
        }
        let (one, same, other) = (await waits(seed: 1), await waits(seed: 1), await waits(seed: 2))
        #expect(one == same && one != other && one.count == 8)
    }

    @Test("each wait and the giving up are reported, in order")
    func events() async {
        let operation = ScriptedOperation<Void, Int>(fallback: .failure(Outage()))
        _ = await play(Retry(maxRetries: 1, backoff: .constant(.seconds(2))), operation: operation)
        #expect(
            recorder.events(of: Retry.Event.self) == [
                .retrying(attempt: 1, of: 2, after: .seconds(2), .transient),
                .gaveUp(attempt: 2, .attemptsExhausted),
            ])
        #expect(
            recorder.events.map { "\($0)" }.dropLast().last
                == "[calls/retry] gave up after attempt 2: no attempt is left: Outage")
    }

    @Test("by default a retry waits from 50 ms, or from a second after a 429, up to 20 s")
    func defaults() {
        let spelledOut = Retry(
            maxRetries: 3, backoff: .exponential(from: .milliseconds(50), cap: .seconds(20)),
            throttledBackoff: .exponential(from: .seconds(1), cap: .seconds(20)), on: [.transient, .throttled],
            retryAfterCeiling: .seconds(120))
        #expect(Retry().description == spelledOut.description && Retry().isAtRest)
        #expect(Retry().description.contains("50 ms") && Retry().description.contains("20 s"))
    }

    @Test("if an outer policy asks for another round after a success, the retry starts fresh")
    func anewAfterSuccess() async throws {
        let operation = ScriptedOperation<Void, Int>([
            .failure(Outage()), .success(1), .failure(Outage()), .success(2),
        ])
        let pipeline = Pipeline(timeBase: RushingClock()) {
            ScriptedPolicy("poll", out: [.again(.zero)])
            Retry(maxRetries: 1, backoff: .none)
        }
        #expect(try await pipeline.run { try await operation() } == 2)
        #expect(operation.callCount == 4)
    }

    @Test(
        "if an outer policy asks for another round after an error that the retry leaves alone, the retry starts fresh")
    func anewAfterOthers() async throws {
        let operation = ScriptedOperation<Void, Int>([
            .failure(Outage()), .failure(Judged(verdict: .permanent)), .failure(Outage()), .success(2),
        ])
        let pipeline = Pipeline(timeBase: RushingClock()) {
            Retry("outer", maxRetries: 1, backoff: .none, on: .permanent)
            Retry("inner", maxRetries: 1, backoff: .none)
        }
        #expect(try await pipeline.run { try await operation() } == 2)
        #expect(operation.callCount == 4)
    }

    @Test("decorrelated waits are the same with wrapsLastError")
    func decorrelatedWithHistory() async {
        var waits: [[Duration]] = []
        for wrapsLastError in [false, true] {
            let retry = Retry(
                maxRetries: 6, backoff: .exponential(from: .seconds(1), cap: .seconds(1000), jitter: .decorrelated),
                wrapsLastError: wrapsLastError, generator: SplitMix64(seed: 7))
            let played = await play(retry, operation: ScriptedOperation(fallback: .failure(Outage())))
            waits.append(played.waits)
        }
        #expect(waits[0].count == 6 && waits[0] == waits[1])
    }

    @Test("a wait begins at the attempt's end, not at its start", arguments: [true, false])
    func waitsFromTheEnd(throwsError: Bool) async throws {
        let start = clock.now
        let pipeline = pipeline(Retry(maxRetries: 1, maxElapsed: .seconds(100), backoff: .constant(.seconds(1))))
        let task = Task { [clock] in
            try await pipeline.run(judging: { _ in .transient }) {
                clock.advance(by: .seconds(10))
                if throwsError { throw Outage() }
            }
        }
        await clock.waitForSleepers(1)
        #expect(clock.sleepers == [start + .seconds(11)])
        task.cancel()
        _ = await task.result
    }
}

/// An error that no classifier knows.
private struct Unknown: Error {}
