import ResilienceTesting
import Testing

@testable import Resilience
import TestSupport

/// Records the options of each call.
private final class Listening: Policy {
    let seen = Locked<[RunOptions]>([])

    func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let options = call.options
        seen.withLock { $0.append(options) }
        return .proceed
    }
}

@Suite struct RunOptionsTests {
    private let options = RunOptions(
        deadline: MonotonicInstant(nanoseconds: .max - 1), firstAttempt: 3, cost: 7, priority: .low, isIdempotent: true)

    @Test("a call's options reach every policy, even inside a timeout")
    func reachesAll() async throws {
        let (outer, inner) = (Listening(), Listening())
        let pipeline = Pipeline {
            outer
            Timeout(limit: .seconds(Int64.max))
            inner
        }
        let attempt = try await pipeline.run(options: options) { $0 }
        #expect(attempt == CallAttempt(number: 3, deadline: MonotonicInstant(nanoseconds: .max - 1)))
        #expect([outer, inner].map { $0.seen.withLock { $0 } } == [[options], [options]])
    }

    @Test("options reach a policy used alone, and a policy used by hand")
    func reachesAlone() async throws {
        let alone = Listening()
        try await alone.run(options: options) {}
        try alone.tryAcquire(options: options).complete(.success)
        try await alone.acquire(options: options).complete(.success)
        #expect(alone.seen.withLock { $0 } == [options, options, options])
    }

    @Test("a caller's deadline limits waits, and a timeout's earlier deadline wins")
    func deadline() async throws {
        let clock = ManualClock()
        let gate = Throttle("gate", limit: .unlimited, maxWait: .seconds(60), holdOnThrottled: true, timeBase: clock)
        gate.hold(for: .seconds(10))
        let near = RunOptions(deadline: clock.now + .seconds(9))
        await #expect(throws: ThrottleExceeded.self) { try await gate.run(options: near) {} }
        let pipeline = Pipeline(timeBase: clock) { Timeout(limit: .seconds(1)) }
        let seen = try await pipeline.run(options: near) { $0.deadline }
        #expect(seen == clock.now + .seconds(1))
    }

    @Test("priorities are ordered")
    func priorities() {
        #expect([CallPriority.high, .low, .normal].sorted() == [.low, .normal, .high])
    }

    @Test("a pipeline with isIdempotent false repeats no call, even if the request is known to have effects (P59)")
    func effectsOfNever() async {
        var effectful = RunOptions()
        effectful.repetition = .effectful
        for (word, expected) in [(false, 1), (true, 2), (nil, 2)] {
            let pipeline = Pipeline(isIdempotent: word) { Retry(maxRetries: 1, backoff: .none) }
            var attempts = 0
            try? await pipeline.run(options: effectful) {
                attempts += 1
                throw Judged(verdict: .transient)
            }
            #expect(attempts == expected)
        }
    }
}
