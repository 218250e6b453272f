public import Resilience

/// A registry of adaptive throttles, one for each key.
public typealias AdaptiveThrottleRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, AdaptiveThrottle>

extension AdaptiveThrottle: ConfigurablePolicy {
    /// Whether what it has counted is too old to matter, because no call has come for as long as its window.
    /// - Parameter time: How long the throttle has not been used.
    public func canBeEvicted(unusedFor time: Duration) -> Bool {
        time >= settings.window || isAtRest
    }

    /// Takes over all of them. What has been counted is kept, unless the window has another length.
    /// - Parameter settings: The settings.
    /// - Returns: What stands in the way; nothing has changed then.
    @discardableResult public func apply(_ settings: Settings) -> [String] {
        if let settings = settings.allowed() { ask { $0.change(to: settings) } }
        return []
    }

    /// Forgets all calls, so that none is rejected until enough have come again.
    public func reset() { ask { $0.reset() } }
}
