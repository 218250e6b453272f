/// Decides, after each failed attempt of one call, whether and when to try again.
struct RetryStateMachine: Equatable {
    /// Attempts made so far.
    let attempts: Int
    /// The last wait, in nanoseconds; 0 before the first.
    private(set) var previousDelay: Int64

    init(attempts: Int, previousDelay: Int64 = 0) {
        self.attempts = attempts
        self.previousDelay = previousDelay
    }

    enum Decision: Equatable {
        case retry(at: Instant)
        case giveUp(Retry.GivingUp)
        /// Not a failure that this retry is for.
        case notMine
    }

    mutating func failed(
        _ verdict: Verdict, at now: Instant, deadline: Instant, _ configuration: RetryConfiguration,
        using generator: inout some RandomNumberGenerator
    ) -> Decision {
        guard configuration.verdicts.contains(verdict) else { return .notMine }
        guard attempts <= configuration.maxRetries else { return .giveUp(.attemptsExhausted) }

        var floor: Int64 = 0
        if let named = verdict.retryAfter {
            floor = named.saturatedNanoseconds
            guard floor <= configuration.retryAfterCeiling else { return .giveUp(.retryAfterTooLong) }
        }
        let throttled = if case .throttled = verdict { true } else { false }
        let backoff = throttled ? configuration.throttledBackoff : configuration.backoff
        let delay = backoff.delayInNanoseconds(
            beforeRetry: attempts - 1, previous: previousDelay, using: &generator)
        let next = now.advanced(by: .nanoseconds(max(delay, floor)))
        guard next < deadline else { return .giveUp(.deadlineTooNear) }
        previousDelay = delay
        return .retry(at: next)
    }
}
