public import Resilience

extension AdaptiveBulkhead {
    /// The settings of an ``AdaptiveBulkhead`` as a value, which can be read from a file or a server:
    /// `{"limit": {"kind": "gradient", "lowest": 1, "highest": 200}, "queue": 64, "maxWaitSeconds": 1}`.
    ///
    /// The limit is one of
    ///
    /// ```
    /// {"kind": "gradient", "tolerance": 0.1}
    /// {"kind": "vegas", "leastQueue": 0.03, "mostQueue": 0.08}
    /// {"kind": "aimd", "increase": 1, "decrease": 0.9}
    /// ```
    ///
    /// each with `initial`, `lowest`, `highest`, `windowSeconds`, `slowAfterSeconds` and `verdicts`, too. One with an
    /// algorithm of your own can't be encoded.
    public struct Settings: SettingsGroup {
        /// How the bulkhead finds its limit.
        public var limit: AdaptiveLimit
        /// How many calls may wait; 0 or more.
        public var queue: Int
        /// Which waiting call is next, and which is rejected when the queue is full.
        public var order: Bulkhead.Order
        /// The longest wait in the queue; 0 or more. nil is no limit; with 0 no call waits.
        public var maxWait: Duration?
        /// Whether to reject a call at once if it would probably wait for too long.
        public var predictsWait: Bool
        /// How waiting calls are rejected under overload; nil if they are not.
        public var shedding: LoadShedding?

        /// Creates settings.
        public init(
            limit: AdaptiveLimit = .gradient(), queue: Int = 0, order: Bulkhead.Order = .firstInFirstOut,
            maxWait: Duration? = nil, predictsWait: Bool = true, shedding: LoadShedding? = nil
        ) {
            self.limit = limit
            self.queue = queue
            self.order = order
            self.maxWait = maxWait
            self.predictsWait = predictsWait
            self.shedding = shedding
        }

        var ofBulkhead: Bulkhead.Settings {
            Bulkhead.Settings(
                limit: limit.initial, queue: queue, order: order, maxWait: maxWait, predictsWait: predictsWait,
                shedding: shedding)
        }

        public static let schema = SettingsSchema(
            "AdaptiveBulkhead", standard: Settings(limit: AdaptiveLimit.standard),
            [
                SettingField("limit", \.limit),
                SettingField("queue", \.queue, .atLeast(0), isLive: true),
                SettingField("order", \.order),
                SettingField("maxWaitSeconds", \.maxWait, .atLeast(0)),
                SettingField("predictsWait", \.predictsWait),
                SettingField("shedding", \.shedding),
            ])
    }
}

/// A registry of bulkheads that find their limits, one for each key.
public typealias AdaptiveBulkheadRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, AdaptiveBulkhead>

extension AdaptiveBulkhead: ConfigurablePolicy {
    private var knowsNoLimit: Bool { adapter.permits == settings.limit.initial }

    /// Whether no call is inside, the limits are those that the bulkhead was made with, and none was set by hand: evicting it
    /// would lose nothing.
    public var isAtRest: Bool { bulkhead.inUse == 0 && hasQueueAsMade && knowsNoLimit }

    private var hasQueueAsMade: Bool {
        let queue = bulkhead.status.queueLimit
        return state.withLock { !$0.isSetByHand && $0.made.queue == queue }
    }

    /// Whether what was learned is a minute old, and nothing was set by hand.
    ///
    /// Calls inside do not prevent eviction: they came through another key that shares this bulkhead.
    /// - Parameter time: How long the bulkhead has not been used.
    public func canBeEvicted(unusedFor time: Duration) -> Bool {
        (time >= .seconds(60) || knowsNoLimit) && hasQueueAsMade
    }

    /// The settings that this bulkhead can't take over while it runs: all but the queue's size, and the limit that it begins
    /// with.
    /// - Parameter settings: The settings.
    public func inTheWay(of settings: Settings) -> [String] {
        var (own, other) = (self.settings, settings)
        (own.limit.initial, other.limit.initial) = (own.limit.range.lowerBound, other.limit.range.lowerBound)
        return own.differences(from: other)
    }

    /// Takes over the queue's size, as ``setQueue(_:)`` does. What was learned stays.
    /// - Parameter settings: The settings.
    /// - Returns: What stands in the way; nothing has changed then.
    @discardableResult public func apply(_ settings: Settings) -> [String] {
        let others = inTheWay(of: settings)
        guard others.isEmpty, let settings = settings.allowed() else { return others }
        bulkhead.setQueue(settings.queue)
        state.withLock { $0 = State(made: settings) }
        return []
    }
}
