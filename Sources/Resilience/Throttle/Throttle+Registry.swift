extension Throttle: RegistryEntry {
    /// If all it remembers is that it was held, by a hold that was over this long ago, and nobody came to probe; or if calls
    /// used it meanwhile, which have come by another key that shares it.
    public func canBeEvicted(unusedFor time: Duration) -> Bool {
        let now = base.now
        return state.withLock { state in
            state.machine.latest + time > now
                || state.machine.isAtRest(at: now, forgettingHoldsOverFor: time) && state.limit == state.made
        }
    }

    /// Whether the two differ in no more than their rate and burst.
    public func canBeReconfigured(like other: Throttle) -> Bool {
        let (own, ramp) = state.withLock { ($0.made, $0.machine.ramp) }
        let (made, otherRamp) = other.state.withLock { ($0.made, $0.machine.ramp) }
        guard configuration == other.configuration, ramp == otherRamp else { return false }
        if case (.rate, .rate) = (own.kind, made.kind) { return true }
        return own == made
    }

    /// With the other's rate and burst, as by ``setRate(_:burst:)``; nil if the two differ in more than these.
    public func reconfigured(like other: Throttle) -> Self? {
        guard other !== self else { return self }
        guard SettingChecks.mayChange, canBeReconfigured(like: other) else { return nil }
        let made = other.state.withLock { $0.made }
        if case .rate(let rate, let burst) = made.kind {
            setRate(rate, burst: burst)
            state.withLock { $0.made = made }
        }
        return self
    }
}
