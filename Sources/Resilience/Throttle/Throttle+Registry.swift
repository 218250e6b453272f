/// A registry of throttles, one for each key.
public typealias ThrottleRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, Throttle>

extension Throttle: RegistryEntry {
    /// Whether the throttle may be evicted although it is not idle.
    ///
    /// It may if all that it remembers is a hold that has been over for this long, with no call that came to probe. It
    /// also may if calls have used it within this time: they came through another key that shares it.
    /// - Parameter time: How long the throttle has not been used through its key.
    public func canBeEvicted(unusedFor time: Duration) -> Bool {
        let now = base.now
        return state.withLock { state in
            state.machine.latest + time > now
                || state.machine.isAtRest(at: now, forgettingHoldsOverFor: time) && state.limit == state.made
        }
    }

    /// Whether the two throttles differ in nothing but their rate and burst, and each counts by itself.
    /// - Parameter other: The throttle with the new settings.
    public func canBeReconfigured(like other: Throttle) -> Bool {
        let (own, ramp) = state.withLock { ($0.made, $0.machine.ramp) }
        let (made, otherRamp) = other.state.withLock { ($0.made, $0.machine.ramp) }
        guard settings == other.settings, ramp == otherRamp, !isShared, !other.isShared else { return false }
        if case (.rate, .rate) = (own.kind, made.kind) { return true }
        return own == made
    }

    /// Takes over the rate and the burst of another throttle, as ``setRate(_:burst:)`` does.
    /// - Parameter other: The throttle with the new settings.
    /// - Returns: This throttle. nil, with nothing changed, if the two differ in more than rate and burst, or within
    ///   [PolicySettings.checked(_:)](<doc:PolicySettings/checked(_:)>) if a setting was invalid.
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
