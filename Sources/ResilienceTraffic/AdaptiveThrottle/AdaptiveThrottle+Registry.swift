public import Resilience

/// A registry of adaptive throttles, one for each key.
public typealias AdaptiveThrottleRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, AdaptiveThrottle>

extension AdaptiveThrottle: ConfigurablePolicy {
    /// Whether the throttle's counts are too old to matter: no call has come for the length of its window.
    ///
    /// - Parameter time: How long the throttle has not been used.
    public func canBeEvicted(unusedFor time: Duration) -> Bool {
        time >= settings.window || isAtRest
    }

    /// Applies all settings.
    ///
    /// The counts are kept unless the window's length changes.
    ///
    /// - Parameter settings: The settings.
    /// - Returns: The settings that can't be applied; if there are any, nothing has changed.
    @discardableResult public func apply(_ settings: Settings) -> [String] {
        if let settings = settings.allowed() { ask { $0.change(to: settings) } }
        return []
    }

    /// Resets all counts.
    ///
    /// No call is rejected until there are enough calls again.
    public func reset() { ask { $0.reset() } }
}
