import Resilience
import ResilienceTesting
import Synchronization
import TestSupport
import Testing

/// Who cancelled a call, and which of two limits has passed.
@Suite(.timeLimit(.minutes(20))) struct TimeoutCancellationTests {
    let clock = ManualClock()
    let journal = Journal()
    let operation = ScriptedOperation<Int, Int>(fallback: .success(7))

    @Test("the caller's cancellation reaches the operation and is not mistaken for the timeout's (P25)")
    func callerCancels() async {
        let pipeline = Pipeline(timeBase: clock) {
            ScriptedPolicy("a", journal); Timeout(limit: .seconds(5))
        }
        operation.hold()
        let task = Task { try await pipeline.run { try await operation(1) } }
        await clock.waitForSleepers(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(journal.lines == ["a in", "a out cancelled round 1"])
        #expect(clock.sleepers.isEmpty)
    }

    @Test(
        "the timeout's cancellation is not mistaken for the caller's: outer policies see an uncertain failure (P25)"
    )
    func timeoutCancels() async {
        let pipeline = Pipeline(timeBase: clock) {
            ScriptedPolicy("a", journal); Timeout(limit: .seconds(5))
        }
        operation.hold()
        let task = Task { try await pipeline.run { try await operation(1) } }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        await #expect(throws: TimedOut.self) { try await task.value }
        #expect(journal.lines == ["a in", "a out uncertain round 1"])
    }

    @Test("a caller cancelled after the limit still gets TimedOut; a caller cancelled before the limit does not")
    func bothCancel() async {
        let pipeline = Pipeline(timeBase: clock) { Timeout(limit: .seconds(5)) }
        let waiting = ScriptedOperation<Int, Int>(fallback: .failure(Outage()))
        waiting.hold()
        let late = Task { try await pipeline.run { try await Task { try await waiting(1) }.value } }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        late.cancel()
        let early = Task { try await pipeline.run { try await Task { try await waiting(1) }.value } }
        await clock.waitForSleepers(1)
        early.cancel()
        clock.advance(by: .seconds(5))
        await waiting.waitForCalls(2)
        waiting.release()
        await #expect(throws: TimedOut.self) { try await late.value }
        await #expect(throws: Outage.self) { try await early.value }
    }

    /// Cancels its task when the call enters.
    private struct Cancelling: Policy {
        func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
            cancelCurrentTask()
            return .proceed
        }
    }

    @Test("if a caller is cancelled on the way in, its operation sees the cancellation from its start")
    func alreadyCancelled() async throws {
        let pipeline = Pipeline(timeBase: clock) {
            Cancelling(); Timeout("outer", limit: .seconds(9)); Timeout("inner", limit: .seconds(5))
        }
        let task = Task {
            try await pipeline.run {
                let atOnce = Task.isCancelled
                await Elsewhere().visit()
                return atOnce && Task.isCancelled
            }
        }
        #expect(try await task.value)
    }

    @Test("an attempt that times out is retried, and the next attempt has its full limit")
    func eachAttempt() async throws {
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            Timeout("total", limit: .seconds(60))
            Retry(maxRetries: 1, backoff: .constant(.seconds(1)))
            Timeout("attempt", limit: .seconds(5))
        }
        let start = clock.now
        operation.hold()
        let task = Task { try await pipeline.run { try await operation(1) } }
        await clock.waitForSleepers(1)
        // The total limit has no alarm of its own: the attempt's timeout and the wait between attempts end at it.
        #expect(clock.sleepers == [start + .seconds(5)])
        clock.advance(by: .seconds(5))
        await clock.waitForSleepers(1)
        #expect(clock.sleepers == [start + .seconds(6)])
        clock.advance(by: .seconds(1))
        await operation.waitForCalls(2)
        await clock.waitForSleepers(1)
        #expect(clock.sleepers == [start + .seconds(11)])
        operation.release()
        #expect(try await task.value == 7)
        #expect(clock.sleepers.isEmpty)
    }

    @Test("the total limit ends an attempt early, and no attempt follows")
    func total() async {
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            Timeout("total", limit: .seconds(7))
            Retry(maxRetries: 9, backoff: .constant(.seconds(1)))
            Timeout("attempt", limit: .seconds(5))
        }
        operation.hold()
        let task = Task { try await pipeline.run { try await operation(1) } }
        for wait in [5, 1, 1] {
            await clock.waitForSleepers(1)
            if wait == 1 { await operation.waitForCalls(1) }
            clock.advance(by: .seconds(wait))
        }
        let error = await #expect(throws: TimedOut.self) { try await task.value }
        #expect(error?.policy == "total" && operation.callCount == 2 && clock.sleepers.isEmpty)
    }

    @Test("a retry that would begin after the total limit does not wait: the last error is thrown at once (P23)")
    func retryPastDeadline() async {
        let pipeline = Pipeline(timeBase: clock) {
            Timeout("total", limit: .seconds(7))
            Retry(maxRetries: 9, backoff: .constant(.seconds(7)))
        }
        await #expect(throws: Outage()) { try await pipeline.run { throw Outage() } }
        #expect(clock.sleepers.isEmpty)
    }

    @Test("a call that times out while it waits for a retry carries the last error in TimedOut")
    func timedOutInRetryWait() async {
        let bulkhead = Bulkhead(limit: 1, queue: 1, timeBase: clock)
        let pipeline = Pipeline {
            Timeout("total", limit: .seconds(7))
            ScriptedPolicy("a", out: [.again(.seconds(100))])
            bulkhead
        }
        let task = Task { try await pipeline.run { throw Outage() } }
        await clock.waitForSleepers(2)
        clock.advance(by: .seconds(7))
        let error = await #expect(throws: TimedOut.self) { try await task.value }
        #expect((error?.underlying as? CancelledWhileWaiting)?.lastError is Outage)
    }

    @Test("a timeout races a caller's cancellation on real threads: each call ends once, with either error")
    func race() async {
        let pipeline = Pipeline(timeBase: clock) { Timeout(limit: .seconds(5)) }
        operation.hold()
        for _ in 0..<300 {
            let task = Task { try await pipeline.run { try await operation(1) } }
            await clock.waitForSleepers(1)
            async let passed: Void = clock.advance(by: .seconds(5))
            task.cancel()
            await passed
            await #expect { try await task.value } throws: { $0 is TimedOut || $0 is CancellationError }
        }
        #expect(operation.running == 0 && clock.sleepers.isEmpty)
    }
}
