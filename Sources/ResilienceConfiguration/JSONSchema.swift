#if Configuration
    public import Resilience

    extension SettingsGroup {
        /// Returns a JSON Schema (draft 2020-12) of a file of these settings: with its names, types, ranges and
        /// defaults, an editor completes and checks the file.
        ///
        /// Rules that relate several settings are not in the schema: they are checked when the file is read.
        ///
        /// - Parameter description: Returns the purpose of a setting, by the names of the group and the setting; nil,
        ///   the default, for none.
        /// - Returns: The schema, to be encoded as JSON.
        public static func jsonSchema(
            describing description: @escaping (_ group: String, _ setting: String) -> String? = { _, _ in nil }
        ) -> SettingValue {
            var writer = JSONSchemaWriter(isOfFile: false, describe: description)
            let root = writer.reference(to: Self.self)
            return writer.schema(root)
        }
    }

    extension ConfiguredPipelinesOf {
        /// Returns a JSON Schema (draft 2020-12) of a file of pipelines and registries.
        ///
        /// The file may contain any other members beside `resilience`.
        ///
        /// - Parameter description: See `SettingsGroup.jsonSchema(describing:)`.
        /// - Returns: The schema, to be encoded as JSON.
        public static func jsonSchema(
            describing description: @escaping (_ group: String, _ setting: String) -> String? = { _, _ in nil }
        ) -> SettingValue {
            var writer = JSONSchemaWriter(isOfFile: true, describe: description)
            let pipeline = writer.reference(to: Settings.self)
            let registry = SettingValue.object(
                [
                    "default": pipeline, "overrideNames": .list(of: .type("string")),
                    "overrides": .object(ofAll: writer.override(of: Settings.self)),
                ], required: ["default"])
            let settings = ["pipelines": SettingValue.object(ofAll: pipeline), "registries": .object(ofAll: registry)]
            return writer.schema(.type("object", ["properties": .group(["resilience": .object(settings)])]))
        }
    }

    /// Writes schemas as a JSON Schema.
    private struct JSONSchemaWriter {
        /// Whether swift-configuration reads the file: then it can't contain lists of objects.
        let isOfFile: Bool
        let describe: (_ group: String, _ setting: String) -> String?
        var definitions: [String: SettingValue] = [:]
        /// The names of the definitions. Other modules' groups may have the same subject.
        var names: [ObjectIdentifier: String] = [:]

        /// The schema of a whole file, with all referenced definitions.
        func schema(_ root: SettingValue) -> SettingValue {
            root.with([
                "$schema": .text("https://json-schema.org/draft/2020-12/schema"), "$defs": .group(definitions),
            ])
        }

        mutating func reference(to group: any SettingsGroup.Type) -> SettingValue {
            let name = names[ObjectIdentifier(group)] ?? addDefinition(of: group)
            return .group(["$ref": .text("#/$defs/\(name)")])
        }

        private mutating func addDefinition(of group: any SettingsGroup.Type) -> String {
            let subject = String(
                group.subject.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == ".") ? $0 : "_" })
            var (name, number) = (subject, 1)
            while definitions[name] != nil {
                number += 1
                name = "\(subject)\(number)"
            }
            names[ObjectIdentifier(group)] = name
            // Reserved before the definition is made: a rule can contain rules.
            definitions[name] = .null
            definitions[name] = definition(of: group)
            return name
        }

        /// The schema of a registry's override: single settings of each policy.
        mutating func override(of kind: any PipelineSettings.Type) -> SettingValue {
            var members = ["key": SettingValue.type("string")]
            for setting in kind.facts {
                if case .group(let policy) = setting.type {
                    members[setting.name] = definition(of: policy, isComplete: false)
                } else {
                    members[setting.name] = value(of: setting.type, setting.range)
                }
            }
            return .object(members)
        }

        private mutating func definition(of group: any SettingsGroup.Type, isComplete: Bool = true) -> SettingValue {
            let kinds = group.forms.map { form in
                var members = form.kind.map { ["kind": SettingValue.group(["const": .text($0)])] } ?? [:]
                for setting in form.facts { members[setting.name] = property(setting, of: group, form) }
                let required = form.facts.filter { $0.need == .required }.map(\.name)
                return SettingValue.object(
                    members, required: isComplete ? (form.kind == nil ? [] : ["kind"]) + required : [])
            }
            return kinds.count == 1 ? kinds[0] : .group(["oneOf": .list(kinds)])
        }

        private mutating func property(
            _ setting: SettingFacts, of group: any SettingsGroup.Type, _ form: SettingsForm
        ) -> SettingValue {
            var texts = describe(group.subject, setting.name).map { [$0] } ?? []
            if case .conditional(let text) = setting.need {
                let text = text.filter { $0 != "`" }
                texts.append(text.hasPrefix("must") ? "It \(text)." : "By default \(text).")
            }
            var others: [String: SettingValue] = [:]
            others["default"] = form.standard(of: setting)
            if !texts.isEmpty { others["description"] = .text(texts.joined(separator: " ")) }
            return value(of: setting.type, setting.range).with(others)
        }

        private mutating func value(of type: SettingType, _ range: SettingRange) -> SettingValue {
            switch type {
            case .whole: return .type("integer", range.bounds)
            case .number, .seconds: return .type("number", range.bounds)
            case .flag: return .type("boolean")
            case .text: return .type("string")
            case .choice(let names): return .group(["enum": .list(range.choices(among: names).map { .text($0) })])
            case .group(let group): return reference(to: group)
            case .list(let element):
                let own = value(of: element, range)
                guard element.group != nil else { return .list(of: own) }
                let numbered = SettingValue.type(
                    "object",
                    ["additionalProperties": .flag(false), "patternProperties": .group(["^(0|[1-9][0-9]*)$": own])])
                return isOfFile ? numbered : .group(["anyOf": .list([numbered, .list(of: own)])])
            }
        }
    }

    extension SettingRange {
        fileprivate var bounds: [String: SettingValue] {
            switch self {
            case .any, .failures: [:]
            case .atLeast(let least): ["minimum": .number(least)]
            case .above(let least): ["exclusiveMinimum": .number(least)]
            case .within(let least, let most): ["minimum": .number(least), "maximum": .number(most)]
            case .aboveUpTo(let least, let most): ["exclusiveMinimum": .number(least), "maximum": .number(most)]
            case .between(let least, let most): ["exclusiveMinimum": .number(least), "exclusiveMaximum": .number(most)]
            }
        }
    }

    extension SettingValue {
        /// A group with additional members.
        fileprivate func with(_ others: [String: SettingValue]) -> SettingValue {
            if case .group(let own) = self { .group(own.merging(others) { $1 }) } else { self }
        }

        fileprivate static func type(_ name: String, _ others: [String: SettingValue] = [:]) -> SettingValue {
            SettingValue.group(["type": .text(name)]).with(others)
        }

        fileprivate static func list(of element: SettingValue) -> SettingValue { .type("array", ["items": element]) }

        fileprivate static func object(ofAll member: SettingValue) -> SettingValue {
            .type("object", ["additionalProperties": member])
        }

        fileprivate static func object(_ members: [String: SettingValue], required: [String] = []) -> SettingValue {
            let names: [String: SettingValue] = required.isEmpty ? [:] : ["required": .list(required.map { .text($0) })]
            return .type("object", ["additionalProperties": .flag(false), "properties": .group(members)]).with(names)
        }
    }
#endif
