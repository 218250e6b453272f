import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

@Suite struct RetryBudgetTests {
    let clock = RushingClock()
    let recorder = EventRecorder()

    private func pipeline(_ budget: RetryBudget, maxRetries: Int = 3) -> Pipeline {
        Pipeline(timeBase: clock, observers: PolicyObservers(recorder)) {
            Retry(maxRetries: maxRetries, backoff: .none, budget: budget)
        }
    }

    /// Makes a call that fails this many times and then succeeds. Returns its number of attempts.
    private func attempts(_ pipeline: Pipeline, failing failures: Int, with verdict: Verdict = .transient) async -> Int
    {
        var attempts = 0
        try? await pipeline.run {
            attempts += 1
            if attempts <= failures { throw Judged(verdict: verdict) }
        }
        return attempts
    }

    @Test("an exhausted budget stops retries, never a first attempt, and the last error is thrown unchanged")
    func exhausted() async {
        let pipeline = pipeline(.tokens(capacity: 28))
        #expect(await attempts(pipeline, failing: 9) == 3)
        #expect(recorder.events(of: Retry.Event.self).last == .gaveUp(attempt: 3, .budgetExhausted))
        await #expect(throws: Outage(number: 5)) { try await pipeline.run { throw Outage(number: 5) } }
        #expect(recorder.events(of: Retry.Event.self).last == .gaveUp(attempt: 1, .budgetExhausted))
        #expect(
            "\(recorder.events.dropLast().last!)"
                == "[pipeline/retry] gave up after attempt 1: the retry budget is exhausted: Outage")
    }

    @Test("a retry that an inner policy rejected was not sent, and costs nothing")
    func rejectedRetry() async throws {
        let budget = RetryBudget.tokens(capacity: 28)
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        let pipeline = Pipeline(timeBase: clock) {
            Retry(maxRetries: 3, backoff: .none, budget: budget)
            breaker
        }
        for _ in 0..<10 {
            breaker.reset()
            await #expect(throws: (any Error).self) { try await pipeline.run { throw Outage() } }
        }
        #expect(!budget.isExhausted)
        #expect(await attempts(self.pipeline(budget), failing: 9) == 3)
    }

    /// A call pays and counts once, whichever retry repeats it.
    private func nested(_ budget: RetryBudget, _ clock: ManualClock, between: Bool = false) -> Pipeline {
        Pipeline(timeBase: clock) {
            Retry(maxRetries: 1, backoff: .none, on: [.transient, .throttled], budget: budget)
            if between { Timeout(limit: .seconds(1)) }
            Retry(maxRetries: 1, backoff: .none, on: .transient, budget: budget)
        }
    }

    @Test("two retries of one pipeline that share a budget count a call once (P61)", arguments: [false, true])
    func nestedRatio(between: Bool) throws {
        let clock = ManualClock()
        let pipeline = nested(.ratio(0.2, reserve: 0, timeBase: clock), clock, between: between)
        let count = try clock.run { () async throws in
            var count = 0
            for _ in 0..<1_000 { count += await attempts(pipeline, failing: .max) }
            return count
        }
        #expect(count == 1_200)
    }

    @Test(
        "an attempt's cost is refunded once when it succeeds, whichever retry paid (P61)", arguments: [1, 2],
        [false, true])
    func nestedTokens(failures: Int, between: Bool) throws {
        let clock = ManualClock()
        let budget = RetryBudget.tokens(capacity: 1_000)
        let pipeline = nested(budget, clock, between: between)
        // The outer retry repeats the second of two failures.
        let price = 14 * (failures - 1)
        try clock.run { () async throws in
            for _ in 0..<20 { _ = await attempts(pipeline, failing: .max) }
            #expect(budget.retriesLeft == (1_000 - 20 * 3 * 14) / 14)
            for _ in 0..<5 { #expect(await attempts(pipeline, failing: failures) == failures + 1) }
            #expect(budget.retriesLeft == (1_000 - 20 * 3 * 14 - 5 * price) / 14)
            for _ in 0..<14 { #expect(await attempts(pipeline, failing: 0) == 1) }
            #expect(budget.retriesLeft == (1_000 - 20 * 3 * 14 - 5 * price) / 14 + 1)
        }
    }

    @Test("a failure costs a throttling budget one token, even if the inner retry does not repeat it (P61)")
    func nestedThrottling() throws {
        let clock = ManualClock()
        let budget = RetryBudget.throttling(maxTokens: 100, ratio: 0.001)
        let pipeline = nested(budget, clock)
        try clock.run { () async throws in
            #expect(await attempts(pipeline, failing: .max) == 4)
            #expect(budget.retriesLeft == 46)
            #expect(await attempts(pipeline, failing: .max, with: .throttled) == 2)
            #expect(budget.retriesLeft == 44)
            #expect(await attempts(pipeline, failing: .max, with: .permanent) == 1)
            #expect(budget.retriesLeft == 44)
        }
    }

    @Test("if a retry without the budget repeats an attempt, the budget counts another attempt")
    func repeatedByAnother() throws {
        let clock = ManualClock()
        let budget = RetryBudget.throttling(maxTokens: 10, ratio: 0.001)
        let pipeline = Pipeline(timeBase: clock) {
            Retry(maxRetries: 1, backoff: .none, on: .transient)
            Retry(maxRetries: 0, on: .transient, budget: budget, wrapsLastError: false)
        }
        try clock.run { () async throws in #expect(await attempts(pipeline, failing: .max) == 2) }
        #expect(budget.retriesLeft == 3)
    }

    @Test("several retries can share one budget")
    func shared() async {
        let budget = RetryBudget.tokens(capacity: 28)
        let (reads, writes) = (pipeline(budget, maxRetries: 1), pipeline(budget, maxRetries: 1))
        #expect(await attempts(reads, failing: 9) == 2)
        #expect(await attempts(writes, failing: 9) == 2)
        #expect(budget.isExhausted)
        #expect(await attempts(reads, failing: 9) == 1)
    }

    @Test("a success after a retry refunds it, and each success without a retry adds one token")
    func repaid() async {
        let budget = RetryBudget.tokens(capacity: 14)
        let pipeline = pipeline(budget)
        for _ in 0..<5 { #expect(await attempts(pipeline, failing: 1) == 2) }
        #expect(await attempts(pipeline, failing: 9) == 2)
        for _ in 0..<13 { _ = await attempts(pipeline, failing: 0) }
        #expect(budget.isExhausted)
        _ = await attempts(pipeline, failing: 0)
        #expect(!budget.isExhausted)
    }

    @Test("retries of 429s have their own price")
    func throttled() async {
        let pipeline = pipeline(.tokens(capacity: 10), maxRetries: 5)
        #expect(await attempts(pipeline, failing: 9, with: .throttled) == 3)
    }

    @Test("a budget by ratio allows its share of the calls, plus its reserve, within its window")
    func ratio() async {
        let hand = ManualClock()
        let clock = RecordingClock(hand)
        let budget = RetryBudget.ratio(0.5, reserve: 1, window: .seconds(2), timeBase: clock)
        let pipeline = Pipeline { Retry(maxRetries: 9, backoff: .none, budget: budget) }
        for _ in 0..<7 { _ = await attempts(pipeline, failing: 0) }
        // 0.5 of eight calls, plus 2.
        #expect(await attempts(pipeline, failing: 9) == 7)
        #expect(await attempts(pipeline, failing: 9) == 1)
        hand.advance(by: .seconds(2))
        #expect(!budget.isExhausted)
        #expect(await attempts(pipeline, failing: 9) == 3)
    }

    @Test("a throttling budget counts the failures of all users, even failures that are not retried")
    func throttling() async {
        let budget = RetryBudget.throttling(maxTokens: 4, ratio: 0.5)
        let once = pipeline(budget, maxRetries: 0)
        #expect(await attempts(once, failing: 1, with: .permanent) == 1)
        for _ in 0..<2 { _ = await attempts(once, failing: 1) }
        #expect(budget.isExhausted)
        #expect(await attempts(pipeline(budget), failing: 1) == 1)
        for _ in 0..<3 { _ = await attempts(once, failing: 0) }
        #expect(!budget.isExhausted)
    }

    @Test("rejections by policies count neither as calls nor as failures")
    func rejections() async {
        let ratio = RetryBudget.ratio(1, reserve: 0, timeBase: ManualClock())
        let throttling = RetryBudget.throttling(maxTokens: 1)
        for budget in [ratio, throttling] {
            let pipeline = Pipeline { Retry(budget: budget) }
            #expect(await attempts(pipeline, failing: 1, with: .rejected) == 1)
            #expect(budget.isExhausted == (budget === ratio))
        }
    }

    @Test("a rule, the hooks and an observer may read the budget: none of them runs under its lock (P7)")
    func asked() async {
        let budget = RetryBudget.tokens(capacity: 14)
        let journal = Journal()
        let ask = { @Sendable (who: String) in journal.note("\(who) \(budget.isExhausted)") }
        let observers = PolicyObservers()
        observers.add { if $0.detail is Retry.Event { ask("event") } }
        let retry = Retry(
            maxRetries: 1, budget: budget,
            rules: { _ in
                ask("rule")
                return nil
            }, beforeRetry: { _, _ in ask("before") }, onGiveUp: { _, _ in ask("gave up") })
        let pipeline = Pipeline(timeBase: clock, observers: observers) { retry }
        await #expect(throws: Outage()) { try await pipeline.run { throw Outage() } }
        #expect(
            journal.lines == [
                "rule false", "before true", "event true", "rule true", "event true", "gave up true",
            ])
    }

    @Test("a retry cancelled during its wait refunds its cost (P17)")
    func cancelled() async {
        let clock = ManualClock()
        let budget = RetryBudget.tokens(capacity: 14)
        let pipeline = Pipeline(timeBase: clock) { Retry(backoff: .constant(.seconds(5)), budget: budget) }
        let task = Task { try await pipeline.run { throw Outage() } }
        await clock.waitForSleepers(1)
        #expect(budget.isExhausted)
        task.cancel()
        _ = await task.result
        #expect(!budget.isExhausted)
    }

    @Test("a retry uses the time base of a budget that reads a clock, and a pipeline can't mix two time bases")
    func timeBase() async {
        let clock = ManualClock()
        #expect(Retry(budget: .ratio(timeBase: clock)).timeBase === clock)
        #expect(Retry(budget: .tokens()).timeBase == nil && Retry(budget: .throttling()).timeBase == nil)
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Pipeline {
                Retry(budget: .ratio(timeBase: ManualClock()))
                CircuitBreaker()
            }
        }
        #expect(errorText(result).contains("\"breaker\" has another time base than \"retry\""))
    }

    @Test("the descriptions of a budget, and of a retry with a budget, contain the limits")
    func descriptions() {
        #expect("\(RetryBudget.tokens())" == "500 tokens, 14 per retry, 5 after a 429")
        #expect("\(RetryBudget.ratio())" == "0.2 of the calls plus 100, in 10 s")
        let retry = Retry(
            maxElapsed: .seconds(9), backoff: .none, throttledBackoff: .none, budget: .throttling(), rules: { _ in nil }
        )
        #expect(
            "\(retry)"
                == "retry: 3 retries on transient+throttled, backoff constant 0 s, throttled constant 0 s"
                + ", for 9 s, budget above half of 10 tokens, 0.1 back per success, rules")
    }

    @Test(
        "the shortest and the longest window are valid, and windows beyond them are not",
        arguments: [Duration.milliseconds(1), .seconds(3600)])
    func ranges(window: Duration) throws {
        _ = try PolicySettings.checked { RetryBudget.ratio(1000, window: window) }
        _ = try PolicySettings.checked { RetryBudget.ratio(0, window: window) }
        #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked { RetryBudget.ratio(window: .seconds(3600) + .nanoseconds(1)) }
        }
        #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked { RetryBudget.ratio(window: .milliseconds(1) - .nanoseconds(1)) }
        }
    }

    @Test("an opened call pays a budget like a call that ends at once (P61)", arguments: [false, true])
    func openCalls(opens: Bool) async throws {
        for (budget, left) in [
            (RetryBudget.tokens(capacity: 140), 10), (.ratio(0.5, reserve: 0, timeBase: clock), 0),
        ] {
            let pipeline = Pipeline(timeBase: clock) {
                Retry(maxRetries: 3, backoff: .none, budget: budget)
                Retry("inner", maxRetries: 0, budget: budget)
            }
            // 20 calls, half of which are retried once.
            for call in 0..<20 {
                var attempts = 0
                func operation() throws -> Int {
                    attempts += 1
                    if call >= 10, attempts == 1 { throw Judged(verdict: .transient) }
                    return attempts
                }
                if opens {
                    _ = try await pipeline.open { _ in
                        try operation()
                    } holding: { result, permit in
                        permit.complete(.success)
                        return result
                    }
                } else {
                    _ = try await pipeline.run { try operation() }
                }
            }
            #expect(budget.retriesLeft == left)
        }
    }
}
