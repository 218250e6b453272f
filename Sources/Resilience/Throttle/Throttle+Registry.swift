extension Throttle: ConfigurablePolicy {
    /// Whether the throttle may be evicted although it is not idle.
    ///
    /// It may be evicted if its only state is a hold that has been over for this long, and no call has come to probe.
    /// It may also be evicted if calls have used it within this time: those calls came through another key that shares
    /// the throttle.
    /// - Parameter time: How long the throttle has not been used through its key.
    public func canBeEvicted(unusedFor time: Duration) -> Bool {
        let now = base.now
        return state.withLock { state in
            state.machine.latest + time > now
                || state.machine.isAtRest(at: now, forgettingHoldsOverFor: time) && state.limit == state.made
        }
    }

    /// The names of the differing settings that this throttle can't change while it runs: all but the rate and the
    /// burst.
    ///
    /// A throttle that several processes share can't change any setting.
    ///
    /// - Parameter settings: The settings.
    public func inTheWay(of settings: Settings) -> [String] {
        let own = self.settings
        var settings = settings.settled
        // Without holds, the backoff has no effect.
        if !own.holdOnThrottled, !settings.holdOnThrottled { settings.holdBackoff = own.holdBackoff }
        let areRates = if case (.rate, .rate) = (own.limit.kind, settings.limit.kind) { true } else { false }
        return Settings.schema.differences(own, settings, exceptLive: areRates && !isShared)
    }

    public func canBeReconfigured(like other: Throttle) -> Bool {
        !isShared && !other.isShared && inTheWay(of: other.settings).isEmpty
    }

    /// Takes over the rate and the burst, as ``setRate(_:burst:)`` does.
    ///
    /// - Parameter settings: The settings.
    /// - Returns: The names of the settings that can't change; if there are any, nothing has changed.
    @discardableResult public func apply(_ settings: Settings) -> [String] {
        let others = inTheWay(of: settings)
        guard others.isEmpty, !isShared, let settings = settings.allowed() else { return others }
        if case .rate(let rate, let burst) = settings.limit.kind {
            setRate(rate, burst: burst)
            state.withLock { $0.made = settings.limit }
        }
        return []
    }
}
