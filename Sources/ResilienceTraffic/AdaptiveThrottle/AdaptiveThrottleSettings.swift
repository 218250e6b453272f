public import Resilience

extension AdaptiveThrottle {
    /// The settings of an ``AdaptiveThrottle`` as a value, which can be read from a file or a server:
    /// `{"multiplier": 1.5, "windowSeconds": 30}`.
    ///
    /// See <doc:AdaptiveThrottleGuide> for what the settings do.
    public struct Settings: SettingsGroup {
        /// The number of calls admitted per call that the service accepts, 1.1…100; by default 2.
        public var multiplier: Double
        /// The time over which calls are counted; above 0; by default 120 seconds.
        public var window: Duration
        /// How many calls the window must have before a call can be rejected; 1 or more; by default 10.
        public var minimumCalls: Int
        /// The largest share of calls that is rejected, 0…1; by default 0.9.
        public var maxRejection: Double
        /// The verdicts that mean that the service did not accept a call; neither success nor cancelled.
        ///
        /// By default `throttled`, `transient` and `uncertain`.
        public var failing: VerdictSet

        /// Creates settings.
        public init(
            multiplier: Double = 2, over window: Duration = .seconds(120), minimumCalls: Int = 10,
            maxRejection: Double = 0.9, failing: VerdictSet = [.throttled, .transient, .uncertain]
        ) {
            self.multiplier = multiplier
            self.window = window
            self.minimumCalls = minimumCalls
            self.maxRejection = maxRejection
            self.failing = failing
        }

        public static let schema = SettingsSchema(
            "AdaptiveThrottle", standard: Settings(),
            [
                SettingField("multiplier", \.multiplier, .within(1.1, 100), isLive: true),
                SettingField("windowSeconds", \.window, .above(0), isLive: true),
                SettingField("minimumCalls", \.minimumCalls, .atLeast(1), isLive: true),
                SettingField("maxRejection", \.maxRejection, .within(0, 1), isLive: true),
                SettingField("failing", \.failing, .failures, isLive: true),
            ])
    }
}
