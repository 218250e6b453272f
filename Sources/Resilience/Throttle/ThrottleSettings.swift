extension Throttle {
    /// The settings of a ``Throttle``, readable from a file or a server: `{"limit": {"kind": "rate", "calls": 10,
    /// "periodSeconds": 1}}`.
    ///
    /// See <doc:ThrottleGuide> for what the settings do, and <doc:ConfigurationGuide> for files.
    public struct Settings: SettingsGroup {
        /// How many calls may go in a period, and how they are counted; required.
        public var limit: ThrottleLimit
        /// How long a call may wait for its turn; 0 s or more, 0 s by default.
        public var maxWait: Duration
        /// How many calls may wait at the same time; 0 or more, 10 000 by default.
        public var queue: Int
        /// Whether a 429 holds all calls; false by default.
        public var holdOnThrottled: Bool
        /// How long the nth hold in a row lasts if a 429 names no wait; by default exponential from 1 s to 60 s;
        /// `custom` is not allowed.
        public var holdBackoff: Backoff
        /// The longest hold; 0 s or more, 3600 s by default.
        public var maxHold: Duration
        /// The time from the start of a hold to its first early probe, if the 429 named a wait; 0 s or more, 300 s by
        /// default; with 0 s there is no early probe.
        public var earlyProbe: Duration
        /// How long calls are admitted at a reduced rate after a hold; 0 s or more, 0 s by default.
        public var ramp: Duration

        /// Creates settings.
        public init(
            limit: ThrottleLimit, maxWait: Duration = .zero, queue: Int = 10_000, holdOnThrottled: Bool = false,
            holdBackoff: Backoff = .exponential(from: .seconds(1), cap: .seconds(60), jitter: .none),
            maxHold: Duration = .seconds(3600), earlyProbe: Duration = .seconds(300), ramp: Duration = .zero
        ) {
            self.limit = limit
            self.maxWait = maxWait
            self.queue = queue
            self.holdOnThrottled = holdOnThrottled
            self.holdBackoff = holdBackoff
            self.maxHold = maxHold
            self.earlyProbe = earlyProbe
            self.ramp = ramp
        }

        public static let schema = SettingsSchema(
            "Throttle", standard: Settings(limit: .unlimited),
            [
                SettingField("limit", \.limit, need: .required, isLive: true),
                SettingField("maxWaitSeconds", \.maxWait, .atLeast(0)),
                SettingField("queue", \.queue, .atLeast(0)),
                SettingField("holdOnThrottled", \.holdOnThrottled),
                SettingField("holdBackoff", \.holdBackoff),
                SettingField("maxHoldSeconds", \.maxHold, .atLeast(0)),
                SettingField("earlyProbeSeconds", \.earlyProbe, .atLeast(0)),
                SettingField("rampSeconds", \.ramp, .atLeast(0)),
            ]
        ) { settings, given in
            guard settings.holdBackoff.isCustom else { return }
            given.note(
                "holdBackoff", "\(settings.holdBackoff)",
                "must not be custom, since it is asked under the throttle's lock")
        }
    }
}
