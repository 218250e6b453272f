extension Throttle {
    /// The remaining quota, as a server reports it to its clients; nil if there is no limit.
    ///
    /// `RateLimitFields.fields(for:)` of ResilienceHTTP writes the quota into the fields of a response.
    ///
    /// Clients receive whole seconds. So ``ServerQuota/window`` is the smallest whole number of seconds that is no
    /// shorter than the limit's period and, for a rate, the time to fill its burst; ``ServerQuota/limit`` is the number
    /// of calls that the limit allows in that time in the long run. For a rate of 10 per second with a burst of 20,
    /// that is 20 in 2 seconds. ``ServerQuota/resetsAfter`` is how long until the next call may go; nil if one may go
    /// now. ``ServerQuota/remaining`` is nil while it is unknown. For a limit that several processes share, it is the
    /// number that remained for all of them a moment ago, and unknown if no process has just used the limit.
    public var quota: ServerQuota? {
        let now = base.now
        let (limit, status, free) = state.withLock {
            ($0.limit, $0.machine.status(at: now), $0.machine.limiter.free(at: now.nanoseconds))
        }
        let left = status.available.saturatingAdding(free)
        return limit.inWholeSeconds.map { calls, window in
            ServerQuota(
                name: name, limit: calls,
                remaining: status.isAllowed ? (left > 0 ? min(left, calls) : nil) : 0,
                resetsAfter: status.isAllowed ? nil : status.timeUntilNext, window: window)
        }
    }
}

extension ThrottleLimit {
    /// The calls that may go in a window of whole seconds, rounded down; nil without a limit.
    fileprivate var inWholeSeconds: (calls: Int, window: Duration)? {
        let calls, period, burst: Int128
        switch kind {
        case .unlimited: return nil
        case .rate(let rate, let most):
            (calls, period, burst) = (Int128(rate.calls), Int128(rate.period.saturatedNanoseconds), Int128(most))
        case .window(let most, let length, _):
            (calls, period, burst) = (Int128(most), Int128(length.saturatedNanoseconds), 0)
        }
        let filling = (burst * period + calls - 1) / calls
        let second = Int128(1_000_000_000)
        let longest = Int128(Int64.max) / second
        let seconds = min((max(period, filling) + second - 1) / second, longest)
        return (Int(clamping: calls * seconds * second / period), .seconds(Int64(seconds)))
    }
}
