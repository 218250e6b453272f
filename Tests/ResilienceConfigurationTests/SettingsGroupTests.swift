#if Configuration
    import Configuration
    import Resilience
    import ResilienceConfiguration
    import Testing

    /// A user's own settings, nested in each other.
    @Suite struct SettingsGroupTests {
        struct Quota: SettingsGroup {
            enum Unit: String, SettingChoice { case calls, batches }

            var limit = 1
            var units: [Unit] = []
            var pause: Duration?
            var failing: VerdictSet = .transient
            var rooms: [Room] = []
            var spare: Room?

            static let schema = SettingsSchema(
                "Quota", standard: Quota(),
                [
                    SettingField("limit", \.limit, .within(1, 1_000), need: .required),
                    SettingField("units", \.units), SettingField("pauseSeconds", \.pause, .above(0)),
                    SettingField("failing", \.failing, .failures),
                    SettingField("rooms", \.rooms, need: .conditional("`limit`")),
                    SettingField("spare", \.spare),
                ])
        }

        indirect enum Room: SettingsGroup {
            case open(share: Double)
            case guarded(Quota)

            static let schema = SettingsSchema(
                "Room", standard: open(share: 1),
                kinds: [
                    SettingVariant("open", standard: 1.0, [SettingField("share", \.self, .aboveUpTo(0, 1))]) {
                        open(share: $0)
                    } values: {
                        if case .open(let share) = $0 { share } else { nil }
                    },
                    SettingVariant("guarded", standard: Quota(), [SettingField("quota", \.self, need: .required)]) {
                        guarded($0)
                    } values: {
                        if case .guarded(let quota) = $0 { quota } else { nil }
                    },
                ])
        }

        private func read(_ values: [AbsoluteConfigKey: ConfigValue]) throws(InvalidSettings) -> Quota {
            try Quota(from: Configurations.reader(values).snapshot(), at: "own.quota")
        }

        @Test("a user's own settings are found in a configuration, however they are nested (P80)")
        func lookup() throws {
            let quota = try read([
                "own.quota.limit": 5, "own.quota.units": .init(.stringArray(["batches"]), isSecret: false),
                "own.quota.pauseSeconds": 0.5,
                "own.quota.spare.kind": "guarded", "own.quota.spare.quota.limit": 3,
                "own.quota.rooms.0.kind": "open", "own.quota.rooms.0.share": 0.5,
                "own.quota.rooms.1.kind": "guarded", "own.quota.rooms.1.quota.limit": 7,
            ])
            #expect(
                quota
                    == Quota(
                        limit: 5, units: [.batches], pause: .milliseconds(500),
                        rooms: [.open(share: 0.5), .guarded(Quota(limit: 7))], spare: .guarded(Quota(limit: 3))))
            let error = #expect(throws: InvalidSettings.self) {
                try read(["own.quota.pauseMilliseconds": 5, "own.quota.rooms.0.kind": "guarded"])
            }
            #expect(
                error?.problems.map(\.parameter) == [
                    "own.quota.pauseMilliseconds", "own.quota.limit", "own.quota.rooms.0.quota",
                ])
        }

        @Test(
            "a JSON Schema has all facts of the settings' schema: names, types, ranges, kinds, needs, defaults (P80)")
        func jsonSchema() throws {
            let schema = Quota.jsonSchema { "\($0).\($1)" == "Quota.limit" ? "How many calls." : nil }
            let expected = """
                {
                    "$schema": "https://json-schema.org/draft/2020-12/schema",
                    "$ref": "#/$defs/Quota",
                    "$defs": {
                        "Quota": {
                            "type": "object", "additionalProperties": false, "required": ["limit"],
                            "properties": {
                                "limit": {
                                    "type": "integer", "minimum": 1, "maximum": 1000, "description": "How many calls."
                                },
                                "units": {"type": "array", "items": {"enum": ["calls", "batches"]}},
                                "pauseSeconds": {"type": "number", "exclusiveMinimum": 0},
                                "failing": {
                                    "type": "array", "default": ["transient"],
                                    "items": {"enum": ["transient", "uncertain", "throttled", "permanent", "rejected"]}
                                },
                                "spare": {"$ref": "#/$defs/Room"},
                                "rooms": {
                                    "description": "By default limit.",
                                    "anyOf": [
                                        {
                                            "type": "object", "additionalProperties": false,
                                            "patternProperties": {"^(0|[1-9][0-9]*)$": {"$ref": "#/$defs/Room"}}
                                        },
                                        {"type": "array", "items": {"$ref": "#/$defs/Room"}}
                                    ]
                                }
                            }
                        },
                        "Room": {
                            "oneOf": [
                                {
                                    "type": "object", "additionalProperties": false, "required": ["kind"],
                                    "properties": {
                                        "kind": {"const": "open"},
                                        "share": {
                                            "type": "number", "exclusiveMinimum": 0, "maximum": 1, "default": 1
                                        }
                                    }
                                },
                                {
                                    "type": "object", "additionalProperties": false, "required": ["kind", "quota"],
                                    "properties": {"kind": {"const": "guarded"}, "quota": {"$ref": "#/$defs/Quota"}}
                                }
                            ]
                        }
                    }
                }
                """
            #expect(try JSONValue(encoding: schema) == JSONValue(expected))
        }
    }
#endif
