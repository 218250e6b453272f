public import Resilience

/// A registry of chaos policies, one for each key.
public typealias ChaosRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, Chaos>

extension Chaos: RegistryEntry {
    /// Whether the policy can apply the settings of another chaos policy: always true.
    ///
    /// - Parameter other: The policy with the new settings.
    public func canBeReconfigured(like other: Chaos) -> Bool { true }

    /// Applies the injections, script, scope and limits of another chaos policy, but not its random generator.
    ///
    /// The counts stay. The switch stays, unless both policies come from a configuration and the new configuration
    /// names another time (``Settings/until``). An unchanged script continues where it is.
    ///
    /// - Parameter other: The policy with the new settings.
    /// - Returns: This policy. nil, with nothing changed, within
    ///   `PolicySettings.checked(_:)` if a setting was invalid.
    public func reconfigured(like other: Chaos) -> Self? {
        guard other !== self else { return self }
        guard SettingChecks.mayChange else { return nil }
        take(over: other.terms)
        return self
    }
}
