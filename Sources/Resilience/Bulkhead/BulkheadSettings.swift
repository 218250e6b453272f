extension Bulkhead {
    /// The settings of a ``Bulkhead`` as a value, which can be read from a file or a server.
    ///
    /// ```swift
    /// let json = Data(#"{"limit": 16, "queue": 64, "maxWaitSeconds": 2}"#.utf8)
    /// let settings = try JSONDecoder().decode(
    ///     Bulkhead.Settings.self, from: json)
    /// let bulkhead = Bulkhead("search", settings: settings)
    /// ```
    ///
    /// A limit that adapts is one of
    ///
    /// ```
    /// {"kind": "gradient", "lowest": 1, "highest": 200, "tolerance": 0.1}
    /// {"kind": "vegas", "leastQueue": 0.03, "mostQueue": 0.08}
    /// {"kind": "aimd", "increase": 1, "decrease": 0.9}
    /// ```
    ///
    /// each with `windowSeconds`, `slowAfterSeconds` and `verdicts`, too; or `{"kind": "fixed"}`, which is the same as none.
    /// A limit with an algorithm of your own can't be encoded.
    ///
    /// See <doc:BulkheadGuide> for what the settings do, and <doc:ConfigurationGuide> for files.
    public struct Settings: SettingsGroup {
        /// How many calls may run at the same time; 1 or more. With an ``adaptiveLimit``, as long as nothing is known.
        public var limit: Int
        /// How the bulkhead finds its limit by itself; nil if the limit is fixed.
        public var adaptiveLimit: AdaptiveLimit?
        /// How many calls may wait; 0 or more.
        public var queue: Int
        /// Which waiting call is next, and which is rejected when the queue is full.
        public var order: Order
        /// The longest wait in the queue; 0 or more. nil is no limit; with 0 no call waits.
        public var maxWait: Duration?
        /// Whether to reject a call at once if it would probably wait for too long.
        public var predictsWait: Bool
        /// How waiting calls are rejected under overload; nil if they are not.
        public var shedding: LoadShedding?

        /// Creates settings with a fixed limit.
        public init(
            limit: Int, queue: Int = 0, order: Order = .firstInFirstOut, maxWait: Duration? = nil,
            predictsWait: Bool = true, shedding: LoadShedding? = nil
        ) {
            self.limit = limit
            self.queue = queue
            self.order = order
            self.maxWait = maxWait
            self.predictsWait = predictsWait
            self.shedding = shedding
        }

        /// Creates settings of a bulkhead that finds its limit by itself.
        public init(
            adaptiveLimit: AdaptiveLimit, queue: Int = 0, order: Order = .firstInFirstOut, maxWait: Duration? = nil,
            predictsWait: Bool = true, shedding: LoadShedding? = nil
        ) {
            self.init(
                limit: adaptiveLimit.initial, queue: queue, order: order, maxWait: maxWait, predictsWait: predictsWait,
                shedding: shedding)
            self.adaptiveLimit = adaptiveLimit
        }

        public static let schema = SettingsSchema(
            "Bulkhead", standard: Settings(limit: 1),
            [
                SettingField(
                    "limit", \.limit, .atLeast(1), need: .conditional("must be given without `adaptiveLimit`"),
                    isLive: true),
                SettingField("adaptiveLimit", \.adaptiveLimit),
                SettingField("queue", \.queue, .atLeast(0), isLive: true),
                SettingField("order", \.order),
                SettingField("maxWaitSeconds", \.maxWait, .atLeast(0)),
                SettingField("predictsWait", \.predictsWait),
                SettingField("shedding", \.shedding),
            ]
        ) { settings, given in
            guard given.areSound("limit", "adaptiveLimit") else { return }
            guard let adaptive = settings.adaptiveLimit else {
                if !given.has("limit") { given.noteMissing("limit") }
                return
            }
            if !given.has("limit") {
                settings.limit = adaptive.initial
            } else if adaptive.range.contains(settings.limit) {
                settings.adaptiveLimit?.initial = settings.limit
            } else {
                given.note("limit", "\(settings.limit)", "must lie in \(adaptive.range), as adaptiveLimit says")
            }
        }
    }
}
