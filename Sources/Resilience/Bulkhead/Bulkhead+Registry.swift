extension Bulkhead: ConfigurablePolicy {
    /// Whether the limit and the queue size are the original ones.
    ///
    /// Calls inside do not prevent eviction: they came through another key that shares this bulkhead.
    /// - Parameter time: How long the bulkhead has not been used.
    public func canBeEvicted(unusedFor time: Duration) -> Bool {
        ask { hasLimitsAsMade($0) }
    }

    /// The settings that this bulkhead can't change while it runs: all but the limit and the queue's size.
    ///
    /// A bulkhead whose limit several processes share can't change any setting.
    ///
    /// - Parameter settings: The settings.
    public func inTheWay(of settings: Settings) -> [String] {
        Settings.schema.differences(self.settings, settings.settled, exceptLive: !isShared)
    }

    public func canBeReconfigured(like other: Bulkhead) -> Bool {
        !isShared && !other.isShared && inTheWay(of: other.settings).isEmpty
    }

    /// Takes over the limit and the queue's size, as ``setLimit(_:)`` and ``setQueue(_:)`` do.
    ///
    /// - Parameter settings: The settings.
    /// - Returns: The settings that this bulkhead can't change; if there are any, nothing has changed.
    @discardableResult public func apply(_ settings: Settings) -> [String] {
        let others = inTheWay(of: settings)
        guard others.isEmpty, !isShared, let settings = settings.allowed() else { return others }
        setLimit(settings.limit)
        setQueue(settings.queue)
        ask { $0.made = settings }
        return []
    }
}
