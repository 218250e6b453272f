/// A policy with settings that can be changed while it runs.
///
/// Conform a policy of your own to it: then registries and ``Pipeline/reconfigured(like:)`` change its settings.
public protocol ConfigurablePolicy: AnyObject, Policy, RegistryEntry {
    /// The settings.
    associatedtype Settings: SettingsGroup

    /// The original settings, or the latest ones applied.
    var settings: Settings { get }

    /// The names of the settings that differ and can't change while the policy runs.
    ///
    /// By default, the settings that are not live.
    ///
    /// - Parameter settings: The other settings.
    func inTheWay(of settings: Settings) -> [String]

    /// Applies other settings.
    ///
    /// Invalid settings trap, or, inside of [PolicySettings.checked(_:)](<doc:PolicySettings/checked(_:)>), change
    /// nothing.
    ///
    /// - Parameter settings: The settings.
    /// - Returns: The names of the settings that can't change: then nothing has changed. Empty if the settings were
    ///   applied.
    @discardableResult func apply(_ settings: Settings) -> [String]
}

extension ConfigurablePolicy {
    public func inTheWay(of settings: Settings) -> [String] {
        self.settings.differences(from: settings)
    }

    public func canBeReconfigured(like other: Self) -> Bool { inTheWay(of: other.settings).isEmpty }

    /// Takes over the settings of another policy.
    ///
    /// - Parameter other: The policy with the new settings.
    /// - Returns: This policy. nil, with nothing changed, if a setting that differs can't change, or if within
    ///   `PolicySettings.checked(_:)` a setting was invalid.
    public func reconfigured(like other: Self) -> Self? {
        guard other !== self else { return self }
        guard SettingChecks.mayChange, canBeReconfigured(like: other), apply(other.settings).isEmpty else { return nil }
        return self
    }
}
