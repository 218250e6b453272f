/// Decides, after each failed attempt of one call, whether and when to try again.
struct RetryStateMachine: Equatable {
    /// Attempts made so far, those before this call too.
    let attempts: Int
    /// The last wait, in nanoseconds; 0 before the first.
    private(set) var previousDelay: Int64

    init(attempts: Int, previousDelay: Int64 = 0) {
        self.attempts = attempts
        self.previousDelay = previousDelay
    }

    enum Decision: Equatable {
        case retry(at: MonotonicInstant)
        case giveUp(Retry.GivingUp)
        /// Not a failure that this retry is for.
        case notMine
    }

    /// - Parameters:
    ///   - rule: what the user's rules say of this failure.
    ///   - refusedFor: the wait that a policy of ours named when it refused the call.
    ///   - start: when the first attempt began; asked for only if there is a limit.
    mutating func failed(
        _ verdict: Verdict, rule: Retry.Decision? = nil, refusedFor: Duration? = nil, isIdempotent: Bool? = nil,
        at now: MonotonicInstant, since start: MonotonicInstant = .distantFuture, deadline: MonotonicInstant,
        _ configuration: RetryConfiguration,
        using generator: inout some RandomNumberGenerator
    ) -> Decision {
        guard let backoff = backoff(after: verdict, rule, isIdempotent, configuration) else { return .notMine }
        if isIdempotent == false, verdict == .transient || verdict == .uncertain { return .giveUp(.notIdempotent) }
        guard attempts <= configuration.maxRetries, !backoff.hasEnded(beforeRetry: attempts - 1) else {
            return .giveUp(.attemptsExhausted)
        }

        let named = max(verdict.retryAfter ?? .zero, refusedFor ?? .zero)
        let floor = named.saturatedNanoseconds
        guard floor <= configuration.retryAfterCeiling else { return .giveUp(.retryAfterTooLong) }
        let delay = backoff.delayInNanoseconds(
            beforeRetry: attempts - 1, previous: previousDelay, using: &generator)
        let next = now.advanced(by: .nanoseconds(max(delay, floor)))
        guard next < deadline else { return .giveUp(.deadlineTooNear) }
        if let limit = configuration.maxElapsed, next > start.advanced(by: limit) { return .giveUp(.elapsedTooLong) }
        previousDelay = delay
        return .retry(at: next)
    }

    /// nil if this is no failure to be tried again.
    private func backoff(
        after verdict: Verdict, _ rule: Retry.Decision?, _ isIdempotent: Bool?, _ configuration: RetryConfiguration
    ) -> Backoff? {
        guard verdict != .success, verdict != .cancelled else { return nil }
        let throttled = if case .throttled = verdict { true } else { false }
        let usual = throttled ? configuration.throttledBackoff : configuration.backoff
        switch rule {
        case .retry(let own):
            return own ?? usual
        case .leave:
            return nil
        case nil:
            // What may be done twice may be tried again after what may have done it.
            let counts: Verdict = isIdempotent == true && verdict == .uncertain ? .transient : verdict
            return configuration.verdicts.contains(verdict) || configuration.verdicts.contains(counts) ? usual : nil
        }
    }
}
