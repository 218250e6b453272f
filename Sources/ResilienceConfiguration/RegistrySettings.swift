#if Configuration
    internal import Resilience

    /// The settings of a registry, as read from a configuration.
    struct RegistryTree: Sendable, Hashable {
        struct Override: Sendable, Hashable {
            let name: String
            let key: SettingTree?
            let settings: SettingTree?
        }

        let standard: SettingTree?
        /// The list of the overrides' names; nil if there is none.
        let names: SettingTree?
        let overrides: [Override]

        init(_ lookup: SettingLookup, of kind: any PipelineSettings.Type, at path: [String]) {
            standard = lookup.group(kind, at: path + ["default"])
            names = lookup.names(at: path + ["overrideNames"])
            guard let listed = names?.texts else {
                overrides = []
                return
            }
            var seen: Set<String> = []
            overrides = listed.filter { seen.insert($0).inserted }.map { name in
                let path = path + ["overrides", name]
                return Override(
                    name: name, key: lookup.text(at: path + ["key"]),
                    settings: lookup.group(kind, at: path))
            }
        }
    }

    extension RegistryTree {
        /// The settings of a key, and the name of its override; nil if it has none.
        private func settings(of key: String) -> (settings: SettingTree?, own: String?) {
            let override = overrides.first { ($0.key.map { $0 == .text(key) } ?? ($0.name == key)) }
            guard let override, let own = override.settings else { return (standard, nil) }
            return (standard.map { $0.overridden(by: own, levels: 2) } ?? own, override.name)
        }

        /// The settings that these keys can't take over while they run.
        func changes(
            from old: RegistryTree, of kind: any PipelineSettings.Type, at path: [String], for keys: [String],
            on timeBase: any TimeBase
        ) -> [SettingChange] {
            var found: [SettingChange] = []
            var hasStandard = false
            for key in keys.sorted() {
                let (before, after) = (old.settings(of: key), settings(of: key))
                let own = after.own ?? before.own
                // All keys without an override have the same settings.
                if own == nil, hasStandard { continue }
                hasStandard = hasStandard || own == nil
                let place = path + (own.map { ["overrides", $0] } ?? ["default"])
                found += SettingChange.inTheWay(
                    from: before.settings, to: after.settings, of: kind, at: place, on: timeBase
                ) {
                    $0.canBeReconfigured(like: $1)
                }
            }
            return found.reduce(into: []) { all, change in if !all.contains(change) { all.append(change) } }
        }
    }

    /// The settings of a registry's keys, all of them valid.
    struct RegistrySettings<Settings: PipelineSettings>: Sendable {
        let standard: Settings
        let overrides: [String: Settings]

        subscript(key: String) -> Settings { overrides[key] ?? standard }

        /// - Throws: Everything that is invalid.
        init(_ tree: RegistryTree, at path: [String]) throws(InvalidSettings) {
            var problems: [InvalidSetting] = []
            func note(_ names: [String], _ value: String, _ requirement: String) {
                problems.append(
                    InvalidSetting(
                        subject: "Registry", parameter: (path + names).joined(separator: "."), value: value,
                        requirement: requirement))
            }
            func configuration(_ tree: SettingTree?, _ names: [String]) -> Settings? {
                do {
                    return try Settings(tree, at: path + names)
                } catch {
                    problems += error.problems
                    return nil
                }
            }
            let standard = configuration(tree.standard, ["default"])
            if let names = tree.names, names.texts == nil {
                note(["overrideNames"], names.shown, "must be a list of names")
            }
            var overrides: [String: Settings] = [:]
            var names: [String: String] = [:]
            for override in tree.overrides {
                let own = ["overrides", override.name]
                let key: String
                switch override.key {
                case nil: key = override.name
                case .text(let text): key = text
                case .some(let other):
                    note(own + ["key"], other.shown, "must be a text")
                    continue
                }
                if let other = names[key] {
                    note(own + ["key"], key.debugDescription, "must not also be the key of \(other.debugDescription)")
                    continue
                }
                names[key] = override.name
                guard let settings = override.settings else {
                    note(own, "missing", "must be given, since overrideNames lists it")
                    continue
                }
                // An invalid default is reported once.
                guard let standardTree = tree.standard, standard != nil else { continue }
                overrides[key] = configuration(standardTree.overridden(by: settings, levels: 2), own)
            }
            guard let standard, problems.isEmpty else { throw InvalidSettings(problems: problems) }
            self.standard = standard
            self.overrides = overrides
        }
    }
#endif
