public import Resilience

extension Hedge {
    /// The settings of a ``Hedge`` as a value, which can be read from a file or a server:
    /// `{"delay": {"kind": "constant", "delaySeconds": 0.2}}`.
    ///
    /// See <doc:HedgeGuide> for what the settings do.
    public struct Settings: SettingsGroup {
        /// How long the hedge waits for a copy before it begins the next copy; by default `percentile()`.
        public var delay: HedgeDelay
        /// The largest number of copies after the first, 0…10; by default 1.
        public var maxHedges: Int
        /// The failures of a copy after which the next copy begins at once; by default `transient` and `uncertain`;
        /// success and cancelled are never among them.
        public var verdicts: VerdictSet

        /// Creates settings.
        public init(
            after delay: HedgeDelay = .percentile(), maxHedges: Int = 1,
            on verdicts: VerdictSet = [.transient, .uncertain]
        ) {
            self.delay = delay
            self.maxHedges = maxHedges
            self.verdicts = verdicts
        }

        public static let schema = SettingsSchema(
            "Hedge", standard: Settings(),
            [
                SettingField("delay", \.delay, isLive: true),
                SettingField("maxHedges", \.maxHedges, .within(0, 10), isLive: true),
                SettingField("verdicts", \.verdicts, .failures, isLive: true),
            ])
    }
}

/// The settings and budget of a ``Hedge``. A class, so that each call takes one reference.
final class HedgeTerms: Sendable {
    let settings: Hedge.Settings
    let budget: RetryBudget
    /// Whether the hedge made the budget itself.
    let ownsBudget: Bool

    init(settings: Hedge.Settings, budget: RetryBudget, ownsBudget: Bool) {
        self.settings = settings
        self.budget = budget
        self.ownsBudget = ownsBudget
    }
}
