import Resilience
import ResilienceTraffic
import ResilienceTesting
import Testing
import TestSupport

private struct Unknown: Error {}

/// The possible effects of a race whose calls are not declared repeatable.
@Suite(.timeLimit(.minutes(20))) struct HedgedEffectTests {
    let clock = ManualClock()
    let recorder = EventRecorder()

    /// Runs a call, and counts its copies in all attempts.
    private func copies(_ pipeline: Pipeline, _ operation: @escaping @Sendable (CallAttempt) async throws -> Void)
        throws
        -> (Int, error: (any Error)?)
    {
        let begun = Locked(0)
        return try clock.run {
            do {
                try await pipeline.runHedged { attempt in
                    begun.withLock { $0 += 1 }
                    try await operation(attempt)
                }
                return (begun.withLock { $0 }, nil)
            } catch {
                return (begun.withLock { $0 }, error)
            }
        }
    }

    @Test("a copy that was cancelled while it ran is not repeated, even if the copy before it had no effect")
    func cancelledCopy() throws {
        let clock = clock
        let pipeline = Pipeline(timeBase: clock) {
            Retry(maxRetries: 3)
            Timeout(limit: .seconds(1))
            Hedge(after: .never, timeBase: clock)
        }
        let (count, error) = try copies(pipeline) { attempt in
            if attempt.hedge == 0 { throw Judged(verdict: .transient) }
            try await clock.sleep(for: .seconds(10))
        }
        #expect(count == 2 && (error as? TimedOut)?.verdict == .uncertain)
    }

    @Test("a copy that may have had its effect is not repeated, whatever the previous copy asked for")
    func uncertainCopy() throws {
        let pipeline = Pipeline(timeBase: clock) {
            Retry(maxRetries: 3)
            Hedge(after: .never, on: .throttled, timeBase: clock)
        }
        let (count, error) = try copies(pipeline) { attempt in
            if attempt.hedge == 0 { throw Judged(verdict: .throttled) }
            throw Unknown()
        }
        #expect(count == 2 && error is Unknown)
    }

    @Test("a copy whose time runs out in a queue does not hide how the previous copy failed")
    func waitingCopy() throws {
        let clock = clock
        let bulkhead = Bulkhead(limit: 1, queue: 2, timeBase: clock)
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            Hedge(after: .never, timeBase: clock)
            Timeout(limit: .seconds(1))
            bulkhead
        }
        let (count, error) = try copies(pipeline) { _ in
            // This call gets the permit before the hedge.
            Task { try await bulkhead.run { try await clock.sleep(for: .seconds(60)) } }
            try await clock.sleep(for: .milliseconds(100))
            throw Unknown()
        }
        #expect(count == 1 && error is Unknown)
    }

    @Test(
        "copies that wait in a queue until a timeout are not attempts, with or without a hedge",
        arguments: [true, false])
    func noAttempt(hedged: Bool) throws {
        let (clock, recorder) = (clock, recorder)
        let bulkhead = Bulkhead(limit: 1, queue: 2, timeBase: clock)
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true, observers: PolicyObservers(recorder)) {
            Hedge(after: .never, timeBase: clock)
            Timeout(limit: .seconds(1))
            bulkhead
        }
        let permit = try bulkhead.tryAcquire()
        _ = try clock.run {
            await #expect(throws: TimedOut.self) {
                if hedged { try await pipeline.runHedged {} } else { try await pipeline.run {} }
            }
        }
        permit.complete(.success)
        let wait = PolicyWait(policy: bulkhead.name, duration: .seconds(1))
        #expect(
            recorder.events() == [
                Pipeline.Event.failed(.transient, took: .seconds(hedged ? 2 : 1), attempts: 0, waits: [wait])
            ])
    }
}
