import Resilience
import TestSupport
import Testing

/// In addition to `PolicySettingsTests`: one example of each kind of check.
@Suite struct InvalidSettingsTests {
    private static let outOfRange: [(make: @Sendable () -> Void, text: String)] = [
        ({ _ = ThreeStateCircuit(probes: 0) }, "CircuitBreaker: probes is 0, and must be at least 1"),
        (
            { _ = ThreeStateCircuit(probeLease: .zero) },
            "CircuitBreaker: probeLease is 0 s, and must be above zero"
        ),
        ({ _ = ThreeStateCircuit(ramp: .seconds(-1)) }, "CircuitBreaker: ramp is -1 s, and must not be negative"),
        (
            { _ = ThreeStateCircuit(excess: .waits(upTo: .zero)) },
            "CircuitBreaker: excessWaits is 0 s, and must be above zero"
        ),
        ({ _ = ProbeRule.successes(0) }, "ProbeRule: successes is 0, and must be at least 1"),
        ({ _ = ProbeRule.successes(4, of: 3) }, "ProbeRule: successes is 4, and must lie in 1...3"),
        ({ _ = ProbeRule.successes(1, of: 0) }, "ProbeRule: probes is 0, and must be at least 1"),
        (
            { _ = ProbeRule.failureRatio(.nan, of: 3) },
            "ProbeRule: ratio is nan, and must be above 0 and at most 1"
        ),
        (
            { _ = GrowingBreak.exponential(from: .seconds(-2)) },
            "BreakDuration: base is -2 s, and must not be negative"
        ),
        (
            { _ = GrowingBreak.exponential(cap: .seconds(-3)) },
            "BreakDuration: cap is -3 s, and must not be negative"
        ),
        (
            { _ = GrowingBreak.exponential(maxMultiplier: 0) },
            "BreakDuration: maxMultiplier is 0, and must be at least 1"
        ),
        (
            { _ = RetryAfterBreak.retryAfter(cap: .seconds(-4)) },
            "BreakDuration: cap is -4 s, and must not be negative"
        ),
        (
            { _ = ConstantBreak.constant(.seconds(1)).jittered(by: 1.5) },
            "BreakDuration: jitterShare is 1.5, and must lie in 0...1"
        ),
        (
            { _ = ConstantBreak.constant(.seconds(1)).jittered(by: .nan) },
            "BreakDuration: jitterShare is nan, and must lie in 0...1"
        ),
        (
            { _ = FailuresInWindow.failureRatio(0) },
            "TripRule: ratio is 0.0, and must be above 0 and at most 1"
        ),
        (
            { _ = FailuresInWindow.failureRatio(.nan) },
            "TripRule: ratio is nan, and must be above 0 and at most 1"
        ),
        (
            { _ = FailuresInWindow.failureRatio(0.5, over: .calls(5), minimumCalls: 6) },
            "TripRule: minimumCalls is 6, and must be at most 5, the calls of the window"
        ),
        (
            { _ = FailuresInWindow.failureRatio(0.5, minimumCalls: 0) },
            "TripRule: minimumCalls is 0, and must be at least 1"
        ),
        (
            { _ = FailuresInWindow.failures(6, over: .calls(5)) },
            "TripRule: count is 6, and must be at most 5, the calls of the window; "
                + "TripRule: minimumCalls is 6, and must be at most 5, the calls of the window"
        ),
        (
            { _ = FailuresInWindow.failures(0, over: .calls(5)) },
            "TripRule: count is 0, and must be at least 1; TripRule: minimumCalls is 0, and must be at least 1"
        ),
        ({ _ = CallWindow.calls(0) }, "CallWindow: calls is 0, and must lie in 1...10000000"),
        ({ _ = CallWindow.time(.zero) }, "CallWindow: length is 0 s, and must be above zero"),
        (
            { _ = CallWindow.time(.seconds(1), buckets: 0) },
            "CallWindow: buckets is 0, and must lie in 1...100000"
        ),
        ({ _ = Backoff.linear(.seconds(1), cap: .seconds(-2)) }, "Backoff: cap is -2 s, and must not be negative"),
        ({ _ = Backoff.exponential(factor: 0.5) }, "Backoff: factor is 0.5, and must be finite and at least 1"),
        ({ _ = Backoff.exponential(factor: .infinity) }, "Backoff: factor is inf, and must be finite and at least 1"),
        (
            { _ = Backoff.sequence([.seconds(1), .seconds(-1)]) },
            "Backoff: sequence.1 is -1 s, and must not be negative"
        ),
        (
            { _ = Backoff.constant(.seconds(1), jitter: .proportional(.nan)) },
            "Backoff: jitterShare is nan, and must lie in 0...1"
        ),
        (
            { _ = Backoff.custom(jitter: .decorrelated) { _, _ in .zero } },
            "Backoff: jitter is decorrelated, and must be another one, since this would replace the custom delay"
        ),
        // A custom hold backoff would be called under a lock.
        (
            { _ = Throttle(limit: .unlimited, holdOnThrottled: true, holdBackoff: .custom { _, _ in .zero }) },
            "Throttle: holdBackoff is custom up to 20 s, and must not be custom, since it is asked under the throttle's lock"
        ),
        (
            { _ = Retry(retryAfterCeiling: .seconds(-1)) },
            "Retry: retryAfterCeiling is -1 s, and must not be negative"
        ),
        (
            { _ = Retry(on: [.transient, .cancelled]) },
            "Retry: verdicts is transient+cancelled, and must have neither success nor cancelled among them"
        ),
        ({ _ = RetryBudget.tokens(cost: 0) }, "RetryBudget: cost is 0, and must be at least 1"),
        ({ _ = RetryBudget.tokens(throttledCost: 0) }, "RetryBudget: throttledCost is 0, and must be at least 1"),
        ({ _ = RetryBudget.ratio(.nan) }, "RetryBudget: share is nan, and must lie in 0...1000"),
        ({ _ = RetryBudget.ratio(reserve: -1) }, "RetryBudget: reserve is -1, and must lie in 0...1000000"),
        (
            { _ = RetryBudget.ratio(window: .zero) },
            "RetryBudget: window is 0 s, and must lie between 1 ms and 3600 s"
        ),
        ({ _ = RetryBudget.throttling(ratio: 0) }, "RetryBudget: ratio is 0.0, and must lie in 0.001...1000"),
        (
            { _ = Pipeline {}.withFallback(to: 1, on: [.success, .transient]) },
            "Fallback: verdicts is success+transient, and must have neither success nor cancelled among them"
        ),
        (
            { _ = Pipeline {}.withFallback(to: 1, on: .cancelled) },
            "Fallback: verdicts is cancelled, and must have neither success nor cancelled among them"
        ),
        ({ Bulkhead(limit: 1).setLimit(0) }, "Bulkhead: limit is 0, and must be at least 1"),
        ({ Bulkhead(limit: 1).setQueue(-1) }, "Bulkhead: queue is -1, and must not be negative"),
    ]

    @Test("a setting out of range is rejected with a message that names it", arguments: outOfRange)
    func rejected(make: @Sendable () -> Void, text: String) {
        #expect(problems { try PolicySettings.checked(make) }.joined(separator: "; ") == text)
    }

    @Test("a gate rejects a rule that watches calls, with a message that names the rule")
    func watchingGate() {
        let found = problems {
            try PolicySettings.checked { _ = BackoffGate(tripping: .slowCalls(0.5, longerThan: .seconds(8))) }
        }
        #expect(
            found.count == 1 && found[0].contains("taking longer than 8 s, of at least 10, and must not watch calls"))
    }
}
