/// A registry of bulkheads, one for each key.
public typealias BulkheadRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, Bulkhead>

extension Bulkhead: RegistryEntry {
    /// Whether the limit and the queue size are those that the bulkhead was made with, and what an adaptive limit has learned
    /// is a minute old.
    ///
    /// Calls inside do not prevent eviction: they came through another key that shares this bulkhead.
    /// - Parameter time: How long the bulkhead has not been used.
    public func canBeEvicted(unusedFor time: Duration) -> Bool {
        (time >= .seconds(60) || knowsNoLimit) && ask { hasLimitsAsMade($0) }
    }

    /// Whether the two bulkheads differ in nothing but their limit and queue size. An adaptive limit is the same only if
    /// all of its settings are, but for the initial limit. One whose limit several processes have together can't be.
    /// - Parameter other: The bulkhead with the new settings.
    public func canBeReconfigured(like other: Bulkhead) -> Bool {
        !isShared && !other.isShared && order == other.order && maxWait == other.maxWait
            && predictsWait == other.predictsWait
            && adaptiveLimit.isSame(as: other.adaptiveLimit) && shedding == other.shedding
    }

    /// Takes over the limit and the queue size of another bulkhead, as ``setLimit(_:)`` and ``setQueue(_:)`` do. Of an
    /// adaptive limit what it has learned stays, and its initial one with that.
    /// - Parameter other: The bulkhead with the new settings.
    /// - Returns: This bulkhead. nil, with nothing changed, if the two differ in more than limit and queue size, or
    ///   within [PolicySettings.checked(_:)](<doc:PolicySettings/checked(_:)>) if a setting was invalid.
    public func reconfigured(like other: Bulkhead) -> Self? {
        guard other !== self else { return self }
        guard SettingChecks.mayChange, canBeReconfigured(like: other) else { return nil }
        let made = other.ask { $0.made }
        if adaptiveLimit == nil { setLimit(made.limit) }
        setQueue(made.queue)
        ask {
            $0.made = made
            $0.isSetByHand = false
        }
        return self
    }
}

extension AdaptiveLimit? {
    /// Whether two differ in nothing but their initial limit, which matters only at first.
    fileprivate func isSame(as other: AdaptiveLimit?) -> Bool {
        guard let self, let other else { return self == nil && other == nil }
        return self.beginning(with: 1) == other.beginning(with: 1)
    }
}
