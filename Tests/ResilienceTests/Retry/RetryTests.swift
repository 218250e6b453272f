import Resilience
import ResilienceTesting
import Testing

@Suite struct RetryTests {
    let clock = ManualClock()
    let recorder = EventRecorder()

    private func pipeline(_ retry: Retry) -> Pipeline {
        Pipeline("calls", timeBase: clock, observers: Observers(recorder)) { retry }
    }

    /// Runs to the end, the clock moving itself to the end of every wait.
    private func play(
        _ retries: Retry..., operation: ScriptedOperation<Void, Int>
    ) async -> (waits: [Duration], result: Result<Int, any Error>) {
        let clock = RecordingClock(clock)
        let pipeline = Pipeline("calls", timeBase: clock, observers: Observers(recorder)) {
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
        #expect(operation.callCount == 1 && recorder.events.isEmpty)
    }

    @Test("a failure that passes is tried again after its wait, and its result returned")
    func recovers() async throws {
        let operation = ScriptedOperation<Void, Int>([.failure(Outage()), .success(7)])
        let pipeline = pipeline(Retry(maxRetries: 1, backoff: .constant(.seconds(5))))
        async let result = pipeline.run { try await operation() }
        await clock.waitForSleepers(1)
        #expect(clock.sleepers == [clock.now + .seconds(5)])
        clock.advance(by: .seconds(5))
        #expect(try await result == 7 && operation.callCount == 2)
    }

    @Test("when retries run out, the last error is thrown as it is")
    func exhausted() async {
        let operation = ScriptedOperation<Void, Int>((1...4).map { .failure(Outage(number: $0)) })
        let (waits, result) = await play(Retry(backoff: .none), operation: operation)
        #expect(throws: Outage(number: 4)) { try result.get() }
        #expect(waits.count == 3 && operation.callCount == 4)
    }

    @Test("when retries run out, the last result that means failure is returned as it is")
    func exhaustedResult() async throws {
        let clock = RecordingClock(clock)
        let operation = ScriptedOperation<Void, Int>([.success(500), .success(502), .success(503)])
        let pipeline = Pipeline(timeBase: clock) { Retry(maxRetries: 2, backoff: .none) }
        let status = try await pipeline.run(judging: { $0 < 500 ? .success : .transient }) { _ in
            try await operation()
        }
        #expect(status == 503 && operation.callCount == 3)
    }

    @Test("throttledOnly waits 1, 2 and 4 seconds after 429s, then gives up")
    func throttledOnly() async {
        let operation = ScriptedOperation<Void, Int>(fallback: .failure(Judged(verdict: .throttled)))
        let (waits, result) = await play(Retry.throttledOnly, operation: operation)
        #expect(waits == [.seconds(1), .seconds(2), .seconds(4)])
        #expect(throws: Judged(verdict: .throttled)) { try result.get() }
        #expect(operation.callCount == 4)
    }

    @Test(
        "throttledOnly leaves every other failure alone",
        arguments: [.transient, .uncertain, .permanent, .rejected] as [Verdict])
    func throttledOnlyOthers(verdict: Verdict) async {
        let operation = ScriptedOperation<Void, Int>(fallback: .failure(Judged(verdict: verdict)))
        await #expect(throws: Judged(verdict: verdict)) {
            try await pipeline(.throttledOnly).run { try await operation() }
        }
        #expect(operation.callCount == 1)
    }

    @Test(
        "what will not pass, may have been done already, or was refused by us is not tried again",
        arguments: [.permanent, .uncertain, .rejected] as [Verdict])
    func notRetried(verdict: Verdict) async {
        let operation = ScriptedOperation<Void, Int>(fallback: .failure(Judged(verdict: verdict)))
        let (waits, _) = await play(Retry(), operation: operation)
        #expect(operation.callCount == 1 && waits.isEmpty && recorder.events.isEmpty)
    }

    @Test("a Retry-After is waited for in one go: it does not burn attempts, and no retry fires before it")
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

    @Test("a Retry-After above the ceiling is not waited for: the error comes back at once, with the wait in it")
    func retryAfterTooLong() async {
        let limited = Judged(verdict: .throttled(retryAfter: .seconds(121)))
        let (waits, result) = await play(Retry(), operation: ScriptedOperation([.failure(limited)]))
        #expect(throws: limited) { try result.get() }
        #expect(waits.isEmpty)
        #expect(recorder.events(of: Retry.Event.self) == [.gaveUp(attempt: 1, .retryAfterTooLong)])
    }

    @Test("a negative Retry-After does not become a retry at once: the backoff holds")
    func negativeRetryAfter() async {
        let limited = Judged(verdict: .throttled(retryAfter: .seconds(-30)))
        let operation = ScriptedOperation<Void, Int>([.failure(limited), .success(7)])
        let (waits, _) = await play(Retry.throttledOnly, operation: operation)
        #expect(waits == [.seconds(1)])
    }

    @Test("inside another retry, each round of the outer one has all the inner one's attempts")
    func nested() async {
        let operation = ScriptedOperation<Void, Int>(fallback: .failure(Outage()))
        let (_, result) = await play(
            Retry("outer", maxRetries: 1, backoff: .none), Retry("inner", maxRetries: 2, backoff: .none),
            operation: operation)
        #expect(throws: Outage()) { try result.get() }
        #expect(operation.callCount == 6)
    }

    @Test("the operation is told which attempt it is")
    func attemptNumbers() async throws {
        let pipeline = Pipeline(timeBase: RushingClock()) { Retry(maxRetries: 2, backoff: .none) }
        var attempts: [Int] = []
        try await pipeline.run { attempt in
            attempts.append(attempt.number)
            if attempt.number < 3 { throw Outage() }
        }
        #expect(attempts == [1, 2, 3])
    }

    @Test("two runs with generators of the same seed wait the same")
    func seeded() async {
        func waits(seed: UInt64) async -> [Duration] {
            let retry = Retry(maxRetries: 8, generator: SplitMix64(seed: seed))
            return await play(retry, operation: ScriptedOperation(fallback: .failure(Outage()))).waits
        }
        let (one, same, other) = (await waits(seed: 1), await waits(seed: 1), await waits(seed: 2))
        #expect(one == same && one != other && one.count == 8)
    }

    @Test("each wait and the giving up are told, in order")
    func events() async {
        let operation = ScriptedOperation<Void, Int>(fallback: .failure(Outage()))
        _ = await play(Retry(maxRetries: 1, backoff: .constant(.seconds(2))), operation: operation)
        #expect(
            recorder.events(of: Retry.Event.self) == [
                .retrying(attempt: 1, of: 2, after: .seconds(2), .transient),
                .gaveUp(attempt: 2, .attemptsExhausted),
            ])
        #expect(recorder.events.map { "\($0)" }.last == "[calls/retry] gave up after attempt 2: attemptsExhausted")
    }
}
