import Resilience
import ResilienceTesting
import TestSupport
import Testing

@Suite struct LonePolicyTests {
    let clock = ManualClock()

    @Test("a single policy gives the operation its attempts, as a pipeline does")
    func attempts() async throws {
        let retry = Retry(maxRetries: 2, backoff: .none)
        var numbers: [Int] = []
        await #expect(throws: Outage()) {
            try await retry.run { attempt in
                numbers.append(attempt.number)
                throw Outage()
            }
        }
        #expect(numbers == [1, 2, 3])
        let last = try await retry.run(
            options: RunOptions(firstAttempt: 2), judging: { $0 == 3 ? .success : .transient }
        ) { attempt in
            numbers.append(attempt.number)
            return attempt.number
        }
        #expect(last == 3 && numbers == [1, 2, 3, 2, 3])
    }

    @Test("a single breaker counts the operation's results and errors, and then rejects")
    func breaker() async throws {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(2), timeBase: clock)
        let status = try await breaker.run(judging: { _ in .transient }) { attempt in attempt.number }
        await #expect(throws: Outage()) { try await breaker.run { (_: CallAttempt) in throw Outage() } }
        #expect(status == 1 && breaker.state == .open)
        await #expect(throws: CircuitOpen.self) { try await breaker.run { attempt in attempt.number } }
    }

    @Test("a single timeout gives the operation its deadline")
    func deadline() async throws {
        let timeout = Timeout(limit: .seconds(3600))
        let deadline = try await timeout.run { attempt in attempt.deadline }
        let judged = try await timeout.run(judging: { _ in .transient }) { attempt in attempt.deadline }
        #expect(deadline != .distantFuture && judged >= deadline && judged != .distantFuture)
    }
}
