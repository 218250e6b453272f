extension Throttle {
    /// The settings of a ``Throttle`` as a value, which can be read from a file or a server:
    /// `{"limit": {"kind": "rate", "calls": 10, "periodSeconds": 1}}`.
    ///
    /// See <doc:ThrottleGuide> for what the settings do, and <doc:ConfigurationGuide> for files.
    public struct Settings: SettingsGroup {
        /// How many calls may go in which time.
        public var limit: ThrottleLimit
        /// How long a call may wait for its turn; 0 or more.
        public var maxWait: Duration
        /// How many calls may wait at the same time; 0 or more.
        public var queue: Int
        /// Whether a 429 holds all calls.
        public var holdOnThrottled: Bool
        /// How long the nth hold in a row is, if the other side names no wait; not `custom`.
        public var holdBackoff: Backoff
        /// The longest hold; 0 or more.
        public var maxHold: Duration
        /// When the first call probes during a hold whose wait the other side has named; 0 for never.
        public var earlyProbe: Duration
        /// How long after a hold calls are let in slowly; 0 or more.
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
