import Resilience
import ResilienceTesting
import Testing

@Suite struct CancelledResultTests {
    @Test("in a cancelled task a failing result is returned, not retried and lost")
    func failingResult() async throws {
        let pipeline = Pipeline(timeBase: ManualClock()) { Retry(maxRetries: 3, backoff: .constant(.seconds(1))) }
        let task = Task {
            try await pipeline.run(judging: { _ in .transient }) { attempt in
                withUnsafeCurrentTask { $0?.cancel() }
                return attempt.number
            }
        }
        #expect(try await task.value == 1)
    }

    @Test("a timeout used alone runs the operation")
    func timeoutAlone() async throws {
        #expect(try await Timeout(limit: .seconds(5)).run { 7 } == 7)
    }
}
