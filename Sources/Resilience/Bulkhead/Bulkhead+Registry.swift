/// A registry of bulkheads, one for each key.
public typealias BulkheadRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, Bulkhead>

extension Bulkhead: ConfigurablePolicy {
    /// Whether the limit and the queue size are those that the bulkhead was made with, and what an adaptive limit has learned
    /// is a minute old.
    ///
    /// Calls inside do not prevent eviction: they came through another key that shares this bulkhead.
    /// - Parameter time: How long the bulkhead has not been used.
    public func canBeEvicted(unusedFor time: Duration) -> Bool {
        (time >= .seconds(60) || knowsNoLimit) && ask { hasLimitsAsMade($0) }
    }

    /// The settings that this bulkhead can't take over while it runs: all but the limit and the queue's size, and that an
    /// adaptive limit begins with. One whose limit several processes have together takes over none.
    /// - Parameter settings: The settings.
    public func inTheWay(of settings: Settings) -> [String] {
        var (own, other) = (self.settings, settings.settled)
        own.adaptiveLimit?.initial = 1
        other.adaptiveLimit?.initial = 1
        return Settings.schema.differences(own, other, exceptLive: !isShared)
    }

    public func canBeReconfigured(like other: Bulkhead) -> Bool {
        !isShared && !other.isShared && inTheWay(of: other.settings).isEmpty
    }

    /// Takes over the limit and the queue's size, as ``setLimit(_:)`` and ``setQueue(_:)`` do. Of an adaptive limit what it has
    /// learned stays, and its initial one with that.
    /// - Parameter settings: The settings.
    /// - Returns: What stands in the way; nothing has changed then.
    @discardableResult public func apply(_ settings: Settings) -> [String] {
        let others = inTheWay(of: settings)
        guard others.isEmpty, !isShared, let settings = settings.allowed() else { return others }
        if adaptiveLimit == nil { setLimit(settings.limit) }
        setQueue(settings.queue)
        ask {
            $0.made = settings
            $0.isSetByHand = false
        }
        return []
    }
}
