/// One setting of a group, in its ``SettingsSchema``.
public struct SettingField<Settings>: Sendable {
    let facts: SettingFacts
    let read: @Sendable (inout Settings, SettingValue, inout SettingCheck) -> Void
    let check: @Sendable (inout Settings, _ valid: Settings, inout SettingCheck) -> Void
    let write: @Sendable (Settings) throws -> SettingValue?
    let isSame: @Sendable (Settings, Settings) -> Bool

    /// Describes a setting.
    ///
    /// - Parameters:
    ///   - name: Its name in a file. The name of a duration ends with "Seconds".
    ///   - path: Where the setting is in the settings. The default of an optional setting is nil, which is not written.
    ///   - range: The allowed values.
    ///   - need: Whether the setting must be given. If not, its default is the value in the schema's standard settings.
    ///   - isLive: Whether a policy can take over a new value while it runs.
    @_semantics("optimize.sil.specialize.generic.never")
    public init<Value: SettingConvertible>(
        _ name: String, _ path: any WritableKeyPath<Settings, Value> & Sendable, _ range: SettingRange = .any,
        need: SettingNeed = .defaulted, isLive: Bool = false
    ) {
        facts = SettingFacts(name: name, type: Value.settingType, range: range, need: need, isLive: isLive)
        read = { settings, value, check in
            let found = check.problems.count
            guard var own = Value.read(value, &check) else { return }
            if check.problems.count == found { own.check(range, &check) }
            settings[keyPath: path] = own
        }
        self.check = { settings, valid, check in
            let found = check.problems.count
            settings[keyPath: path].check(range, &check)
            if check.problems.count > found { settings[keyPath: path] = valid[keyPath: path] }
        }
        write = { try $0[keyPath: path].written() }
        isSame = { $0[keyPath: path] == $1[keyPath: path] }
    }

    /// Describes the list of a pipeline's policies. The schema's `finish` applies that list.
    init(policies names: [String], _ policies: @escaping @Sendable (Settings) -> [String]) {
        facts = SettingFacts(
            name: "policies", type: .list(.choice(names)), range: .any,
            need: .conditional("must be given if no policy has settings"), isLive: false)
        read = { _, value, check in
            for (index, name) in ([String].read(value, &check) ?? []).enumerated() where !names.contains(name) {
                check.note("\(index)", name.debugDescription, "must be one of \(names.joined(separator: ", "))")
            }
        }
        check = { _, _, _ in }
        write = { .list(policies($0).map { .text($0) }) }
        isSame = { policies($0) == policies($1) }
    }
}

/// Whether a setting must be given.
public enum SettingNeed: Sendable, Hashable {
    /// It has a default.
    case defaulted
    /// It has no default.
    case required
    /// The schema's `finish` decides whether it must be given, or what its default is: the text states the rule.
    case conditional(String)
}

/// The facts about a setting, without its values.
package struct SettingFacts: Sendable {
    package let name: String
    package let type: SettingType
    package let range: SettingRange
    package let need: SettingNeed
    package let isLive: Bool
}
