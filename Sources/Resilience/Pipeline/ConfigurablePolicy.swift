/// A policy with settings that can be changed while it runs.
///
/// Conform to it with a policy of your own: then registries and ``Pipeline/reconfigured(like:)`` change its settings.
public protocol ConfigurablePolicy: AnyObject, Policy, RegistryEntry {
    /// All that is set.
    associatedtype Settings: SettingsGroup

    /// The settings that it was made with, or has taken over since.
    var settings: Settings { get }

    /// The names of the settings that would keep it from taking over others while it runs. By default, those that are
    /// not live.
    /// - Parameter settings: The other settings.
    func inTheWay(of settings: Settings) -> [String]

    /// Takes over other settings. If they are invalid it traps, or, inside of
    /// [PolicySettings.checked(_:)](<doc:PolicySettings/checked(_:)>), does nothing.
    /// - Parameter settings: The settings.
    /// - Returns: What stands in the way; nothing has changed then. Empty if it has taken them over.
    @discardableResult func apply(_ settings: Settings) -> [String]
}

extension ConfigurablePolicy {
    public func inTheWay(of settings: Settings) -> [String] {
        self.settings.differences(from: settings)
    }

    public func canBeReconfigured(like other: Self) -> Bool { inTheWay(of: other.settings).isEmpty }

    /// Takes over the settings of another policy.
    /// - Parameter other: The policy with the new settings.
    /// - Returns: This policy. nil, with nothing changed, if something stands in the way, or within
    ///   `PolicySettings.checked(_:)` if a setting was invalid.
    public func reconfigured(like other: Self) -> Self? {
        guard other !== self else { return self }
        guard SettingChecks.mayChange, canBeReconfigured(like: other), apply(other.settings).isEmpty else { return nil }
        return self
    }
}
