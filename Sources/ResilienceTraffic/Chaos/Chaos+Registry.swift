public import Resilience

/// A registry of chaos policies, one for each key.
public typealias ChaosRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, Chaos>

extension Chaos: RegistryEntry {
    /// Whether the policy can take over the settings of another one: always.
    /// - Parameter other: The policy with the new settings.
    public func canBeReconfigured(like other: Chaos) -> Bool { true }

    /// Applies the injections, the script, the scope and the limits of another chaos policy, but not its source of
    /// chance. The counts stay, and so does the switch, unless both come from a configuration and the new one names
    /// another time (``Settings/until``). An unchanged script goes on where it is.
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
