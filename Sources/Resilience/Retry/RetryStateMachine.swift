/// Decides, after each failed attempt of one call, whether and when to try again.
struct RetryStateMachine: Equatable {
    /// The number of attempts so far, including those before this call.
    let attempts: Int
    /// The last delay, in nanoseconds; 0 before the first.
    private(set) var previousDelay: Int64

    init(attempts: Int, previousDelay: Int64 = 0) {
        self.attempts = attempts
        self.previousDelay = previousDelay
    }

    enum Decision: Equatable {
        case retry(at: MonotonicInstant)
        case giveUp(RetriesExhausted.Reason)
        /// This retry does not retry failures of this kind.
        case notMine

        /// Whether this kind of failure is retried.
        var mayPass: Bool {
            switch self {
            case .giveUp(.effectUnknown), .giveUp(.notIdempotent), .notMine: false
            case .retry, .giveUp: true
            }
        }
    }

    /// An attempt failed.
    /// - Parameters:
    ///   - rule: The decision of the user's rules about this failure; nil for none.
    ///   - rejectedFor: The wait named by the policy that rejected the attempt.
    ///   - callerRetries: Whether the call is made for a request that is itself a retry.
    ///   - repetition: Whether repeating the call does harm.
    ///   - start: When the first attempt began; used only if `maxElapsed` is set.
    mutating func failed(
        _ verdict: Verdict, rule: Retry.Decision? = nil, rejectedFor: Duration? = nil, repetition: Repetition = .unsaid,
        callerRetries: Bool = false, at now: MonotonicInstant, since start: MonotonicInstant = .distantFuture,
        deadline: MonotonicInstant,
        _ settings: Retry.Settings,
        using generator: inout some RandomNumberGenerator
    ) -> Decision {
        guard let backoff = backoff(after: verdict, rule, settings) else { return .notMine }
        if repetition == .never, verdict.kind != .rejected { return .giveUp(.notIdempotent) }
        let isOrdered = rule != nil || verdict.shouldRetry == true
        if !isOrdered, !repetition.repeated(settings.verdicts, namesUncertain: true).contains(verdict) {
            return .giveUp(repetition == .unsaid ? .effectUnknown : .notIdempotent)
        }
        if callerRetries, rule == nil { return .giveUp(.callerRetries) }
        guard attempts <= settings.maxRetries, !backoff.hasEnded(beforeRetry: attempts - 1) else {
            return .giveUp(.attemptsExhausted)
        }

        let named = max(verdict.retryAfter ?? .zero, rejectedFor ?? .zero)
        let floor = named.saturatedNanoseconds
        guard floor <= settings.retryAfterCeiling.saturatedNanoseconds else { return .giveUp(.retryAfterTooLong) }
        let delay = backoff.delayInNanoseconds(
            beforeRetry: attempts - 1, previous: previousDelay, using: &generator)
        let next = now.advanced(by: .nanoseconds(max(delay, floor)))
        guard next < deadline || deadline == .distantFuture else { return .giveUp(.deadlineTooNear) }
        if let limit = settings.maxElapsed, next > start.advanced(by: limit) { return .giveUp(.elapsedTooLong) }
        // The wait is infinite.
        guard next < .distantFuture else { return .giveUp(delay < floor ? .retryAfterTooLong : .attemptsExhausted) }
        previousDelay = delay
        return .retry(at: next)
    }

    /// The backoff for this failure; nil if the failure is not retried.
    private func backoff(
        after verdict: Verdict, _ rule: Retry.Decision?, _ settings: Retry.Settings
    ) -> Backoff? {
        guard verdict.kind != .success, verdict.kind != .cancelled else { return nil }
        let usual = verdict.kind == .throttled ? settings.throttledBackoff : settings.backoff
        switch rule?.kind {
        case .retry(let own):
            return own ?? usual
        case .leave:
            return nil
        case nil:
            return isMine(verdict, settings) ? usual : nil
        }
    }

    /// Whether to retry after the failure, if no rule decides and the call may be repeated.
    private func isMine(_ verdict: Verdict, _ settings: Retry.Settings) -> Bool {
        // The other side knows what it did with the attempt.
        if let wish = verdict.shouldRetry, verdict.kind != .rejected { return wish }
        return Repetition.harmless.repeated(settings.verdicts, namesUncertain: true).contains(verdict)
    }
}
