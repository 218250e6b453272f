public import Resilience

/// A registry of hedges, one for each key.
public typealias HedgeRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, Hedge>

extension Hedge: ConfigurablePolicy {
    /// Whether nothing of the hedge's own budget is used up.
    ///
    /// Latencies that were unused for that time may be lost.
    ///
    /// - Parameter time: How long the hedge has not been used.
    public func canBeEvicted(unusedFor time: Duration) -> Bool {
        let terms = terms
        return !terms.ownsBudget || terms.budget.isAtRest
    }

    /// Whether the hedge can apply the settings of another hedge.
    ///
    /// It can't if the new budget measures time, but the present budget measures none or has another time base.
    ///
    /// - Parameter other: The hedge with the new settings.
    public func canBeReconfigured(like other: Hedge) -> Bool {
        let (old, new) = (terms, other.terms)
        return old.ownsBudget && new.ownsBudget || new.budget.timeBase == nil
            || new.budget.timeBase === old.budget.timeBase
    }

    /// Applies the settings of another hedge, and its budget if it was made with one.
    ///
    /// The latencies are kept unless the new delay is not a percentile.
    ///
    /// - Parameter other: The hedge with the new settings.
    /// - Returns: This hedge. nil, with nothing changed, if the budget has another time base, or within
    ///   `PolicySettings.checked(_:)` if a setting was invalid.
    public func reconfigured(like other: Hedge) -> Self? {
        guard other !== self else { return self }
        guard SettingChecks.mayChange, canBeReconfigured(like: other) else { return nil }
        change(to: other.terms)
        return self
    }

    /// Applies all settings.
    ///
    /// The latencies are kept unless the new delay is not a percentile.
    ///
    /// - Parameter settings: The settings.
    /// - Returns: The settings that can't be applied; if there are any, nothing has changed.
    @discardableResult public func apply(_ settings: Settings) -> [String] {
        guard let settings = settings.allowed() else { return [] }
        let terms = terms
        change(to: HedgeTerms(settings: settings, budget: terms.budget, ownsBudget: terms.ownsBudget))
        return []
    }
}
