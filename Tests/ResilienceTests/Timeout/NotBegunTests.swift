import Resilience
import ResilienceTesting
import Testing
import TestSupport

private struct Unknown: Error {}

/// Calls that wait for their turn until an outer timeout ends them.
@Suite(.timeLimit(.minutes(20))) struct NotBegunTests {
    let clock = ManualClock()

    @Test("a call that timed out in a queue is known not to have begun, and may be retried (P59)")
    func mayBeRepeated() throws {
        let clock = clock
        let bulkhead = Bulkhead(limit: 1, queue: 5, timeBase: clock)
        let pipeline = Pipeline(timeBase: clock) {
            Retry(maxRetries: 2, backoff: .none)
            Timeout(limit: .seconds(1))
            bulkhead
        }
        let permit = try bulkhead.tryAcquire()
        let error = try clock.run {
            await #expect(throws: TimedOut.self) { try await pipeline.run {} }
        }
        #expect(error?.verdict == .transient && error?.reachedService == false)
        #expect(error?.underlying is DeadlinePassed)
        // Three attempts of one second each.
        #expect(clock.now == ManualClock().now + .seconds(3))
        permit.complete(.success)
    }

    @Test("if further attempts time out in a queue, the call ends with the error of the attempt that ran")
    func endsAsTheAttempt() throws {
        let clock = clock
        let bulkhead = Bulkhead(limit: 1, queue: 5, timeBase: clock)
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            Retry(maxRetries: 2, backoff: .constant(.seconds(1), jitter: .none))
            Timeout(limit: .seconds(1))
            bulkhead
        }
        _ = try clock.run {
            await #expect(throws: Unknown.self) {
                try await pipeline.run {
                    // This call gets the permit next.
                    Task { try await bulkhead.run { try await clock.sleep(for: .seconds(60)) } }
                    try await clock.sleep(for: .milliseconds(10))
                    throw Unknown()
                }
            }
        }
    }

    @Test("if the deadline comes while a further attempt waits, the call may have reached the service")
    func deadline() throws {
        let clock = clock
        let bulkhead = Bulkhead(limit: 1, queue: 5, timeBase: clock)
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            Timeout(limit: .seconds(2))
            Retry(maxRetries: 2, backoff: .none)
            Timeout(limit: .seconds(9))
            bulkhead
        }
        try clock.run {
            let error = await #expect(throws: TimedOut.self) {
                try await pipeline.run {
                    Task { try await bulkhead.run { try await clock.sleep(for: .seconds(60)) } }
                    try await clock.sleep(for: .milliseconds(10))
                    throw Judged(verdict: .uncertain)
                }
            }
            #expect((error?.underlying as? CancelledWhileWaiting)?.lastError is Judged)
            #expect(error?.reachedService == nil)
        }
    }

    @Test("the wait that a server names is kept even if the answer comes after the limit", arguments: [true, false])
    func namedWait(byClient: Bool) throws {
        let clock = clock
        let start = clock.now
        let attempts = Locked<[Duration]>([])
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            Retry(maxRetries: 1, backoff: .none)
            if byClient { ClientTimeout(limit: .seconds(1)) } else { Timeout(limit: .seconds(1)) }
        }
        try clock.run {
            let error = await #expect(throws: TimedOut.self) {
                try await pipeline.run {
                    attempts.withLock { $0.append(start.duration(to: clock.now)) }
                    // Ends when it is cancelled, or a moment after its deadline.
                    try? await clock.sleep(for: .milliseconds(1001))
                    throw Judged(verdict: .transient(retryAfter: .seconds(30)))
                }
            }
            #expect(error?.verdict == .transient(retryAfter: .seconds(30)))
        }
        #expect(attempts.withLock { $0 } == [.zero, .milliseconds(byClient ? 31_001 : 31_000)])
    }

    @Test("the advice not to retry is kept even if it comes after the limit")
    func noRepetition() {
        let final = Judged(verdict: Verdict(.transient, shouldRetry: false))
        #expect(TimedOut(policy: "t", limit: .seconds(1), underlying: final).verdict == final.verdict)
    }
}
