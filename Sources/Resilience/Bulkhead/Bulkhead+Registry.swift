extension Bulkhead: RegistryEntry {
    /// If its limits are those that it was made with. Whoever is inside has come by another key that shares it.
    public func canBeEvicted(unusedFor time: Duration) -> Bool { ask { $0.hasLimitsAsMade } }

    /// Whether the two differ in no more than their limit and queue.
    public func canBeReconfigured(like other: Bulkhead) -> Bool {
        order == other.order && maxWait == other.maxWait && predictsWait == other.predictsWait
    }

    /// With the other's limit and queue, as by ``setLimit(_:)``; nil if the two differ in more than these, or within
    /// ``PolicySettings/checked(_:)`` if a setting was invalid.
    public func reconfigured(like other: Bulkhead) -> Self? {
        guard other !== self else { return self }
        guard SettingChecks.mayChange, canBeReconfigured(like: other) else { return nil }
        let made = other.ask { $0.made }
        setLimit(made.limit)
        setQueue(made.queue)
        ask { $0.made = made }
        return self
    }
}
