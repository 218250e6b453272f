/// A registry of adaptive throttles, one for each key.
public typealias AdaptiveThrottleRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, AdaptiveThrottle>

extension AdaptiveThrottle: RegistryEntry {
    /// Whether what it has counted is too old to matter, because no call has come for as long as its window.
    /// - Parameter time: How long the throttle has not been used.
    public func canBeEvicted(unusedFor time: Duration) -> Bool {
        time >= .nanoseconds(settings.window) || isAtRest
    }

    /// Whether the throttle can take over the settings of another one: always.
    /// - Parameter other: The throttle with the new settings.
    public func canBeReconfigured(like other: AdaptiveThrottle) -> Bool { true }

    /// Takes over the settings of another adaptive throttle, but not its source of chance. What has been counted is kept,
    /// unless the window has another length.
    /// - Parameter other: The throttle with the new settings.
    /// - Returns: This throttle. nil, with nothing changed, within
    ///   [PolicySettings.checked(_:)](<doc:PolicySettings/checked(_:)>) if a setting was invalid.
    public func reconfigured(like other: AdaptiveThrottle) -> Self? {
        guard other !== self else { return self }
        guard SettingChecks.mayChange else { return nil }
        let settings = other.settings
        machine.withLock { $0.change(to: settings) }
        return self
    }

    /// Forgets all calls, so that none is rejected until enough have come again.
    public func reset() { machine.withLock { $0.reset() } }
}
