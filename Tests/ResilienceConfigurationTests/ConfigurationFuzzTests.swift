#if Configuration
    import Configuration
    import Foundation
    import Resilience
    import ResilienceTraffic
    import ResilienceTesting
    import TestSupport
    import Testing

    @testable import ResilienceConfiguration

    /// Random configurations, from seeds: each makes a pipeline, or an error that helps to correct it.
    @Suite(.heavy) struct ConfigurationFuzzTests {
        @Test("random settings make a pipeline, or an error with path, value and requirement", arguments: 0..<8)
        func settings(seed: UInt64) throws {
            var random = RandomConfiguration(seed: seed)
            var taken = 0
            for _ in 0..<40 {
                let values = random.values(at: ["resilience", "pipelines", "p"])
                for reader in try random.readers(values) where try ConfiguredPipelineOracle.check(reader) { taken += 1 }
            }
            #expect(taken > 0)
        }

        @Test("random registries are made, or throw an error with path, value and requirement", arguments: 0..<8)
        func registries(seed: UInt64) throws {
            var random = RandomConfiguration(seed: 2000 + seed)
            var (made, rejected) = (0, 0)
            for _ in 0..<40 {
                let values = random.registry(at: ["resilience", "registries", "p"])
                for reader in try random.readers(values) {
                    if try ConfiguredPipelineOracle.checkRegistry(reader) { made += 1 } else { rejected += 1 }
                }
            }
            #expect(made > 0 && rejected > 0)
        }

        @Test(
            "invalid random names and keys of overrides are all reported by their paths, and all old settings stay",
            arguments: 0..<8)
        func overrides(seed: UInt64) throws {
            var random = RandomConfiguration(seed: 3000 + seed)
            let path = ["resilience", "registries", "p"]
            let provider = MutableInMemoryProvider(initialValues: [
                "resilience.registries.p.default.bulkhead.limit": 100
            ])
            let recorder = EventRecorder()
            let pipelines = try ConfiguredPipelinesOf<Pipeline.AllSettings>(
                reader: ConfigReader(provider: provider), observers: PolicyObservers(recorder))
            let registry = try pipelines.registry("p")
            var given: [AbsoluteConfigKey] = []
            var keys: Set<String> = ["of nobody"]
            // The settings applied last.
            var (limits, queue): ([String: Int], Int) = ([:], 0)
            var applied = 0
            for round in 1...60 {
                let overrides = random.overrides()
                for key in given { provider.setValue(nil, forKey: key) }
                var values = overrides.values(at: path)
                // Each round has a different value, so that each round is a change.
                values[AbsoluteConfigKey(path + ["default", "bulkhead", "queue"])] = ConfigValue(
                    .int(round), isSecret: false)
                for (key, value) in values { provider.setValue(value, forKey: key) }
                given = Array(values.keys)
                pipelines.reload()

                let events = recorder.events(of: ConfigurationEvent.self)
                #expect(events.count == round)
                let expected = overrides.expected
                if expected.problems.isEmpty {
                    #expect(events.last == .registryApplied(outdated: []), "\(overrides)")
                    (limits, queue) = (expected.limits, round)
                    applied += 1
                } else if case .rejected(let problems) = events.last {
                    #expect(
                        problems.map(\.parameter) == expected.problems.map { (path + $0).joined(separator: ".") },
                        "\(overrides)")
                } else {
                    Issue.record("not rejected: \(overrides)")
                }
                keys.formUnion(expected.limits.keys)
                for key in keys {
                    let status = registry[key].policies(of: Bulkhead.self).first?.status
                    #expect(status?.limit == limits[key] ?? 100, "\(key.prefix(20).debugDescription), \(overrides)")
                    #expect(status?.queueLimit == queue, "\(key.prefix(20).debugDescription), \(overrides)")
                }
            }
            #expect(applied > 0 && applied < 60)
        }

        @Test(
            "random changes at runtime are applied or rejected; a rejected change keeps the old pipeline",
            arguments: 0..<4)
        func changes(seed: UInt64) async throws {
            var random = RandomConfiguration(seed: 1000 + seed)
            let provider = MutableInMemoryProvider(initialValues: [
                "resilience.pipelines.p.bulkhead.limit": 3, "resilience.registries.p.default.bulkhead.limit": 3,
            ])
            let recorder = EventRecorder()
            let pipelines = try ConfiguredPipelinesOf<Pipeline.AllSettings>(
                ["p"], reader: ConfigReader(provider: provider), observers: PolicyObservers(recorder))
            let registry = try pipelines.registry("p")
            var given: [AbsoluteConfigKey] = []
            for _ in 0..<40 {
                let isPipeline = Bool.random(using: &random.generator)
                for key in given { provider.setValue(nil, forKey: key) }
                let values =
                    isPipeline
                    ? random.values(at: ["resilience", "pipelines", "p"])
                    : random.registry(at: ["resilience", "registries", "p"])
                for (key, value) in values { provider.setValue(value, forKey: key) }
                given = Array(values.keys)
                let before = try pipelines["p"].description
                let keys = ["k0", "k1", "k2", "k3", "a", "search"]
                let keysBefore = keys.map { registry[$0].description }
                let count = recorder.events.count
                pipelines.reload()
                let events = recorder.events.dropFirst(count)
                if !events.contains(where: {
                    $0.detail as? ConfigurationEvent == .applied(restarted: []) || "\($0.detail)".contains("restarted")
                }) {
                    #expect(try pipelines["p"].description == before)
                }
                if !events.contains(where: { ($0.detail as? ConfigurationEvent)?.kind == "registryApplied" }) {
                    #expect(keys.map { registry[$0].description } == keysBefore)
                }
                for case .rejected(let problems) in events.compactMap({ $0.detail as? ConfigurationEvent }) {
                    #expect(problems.allSatisfy { $0.parameter.hasPrefix("resilience.") && !$0.requirement.isEmpty })
                }
            }
            let kinds = Set(recorder.events(of: ConfigurationEvent.self).map(\.kind))
            #expect(kinds.isSuperset(of: ["rejected"]) && kinds.count > 1)
        }
    }

    /// The rules for every configuration.
    enum ConfiguredPipelineOracle {
        struct Broken: Error, CustomStringConvertible {
            let description: String
        }

        /// - Parameter reader: Any configuration.
        /// - Returns: Whether the settings at `resilience.pipelines.p` are valid.
        static func check(_ reader: ConfigReader) throws -> Bool {
            let configuration: Pipeline.AllSettings
            do {
                configuration = try Pipeline.AllSettings(from: reader.snapshot(), at: "resilience.pipelines.p")
            } catch {
                try check(error, at: "resilience.pipelines.p")
                return false
            }
            let pipeline = Pipeline("p", settings: configuration)
            guard pipeline.elements.map(\.name) == configuration.policies else {
                throw Broken(description: "\(pipeline) is not \(configuration)")
            }
            _ = (pipeline.description, pipeline.statuses, pipeline.warnings)
            return true
        }

        /// - Parameter reader: Any configuration.
        /// - Returns: Whether the settings at `resilience.registries.p` are valid.
        static func checkRegistry(_ reader: ConfigReader) throws -> Bool {
            let pipelines = try ConfiguredPipelinesOf<Pipeline.AllSettings>(reader: reader)
            let registry: PipelineRegistry<String>
            do {
                registry = try pipelines.registry("p")
            } catch {
                try check(error, at: "resilience.registries.p")
                return false
            }
            for key in RandomOverrides.names { _ = registry[key].description }
            return true
        }

        private static func check(_ error: InvalidSettings, at path: String) throws {
            guard !error.problems.isEmpty else { throw Broken(description: "an error without a problem") }
            for problem in error.problems {
                let isTold =
                    problem.parameter.hasPrefix(path) && !problem.value.isEmpty
                    && problem.requirement.contains(/^(must |is no setting)/)
                guard isTold else { throw Broken(description: "\(problem)") }
            }
        }
    }

    /// Random settings: names of the schema and others, values in and out of range and of all types.
    struct RandomConfiguration {
        var generator: SeededGenerator

        init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

        private mutating func one(in count: Int) -> Bool { Int.random(in: 0..<count, using: &generator) == 0 }

        private mutating func pick<Value>(_ values: [Value]) -> Value {
            values[Int.random(in: 0..<values.count, using: &generator)]
        }

        /// Some settings, each with its key.
        mutating func values(at path: [String]) -> [AbsoluteConfigKey: ConfigValue] {
            if one(in: 2) { return sound(at: path) }
            var values: [AbsoluteConfigKey: ConfigValue] = [:]
            let rarity = pick([2, 10, 60])
            add(Pipeline.AllSettings.self, at: path, to: &values, rarity: rarity, depth: 0)
            return values
        }

        /// Settings of a registry: the default, a list of names, and overrides for these and other names.
        mutating func registry(at path: [String]) -> [AbsoluteConfigKey: ConfigValue] {
            let standard = path + ["default"]
            var values = Dictionary(
                uniqueKeysWithValues: Configurations.sound.map { (AbsoluteConfigKey(standard + $0), $1) })
            if one(in: 2) { values = self.values(at: standard) }
            values.merge(overrides().values(at: path)) { $1 }
            let override = path + ["overrides", pick(RandomOverrides.names)]
            if one(in: 4) { values.merge(self.values(at: override)) { $1 } }
            if one(in: 12) { values[AbsoluteConfigKey(override)] = anything() }
            if one(in: 12) { values[AbsoluteConfigKey(override + ["key"])] = anything() }
            if one(in: 12) { values[AbsoluteConfigKey(path + ["overrides"])] = anything() }
            if one(in: 12) { values[AbsoluteConfigKey(path + ["overrideNames"])] = anything() }
            return values
        }

        /// Names and keys of overrides; most of them are valid.
        mutating func overrides() -> RandomOverrides {
            let noTexts: [ConfigContent] = [
                .int(7), .bool(true), .double(0.5), .stringArray(["a"]), .intArray([1]), .bytes([1]),
            ]
            let noLists: [ConfigContent] = [.string("a"), .string(""), .int(1), .bool(false), .intArray([1])]
            let count = pick([0, 1, 2, 3, 6])
            let listed = (0..<count).map { _ in pick(RandomOverrides.names) }
            var overrides: [RandomOverrides.Override] = []
            // Some names are not listed, and must not be read.
            for name in Set(listed + ["a", "not listed"]).sorted() {
                var key: ConfigContent?
                if one(in: 4) { key = .string(pick(RandomOverrides.names)) }
                if one(in: 16) { key = pick(noTexts) }
                var limit: Int? = Int.random(in: 1...9, using: &generator)
                if one(in: 12) { limit = nil }
                if one(in: 16) { limit = 0 }
                overrides.append(RandomOverrides.Override(name: name, key: key, limit: limit))
            }
            var list = ConfigContent.stringArray(listed)
            if one(in: 16) { list = pick(noLists) }
            return RandomOverrides(list: list, overrides: overrides)
        }

        /// Valid settings of some policies, with at most a few invalid settings, so that the late checks are reached.
        private mutating func sound(at path: [String]) -> [AbsoluteConfigKey: ConfigValue] {
            let left = Set(Pipeline.AllSettings.facts.map(\.name).filter { _ in one(in: 3) })
            var values = Configurations.sound
            for key in values.keys where left.contains(key[0]) { values[key] = nil }
            let keys = values.keys.sorted { $0.lexicographicallyPrecedes($1) }
            for _ in 0..<pick([0, 1, 1, 2]) where !keys.isEmpty { values[pick(keys)] = one(in: 4) ? nil : anything() }
            return Dictionary(uniqueKeysWithValues: values.map { (AbsoluteConfigKey(path + $0), $1) })
        }

        private mutating func add(
            _ group: any SettingsGroup.Type, at path: [String], to values: inout [AbsoluteConfigKey: ConfigValue],
            rarity: Int,
            depth: Int
        ) {
            if one(in: rarity * 4) { values[AbsoluteConfigKey(path)] = anything() }
            let kinds: [String] =
                if case .choice(let kinds) = group.field(named: "kind")?.type { kinds } else { [] }
            let kind = kinds.isEmpty ? "" : pick(kinds)
            for field in group.facts {
                let name =
                    one(in: rarity * 4)
                    ? pick(field.misspelt + ["", "x", "🦆", "a.b", String(field.name.dropLast())]) : field.name
                let path = path + [name]
                let key = AbsoluteConfigKey(path)
                if one(in: rarity) && depth < 12 {
                    values[key] = anything()
                    continue
                }
                switch field.type {
                case .group(let inner):
                    // A group may contain itself: breaks contain breaks.
                    if one(in: inner == group ? 3 : 2) {
                        add(inner, at: path, to: &values, rarity: rarity, depth: depth + 1)
                    }
                case .list(.group(let inner)):
                    for index in 0..<Int.random(in: 0...2, using: &generator) where depth < 5 {
                        add(inner, at: path + ["\(index)"], to: &values, rarity: rarity, depth: depth + 1)
                    }
                case .choice where field.name == "kind": values[key] = .init(.string(kind), isSecret: false)
                case .choice(let names): if one(in: 3) { values[key] = .init(.string(pick(names)), isSecret: false) }
                case .list(.seconds): if one(in: 3) { values[key] = .init(.doubleArray([1, 2]), isSecret: false) }
                case .list(let element):
                    let names = if case .choice(let names) = element { names } else { ["a", "b"] }
                    if one(in: 6) {
                        values[key] = .init(.stringArray([pick(names), pick(names)]), isSecret: false)
                    }
                case .whole:
                    if one(in: 2) {
                        values[key] = .init(.int(Int.random(in: 1...20, using: &generator)), isSecret: false)
                    }
                case .number:
                    if one(in: 2) {
                        values[key] = .init(.double(Double.random(in: 0...1, using: &generator)), isSecret: false)
                    }
                case .seconds:
                    if one(in: 2) {
                        values[key] = .init(.double(Double.random(in: 0.001...100, using: &generator)), isSecret: false)
                    }
                case .text: if one(in: 2) { values[key] = .init(.string("2020-01-02T03:04:05Z"), isSecret: false) }
                case .flag: if one(in: 3) { values[key] = .init(.bool(one(in: 2)), isSecret: false) }
                }
            }
        }

        private mutating func anything() -> ConfigValue {
            let content: ConfigContent = pick([
                .int(0), .int(-1), .int(.max), .int(.min), .int(1 << 53 + 1), .double(.nan), .double(.infinity),
                .double(-.infinity),
                .double(-0.0), .double(1e-300), .double(.greatestFiniteMagnitude), .double(0.5), .bool(true),
                .bool(false),
                .string(""), .string(" "), .string("200ms"), .string("5 minutes"), .string("nan"), .string("inf"),
                .string("1e999"),
                .string("0x10"), .string("ünïcödé 🦆\u{0}"), .string(String(repeating: "9", count: 400)),
                .string("constant"),
                .string("-0"), .stringArray([]), .stringArray([""]), .stringArray(["transient", "🦆"]), .doubleArray([]),
                .doubleArray([.nan]), .doubleArray([-1, .infinity]), .intArray([1, .min]), .boolArray([true]),
                .bytes([]),
                .bytes([255]), .byteChunkArray([[]]),
            ])
            return ConfigValue(content, isSecret: false)
        }

        /// Readers of the same settings, in memory and in the environment.
        func readers(_ values: [AbsoluteConfigKey: ConfigValue]) throws -> [ConfigReader] {
            let variables = values.map { key, value in
                let name = Configurations.variable(key.components)
                let text: String =
                    switch value.content {
                    case .string(let text): text
                    case .int(let whole): "\(whole)"
                    case .double(let number): "\(number)"
                    case .bool(let flag): "\(flag)"
                    case .stringArray(let texts): texts.joined(separator: ",")
                    case .doubleArray(let numbers): numbers.map { "\($0)" }.joined(separator: ",")
                    default: "\(value.content)"
                    }
                return (name, text)
            }
            let environment = EnvironmentVariablesProvider(
                environmentVariables: Dictionary(variables, uniquingKeysWith: { $1 }))
            return [ConfigReader(provider: InMemoryProvider(values: values)), ConfigReader(provider: environment)]
        }
    }

    /// Overrides of a registry, and the expected outcome.
    struct RandomOverrides: CustomStringConvertible {
        /// One override: the values at `overrides.<name>`.
        struct Override {
            let name: String
            /// A text if valid; nil if absent.
            let key: ConfigContent?
            /// The value at `bulkhead.limit`, at least 1 if valid; nil if absent, so that the key has the default.
            let limit: Int?
        }

        /// Names and keys to choose from, some of them unusual.
        static let names = [
            "a", "b", "search", "/api/search", "", " ", ".", "a.b", "a.b.key", "default", "overrideNames", "key", "0",
            "ünïcödé 🦆\u{0}", String(repeating: "n", count: 1_000), String(repeating: ".", count: 300),
        ]

        /// The value at `overrideNames`: a list of texts, if valid.
        let list: ConfigContent
        let overrides: [Override]

        var description: String {
            let shown = overrides.map { "\($0.name): \(String(describing: $0.key)), \(String(describing: $0.limit))" }
            return String("\(list), \(shown)".prefix(2_000))
        }

        func values(at path: [String]) -> [AbsoluteConfigKey: ConfigValue] {
            var values = [AbsoluteConfigKey(path + ["overrideNames"]): ConfigValue(list, isSecret: false)]
            for override in overrides {
                let path = path + ["overrides", override.name]
                if let key = override.key {
                    values[AbsoluteConfigKey(path + ["key"])] = ConfigValue(key, isSecret: false)
                }
                if let limit = override.limit {
                    values[AbsoluteConfigKey(path + ["bulkhead", "limit"])] = ConfigValue(.int(limit), isSecret: false)
                }
            }
            return values
        }

        /// The paths of all invalid settings, in the list's order. If all settings are valid, the limits of the keys.
        var expected: (problems: [[String]], limits: [String: Int]) {
            guard case .stringArray(let listed) = list else { return ([["overrideNames"]], [:]) }
            // An empty environment variable is read as this list.
            if listed == [""] { return ([], [:]) }
            var (problems, limits, seen): ([[String]], [String: Int], Set<String>) = ([], [:], [])
            var keys: Set<String> = []
            for name in listed where seen.insert(name).inserted {
                let override = overrides.first { $0.name == name }
                let key: String
                switch override?.key {
                case nil: key = name
                case .string(let text): key = text
                default:
                    problems.append(["overrides", name, "key"])
                    continue
                }
                if !keys.insert(key).inserted {
                    problems.append(["overrides", name, "key"])
                } else if let limit = override?.limit {
                    if limit < 1 { problems.append(["overrides", name, "bulkhead", "limit"]) }
                    limits[key] = limit
                } else {
                    problems.append(["overrides", name])
                }
            }
            return (problems, limits)
        }
    }
#endif
