extension RetryBudget {
    /// How many more retries after failures other than a 429 the budget would allow now, if no call succeeded
    /// meanwhile: for display.
    ///
    /// For ``throttling(maxTokens:ratio:)``, whose retries cost nothing, it is how many more failures it takes until
    /// no retry is allowed.
    public var retriesLeft: Int { ask { $0.retriesLeft(at: $1) } }
}

extension TokenBudget {
    func retriesLeft(at now: MonotonicInstant) -> Int { tokens / cost }
}

extension RatioBudget {
    func retriesLeft(at now: MonotonicInstant) -> Int {
        var later = self
        _ = later.slot(at: now)
        let allowed = later.total.calls.saturatingMultiplied(by: share) / Self.whole
        return Int(clamping: max(0, allowed.saturatingAdding(reserve).saturatingSubtracting(later.total.retries)))
    }
}

extension ThrottlingBudget {
    func retriesLeft(at now: MonotonicInstant) -> Int {
        // Each failure takes a whole token; retries end at half of the tokens.
        max(0, (tokens - maxTokens / 2 + Self.whole - 1) / Self.whole)
    }
}
