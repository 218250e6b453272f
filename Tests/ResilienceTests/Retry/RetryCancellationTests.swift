import Resilience
import ResilienceTesting
import TestSupport
import Testing

@Suite struct RetryCancellationTests {
    let clock = ManualClock()

    private func pipeline(_ retry: Retry = Retry(backoff: .constant(.seconds(5)))) -> Pipeline {
        Pipeline(timeBase: clock) { retry }
    }

    @Test(
        "a retry cancelled in its wait returns at once, makes no further attempt, and keeps the last real error (P17)"
    )
    func duringTheWait() async {
        let operation = ScriptedOperation<Void, Int>(fallback: .failure(Outage(number: 3)))
        let task = Task { [pipeline = pipeline()] in try await pipeline.run { try await operation() } }
        await clock.waitForSleepers(1)
        task.cancel()
        let error = await #expect(throws: CancelledWhileWaiting.self) { try await task.value }
        #expect(error?.lastError as? Outage == Outage(number: 3))
        #expect(operation.callCount == 1 && clock.sleepers.isEmpty)
    }

    @Test("if a call is cancelled after a failing result, its error has the result's verdict: the service answered")
    func afterAResult() async throws {
        for timeout in [nil, Timeout(limit: .seconds(60))] {
            let pipeline = Pipeline(timeBase: clock) {
                Retry(throttledBackoff: .constant(.seconds(5)))
                if let timeout { timeout }
            }
            let task = Task {
                try await pipeline.run(judging: { _ in .throttled(retryAfter: .seconds(4)) }) { 429 }
            }
            try await clock.waitForSleeper(dueIn: .seconds(5))
            task.cancel()
            let error = try #require(await #expect(throws: CancelledWhileWaiting.self) { try await task.value })
            let failure = CallFailure(error)
            #expect(failure.reachedService == true && failure.retryAfter == .seconds(4) && failure.lastError == nil)
            #expect(error.lastError == nil && error.lastVerdict == .throttled(retryAfter: .seconds(4)))
        }
        #expect(clock.sleepers.isEmpty)
    }

    @Test("a single retry, cancelled during its wait, refunds its budget")
    func alone() async {
        let budget = RetryBudget.tokens(capacity: 14)
        let waits = PolicyWaiter()
        let retry = Retry(backoff: .constant(.seconds(5)), budget: budget, beforeRetry: { _, _ in waits.resume() })
        let task = Task { try await retry.run { throw Outage() } }
        #expect(await waits.wait(until: .distantFuture, on: clock) == .resumed)
        task.cancel()
        await #expect(throws: CancelledWhileWaiting.self) { try await task.value }
        #expect(!budget.isExhausted)
    }
}

@Suite struct RetryInputTests {
    @Test("the largest integer as maxRetries does not overflow")
    func most() async throws {
        let pipeline = Pipeline(timeBase: RushingClock()) { Retry(maxRetries: .max, backoff: .none) }
        var failures = 100
        try await pipeline.run {
            failures -= 1
            if failures > 0 { throw Outage() }
        }
        #expect("\(Retry(maxRetries: .max))".contains("\(Int.max) retries"))
    }
}
