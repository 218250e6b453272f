public import Resilience

extension AdaptiveBulkhead {
    /// The settings of an ``AdaptiveBulkhead`` as a value, which can be read from a file or a server:
    /// `{"limit": {"kind": "gradient", "lowest": 1, "highest": 200}, "queue": 64, "maxWaitSeconds": 1}`.
    ///
    /// The limit has one of these kinds:
    ///
    /// ```
    /// {"kind": "gradient", "tolerance": 0.1}
    /// {"kind": "vegas", "leastQueue": 0.03, "mostQueue": 0.08}
    /// {"kind": "aimd", "increase": 1, "decrease": 0.9}
    /// ```
    ///
    /// Each kind also has `initial`, `lowest`, `highest`, `windowSeconds`, `slowAfterSeconds` and `verdicts`. A limit
    /// with an algorithm of your own can't be encoded.
    public struct Settings: SettingsGroup {
        /// The rule that finds the limit; by default `gradient`.
        public var limit: AdaptiveLimit
        /// The largest number of waiting calls, 0 or more; by default 0.
        public var queue: Int
        /// Which waiting call is next, and which is rejected when the queue is full; by default `firstInFirstOut`.
        public var order: Bulkhead.Order
        /// The longest wait in the queue, 0 or more; nil, the default, for no limit.
        ///
        /// With 0, no call waits.
        public var maxWait: Duration?
        /// Whether to reject a call at once if it would probably wait too long; by default true.
        public var predictsWait: Bool
        /// The rule that rejects waiting calls under overload; by default there is none.
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

/// A registry of adaptive bulkheads, one for each key.
public typealias AdaptiveBulkheadRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, AdaptiveBulkhead>

extension AdaptiveBulkhead: ConfigurablePolicy {
    private var knowsNoLimit: Bool { adapter.permits == settings.limit.initial }

    /// Whether no call is inside, the limit and the queue's size are the initial ones, and neither was set by hand:
    /// evicting it would lose nothing.
    public var isAtRest: Bool { bulkhead.inUse == 0 && hasQueueAsMade && knowsNoLimit }

    private var hasQueueAsMade: Bool {
        let queue = bulkhead.status.queueLimit
        return state.withLock { !$0.isSetByHand && $0.made.queue == queue }
    }

    /// Whether nothing was set by hand, and the bulkhead was unused for a minute or has learned no limit.
    ///
    /// Calls inside do not prevent eviction: they came through another key that shares this bulkhead.
    /// - Parameter time: How long the bulkhead has not been used.
    public func canBeEvicted(unusedFor time: Duration) -> Bool {
        (time >= .seconds(60) || knowsNoLimit) && hasQueueAsMade
    }

    /// The changed settings that this bulkhead can't apply while it runs: all but the queue's size and the initial
    /// limit.
    ///
    /// - Parameter settings: The settings.
    public func inTheWay(of settings: Settings) -> [String] {
        var (own, other) = (self.settings, settings)
        (own.limit.initial, other.limit.initial) = (own.limit.range.lowerBound, other.limit.range.lowerBound)
        return own.differences(from: other)
    }

    /// Applies the queue's size, as ``setQueue(_:)`` does.
    ///
    /// The learned limit stays.
    ///
    /// - Parameter settings: The settings.
    /// - Returns: The settings that can't be applied; if there are any, nothing has changed.
    @discardableResult public func apply(_ settings: Settings) -> [String] {
        let others = inTheWay(of: settings)
        guard others.isEmpty, let settings = settings.allowed() else { return others }
        bulkhead.setQueue(settings.queue)
        state.withLock { $0 = State(made: settings) }
        return []
    }
}
