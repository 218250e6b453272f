#if Configuration
    public import Resilience

    extension SettingsGroup {
        /// Returns a JSON Schema (draft 2020-12) of a file of these settings: editors complete and check it with names, types,
        /// ranges and defaults. Rules about several settings are not in it: reading the file checks them.
        /// - Parameter description: Returns what a setting of a group is for, by the names of both; nil for nothing. Nothing by
        ///   default.
        /// - Returns: The schema, to be encoded as JSON.
        public static func jsonSchema(
            describing description: (_ group: String, _ setting: String) -> String? = { _, _ in nil }
        ) -> SettingValue {
            withoutActuallyEscaping(description) { description in
                var writer = JSONSchemaWriter(isOfFile: false, describe: description)
                return writer.schema { $0.reference(to: Self.self) }
            }
        }
    }

    extension ConfiguredPipelines {
        /// Returns a JSON Schema (draft 2020-12) of a file of pipelines and registries. Besides `resilience` anything may stand there.
        /// - Parameter description: See `SettingsGroup.jsonSchema(describing:)`.
        /// - Returns: The schema, to be encoded as JSON.
        public static func jsonSchema(
            describing description: (_ group: String, _ setting: String) -> String? = { _, _ in nil }
        ) -> SettingValue {
            withoutActuallyEscaping(description) { description in
                var writer = JSONSchemaWriter(isOfFile: true, describe: description)
                return writer.schema { writer in
                    let pipeline = writer.reference(to: Pipeline.Settings.self)
                    let registry = JSONSchemaWriter.object(
                        [
                            "default": pipeline, "overrideNames": JSONSchemaWriter.list(of: JSONSchemaWriter.text),
                            "overrides": JSONSchemaWriter.object(ofAll: writer.override),
                        ], required: ["default"])
                    let settings = JSONSchemaWriter.object([
                        "pipelines": JSONSchemaWriter.object(ofAll: pipeline),
                        "registries": JSONSchemaWriter.object(ofAll: registry),
                    ])
                    return .group(["type": .text("object"), "properties": .group(["resilience": settings])])
                }
            }
        }
    }

    /// Writes what schemas say as a JSON Schema.
    private struct JSONSchemaWriter {
        /// Whether swift-configuration reads it, which has no lists of objects.
        let isOfFile: Bool
        let describe: (_ group: String, _ setting: String) -> String?
        private var definitions: [String: SettingValue] = [:]

        init(isOfFile: Bool, describe: @escaping (_ group: String, _ setting: String) -> String?) {
            (self.isOfFile, self.describe) = (isOfFile, describe)
        }

        /// A schema, with all that it refers to.
        mutating func schema(_ make: (inout Self) -> SettingValue) -> SettingValue {
            guard case .group(var members) = make(&self) else { return .null }
            members["$schema"] = .text("https://json-schema.org/draft/2020-12/schema")
            members["$defs"] = .group(definitions)
            return .group(members)
        }

        mutating func reference(to group: any SettingsGroup.Type) -> SettingValue {
            if definitions[group.subject] == nil {
                // Rules contain rules.
                definitions[group.subject] = .null
                definitions[group.subject] = definition(of: group)
            }
            return .group(["$ref": .text("#/$defs/\(group.subject)")])
        }

        /// What an override of a registry may have: single settings of each policy.
        var override: SettingValue {
            mutating get {
                var members = ["key": Self.text]
                for setting in Pipeline.Settings.facts {
                    if case .group(let policy) = setting.type {
                        members[setting.name] = definition(of: policy, isComplete: false)
                    } else {
                        members[setting.name] = value(of: setting.type, setting.range)
                    }
                }
                return Self.object(members)
            }
        }

        private mutating func definition(of group: any SettingsGroup.Type, isComplete: Bool = true) -> SettingValue {
            let kinds = group.forms.map { form in
                var members: [String: SettingValue] = [:]
                for setting in form.facts { members[setting.name] = property(setting, of: group, form) }
                var required = form.facts.filter { $0.need == .required }.map(\.name)
                if let kind = form.kind {
                    members["kind"] = .group(["const": .text(kind)])
                    required.insert("kind", at: 0)
                }
                return Self.object(members, required: isComplete ? required : [])
            }
            return kinds.count == 1 ? kinds[0] : .group(["oneOf": .list(kinds)])
        }

        private mutating func property(
            _ setting: SettingFacts, of group: any SettingsGroup.Type, _ form: SettingsForm
        ) -> SettingValue {
            guard case .group(var members) = value(of: setting.type, setting.range) else { return .null }
            members["default"] = form.standard(of: setting)
            var texts = describe(group.subject, setting.name).map { [$0] } ?? []
            if case .conditional(let text) = setting.need {
                let text = text.filter { $0 != "`" }
                texts.append(text.hasPrefix("must") ? "It \(text)." : "By default \(text).")
            }
            if !texts.isEmpty { members["description"] = .text(texts.joined(separator: " ")) }
            return .group(members)
        }

        private mutating func value(of type: SettingType, _ range: SettingRange) -> SettingValue {
            switch type {
            case .whole: Self.number("integer", range)
            case .number, .seconds: Self.number("number", range)
            case .flag: .group(["type": .text("boolean")])
            case .text: Self.text
            case .choice(let names):
                .group(["enum": .list(range.choices(among: names).map { .text($0) })])
            case .group(let group): reference(to: group)
            case .list(let element): list(of: value(of: element, range), isGroups: element.group != nil)
            }
        }

        private func list(of element: SettingValue, isGroups: Bool) -> SettingValue {
            guard isGroups else { return Self.list(of: element) }
            let numbered = SettingValue.group([
                "type": .text("object"), "additionalProperties": .flag(false),
                "patternProperties": .group(["^(0|[1-9][0-9]*)$": element]),
            ])
            return isOfFile ? numbered : .group(["anyOf": .list([numbered, Self.list(of: element)])])
        }

        static let text = SettingValue.group(["type": .text("string")])

        static func list(of element: SettingValue) -> SettingValue {
            .group(["type": .text("array"), "items": element])
        }

        static func object(ofAll member: SettingValue) -> SettingValue {
            .group(["type": .text("object"), "additionalProperties": member])
        }

        static func object(_ members: [String: SettingValue], required: [String] = []) -> SettingValue {
            var object: [String: SettingValue] = [
                "type": .text("object"), "additionalProperties": .flag(false), "properties": .group(members),
            ]
            if !required.isEmpty { object["required"] = .list(required.map { .text($0) }) }
            return .group(object)
        }

        private static func number(_ type: String, _ range: SettingRange) -> SettingValue {
            let bounds: [String: Double] =
                switch range {
                case .any, .failures: [:]
                case .atLeast(let least): ["minimum": least]
                case .above(let least): ["exclusiveMinimum": least]
                case .within(let least, let most): ["minimum": least, "maximum": most]
                case .aboveUpTo(let least, let most): ["exclusiveMinimum": least, "maximum": most]
                case .between(let least, let most): ["exclusiveMinimum": least, "exclusiveMaximum": most]
                }
            return .group(bounds.mapValues { .number($0) }.merging(["type": .text(type)]) { $1 })
        }
    }
#endif
