/// A registry of bulkheads, one for each key.
public typealias BulkheadRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, Bulkhead>

extension Bulkhead: RegistryEntry {
    /// Whether the limit and the queue size are those that the bulkhead was made with.
    ///
    /// Calls inside do not prevent eviction: they came through another key that shares this bulkhead.
    /// - Parameter time: How long the bulkhead has not been used. It makes no difference here.
    public func canBeEvicted(unusedFor time: Duration) -> Bool { ask { hasLimitsAsMade($0) } }

    /// Whether the two bulkheads differ in nothing but their limit and queue size. An adaptive limit is the same only if
    /// all of its settings are.
    /// - Parameter other: The bulkhead with the new settings.
    public func canBeReconfigured(like other: Bulkhead) -> Bool {
        order == other.order && maxWait == other.maxWait && predictsWait == other.predictsWait
            && adaptiveLimit == other.adaptiveLimit && shedding == other.shedding
    }

    /// Takes over the limit and the queue size of another bulkhead, as ``setLimit(_:)`` and ``setQueue(_:)`` do. What an
    /// adaptive limit has learned stays.
    /// - Parameter other: The bulkhead with the new settings.
    /// - Returns: This bulkhead. nil, with nothing changed, if the two differ in more than limit and queue size, or
    ///   within [PolicySettings.checked(_:)](<doc:PolicySettings/checked(_:)>) if a setting was invalid.
    public func reconfigured(like other: Bulkhead) -> Self? {
        guard other !== self else { return self }
        guard SettingChecks.mayChange, canBeReconfigured(like: other) else { return nil }
        let made = other.ask { $0.made }
        if adaptiveLimit == nil { setLimit(made.limit) }
        setQueue(made.queue)
        ask { $0.made = made }
        return self
    }
}
