extension Bulkhead {
    /// The settings of a ``Bulkhead``, readable from a file or a server.
    ///
    /// ```swift
    /// let json = Data(#"{"limit": 16, "queue": 64, "maxWaitSeconds": 2}"#.utf8)
    /// let settings = try JSONDecoder().decode(
    ///     Bulkhead.Settings.self, from: json)
    /// let bulkhead = Bulkhead("search", settings: settings)
    /// ```
    ///
    /// See <doc:BulkheadGuide> for what the settings do, and <doc:ConfigurationGuide> for files.
    public struct Settings: SettingsGroup {
        /// How many calls may run at the same time; 1 or more, required.
        public var limit: Int
        /// How many calls may wait; 0 or more, 0 by default.
        public var queue: Int
        /// Which waiting call is next, and which is rejected when the queue is full; `firstInFirstOut` by default.
        public var order: Order
        /// The longest wait in the queue; 0 s or more, no limit by default.
        ///
        /// With 0 s no call waits.
        public var maxWait: Duration?
        /// Whether to reject a call at once if it would probably wait too long; true by default.
        public var predictsWait: Bool
        /// How waiting calls are rejected under overload; by default they are not.
        public var shedding: LoadShedding?

        /// Creates settings.
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

        public static let schema = SettingsSchema(
            "Bulkhead", standard: Settings(limit: 1),
            [
                SettingField("limit", \.limit, .atLeast(1), need: .required, isLive: true),
                SettingField("queue", \.queue, .atLeast(0), isLive: true),
                SettingField("order", \.order),
                SettingField("maxWaitSeconds", \.maxWait, .atLeast(0)),
                SettingField("predictsWait", \.predictsWait),
                SettingField("shedding", \.shedding),
            ])
    }
}
