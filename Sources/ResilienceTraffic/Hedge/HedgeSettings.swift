public import Resilience

extension Hedge {
    /// The settings of a ``Hedge`` as a value, which can be read from a file or a server:
    /// `{"delay": {"kind": "constant", "delaySeconds": 0.2}}`.
    ///
    /// See <doc:HedgeGuide> for what the settings do.
    public struct Settings: SettingsGroup {
        /// How long the hedge waits for a copy before it begins the next one.
        public var delay: HedgeDelay
        /// How many copies may follow the first, 0…10.
        public var maxHedges: Int
        /// The failures of a copy after which the next one begins at once; neither success nor cancelled.
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

/// What a ``Hedge`` goes by. A class, so that each call takes one reference.
final class HedgeTerms: Sendable {
    let settings: Hedge.Settings
    let budget: RetryBudget
    /// Whether the hedge has made the budget for itself.
    let ownsBudget: Bool

    init(settings: Hedge.Settings, budget: RetryBudget, ownsBudget: Bool) {
        self.settings = settings
        self.budget = budget
        self.ownsBudget = ownsBudget
    }
}
