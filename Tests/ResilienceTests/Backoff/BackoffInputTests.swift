import Resilience
import Testing

@Suite struct BackoffInputTests {
    @Test("a negative base is rejected with a message that names it")
    func base() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Backoff.exponential(from: .seconds(-1))
        }
        #expect(errorText(result).contains("base is -1 s, and must not be negative"))
    }

    @Test("a negative cap is rejected with a message that names it")
    func cap() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Backoff.linear(.seconds(1), cap: .seconds(-2))
        }
        #expect(errorText(result).contains("cap is -2 s, and must not be negative"))
    }

    @Test("a factor that is not a number is rejected with a message that names it")
    func notANumber() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Backoff.exponential(factor: .nan)
        }
        #expect(errorText(result).contains("factor is nan, and must be finite and at least 1"))
    }

    @Test("a factor below one is rejected with a message that names it")
    func shrinking() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Backoff.exponential(factor: 0.5)
        }
        #expect(errorText(result).contains("factor is 0.5, and must be finite and at least 1"))
    }

    @Test("a sequence with a negative delay is rejected with a message that says so")
    func negativeInSequence() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Backoff.sequence([.seconds(1), .seconds(-1)])
        }
        #expect(
            errorText(result).contains("sequence.1 is -1 s, and must not be negative"))
    }

    @Test("an infinite factor is rejected with a message that names it")
    func infinite() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Backoff.exponential(factor: .infinity)
        }
        #expect(errorText(result).contains("factor is inf, and must be finite and at least 1"))
    }

    @Test("a jitter share that is not a number is rejected with a message that names it")
    func share() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Backoff.constant(.seconds(1), jitter: .proportional(.nan))
        }
        #expect(errorText(result).contains("jitterShare is nan, and must lie in 0...1"))
    }

    @Test("decorrelated jitter of a custom delay is rejected with a message that says why")
    func customDecorrelated() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Backoff.custom(jitter: .decorrelated) { _, _ in .zero }
        }
        #expect(
            errorText(result).contains(
                "jitter is decorrelated, and must be another one, since this would replace the custom delay"))
    }

    @Test("a custom backoff is rejected where it would be asked under a lock")
    func customUnderALock() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Throttle("gate", limit: .unlimited, holdOnThrottled: true, holdBackoff: .custom { _, _ in .zero })
        }
        #expect(errorText(result).contains("holdBackoff is custom up to 20 s, and must not be custom"))
    }

    @Test("an empty sequence is rejected with a message that says so")
    func emptySequence() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Backoff.sequence([])
        }
        #expect(errorText(result).contains("sequence is [], and must have at least one delay"))
    }
}

/// What the process that was to end wrote to standard error.
func errorText(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
}
