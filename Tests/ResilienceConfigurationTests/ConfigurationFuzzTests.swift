#if Configuration
    import Configuration
    import Foundation
    import Resilience
    import ResilienceTesting
    import TestSupport
    import Testing

    @testable import ResilienceConfiguration

    /// Configurations at random, from seeds: whatever they say, there is a pipeline or an error that helps.
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

        @Test(
            "random changes of a running configuration are applied or rejected, and the old pipeline goes on",
            arguments: 0..<4)
        func changes(seed: UInt64) async throws {
            var random = RandomConfiguration(seed: 1000 + seed)
            let provider = MutableInMemoryProvider(initialValues: [
                "resilience.pipelines.p.bulkhead.limit": 3, "resilience.registries.p.default.bulkhead.limit": 3,
            ])
            let recorder = EventRecorder()
            let pipelines = try ConfiguredPipelines(
                ["p"], reader: ConfigReader(provider: provider), observers: PolicyObservers(recorder))
            let registry = try pipelines.registry("p")
            var given: [AbsoluteConfigKey] = []
            for _ in 0..<40 {
                let path: [String] =
                    Bool.random(using: &random.generator)
                    ? ["resilience", "pipelines", "p"] : ["resilience", "registries", "p", "default"]
                for key in given { provider.setValue(nil, forKey: key) }
                let values = random.values(at: path)
                for (key, value) in values { provider.setValue(value, forKey: key) }
                given = Array(values.keys)
                let before = try pipelines["p"].description
                let count = recorder.events.count
                pipelines.reload()
                let events = recorder.events.dropFirst(count)
                if !events.contains(where: {
                    $0.detail as? ConfigurationEvent == .applied(restarted: []) || "\($0.detail)".contains("restarted")
                }) {
                    #expect(try pipelines["p"].description == before)
                }
                for case .rejected(let problems) in events.compactMap({ $0.detail as? ConfigurationEvent }) {
                    #expect(problems.allSatisfy { $0.parameter.hasPrefix("resilience.") && !$0.requirement.isEmpty })
                }
                _ = registry["k\(Int.random(in: 0..<4, using: &random.generator))"].description
            }
            let kinds = Set(recorder.events(of: ConfigurationEvent.self).map(\.kind))
            #expect(kinds.isSuperset(of: ["rejected"]) && kinds.count > 1)
        }
    }

    /// What must hold of every configuration.
    enum ConfiguredPipelineOracle {
        struct Broken: Error, CustomStringConvertible {
            let description: String
        }

        /// - Parameter reader: A configuration, whatever it says.
        /// - Returns: Whether the settings at `resilience.pipelines.p` are valid.
        static func check(_ reader: ConfigReader) throws -> Bool {
            let configuration: PipelineConfiguration
            do {
                configuration = try PipelineConfiguration(from: reader.snapshot(), at: "resilience.pipelines.p")
            } catch {
                guard !error.problems.isEmpty else { throw Broken(description: "an error without a problem") }
                for problem in error.problems {
                    let isTold =
                        problem.parameter.hasPrefix("resilience.pipelines.p") && !problem.value.isEmpty
                        && problem.requirement.contains(/^(must |is no setting)/)
                    guard isTold else { throw Broken(description: "\(problem)") }
                }
                return false
            }
            let pipeline = Pipeline("p", configuration: configuration)
            guard pipeline.elements.map(\.name) == configuration.policies else {
                throw Broken(description: "\(pipeline) is not \(configuration)")
            }
            _ = (pipeline.description, pipeline.statuses, pipeline.warnings)
            return true
        }
    }

    /// Settings at random: names of the schema and others, values in and out of range and of all types.
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
            add(.pipeline, at: path, to: &values, rarity: rarity, depth: 0)
            return values
        }

        /// Settings of some policies that are valid, but for a few at most, so that what is checked late is reached, too.
        private mutating func sound(at path: [String]) -> [AbsoluteConfigKey: ConfigValue] {
            let left = Set(SettingGroup.pipeline.fields.map(\.name).filter { _ in one(in: 3) })
            var values = Configurations.sound
            for key in values.keys where left.contains(key[0]) { values[key] = nil }
            let keys = values.keys.sorted { $0.lexicographicallyPrecedes($1) }
            for _ in 0..<pick([0, 1, 1, 2]) where !keys.isEmpty { values[pick(keys)] = one(in: 4) ? nil : anything() }
            return Dictionary(uniqueKeysWithValues: values.map { (AbsoluteConfigKey(path + $0), $1) })
        }

        private mutating func add(
            _ group: SettingGroup, at path: [String], to values: inout [AbsoluteConfigKey: ConfigValue], rarity: Int,
            depth: Int
        ) {
            if one(in: rarity * 4) { values[AbsoluteConfigKey(path)] = anything() }
            let kinds: [String] =
                if case .choice(let kinds) = group.field(named: "kind")?.kind { kinds } else { [] }
            let kind = kinds.isEmpty ? "" : pick(kinds)
            for field in group.fields {
                let name =
                    one(in: rarity * 4)
                    ? pick(field.misspelt + ["", "x", "🦆", "a.b", String(field.name.dropLast())]) : field.name
                let path = path + [name]
                let key = AbsoluteConfigKey(path)
                if one(in: rarity) && depth < 12 {
                    values[key] = anything()
                    continue
                }
                switch field.kind {
                case .group(let inner):
                    if one(in: 2) { add(inner, at: path, to: &values, rarity: rarity, depth: depth + 1) }
                case .nested(let inner):
                    if one(in: 3) {
                        add(inner, at: path, to: &values, rarity: rarity, depth: depth + 1)
                    }
                case .groups(let inner):
                    for index in 0..<Int.random(in: 0...2, using: &generator) where depth < 5 {
                        add(inner, at: path + ["\(index)"], to: &values, rarity: rarity, depth: depth + 1)
                    }
                case .choice where field.name == "kind": values[key] = .init(.string(kind), isSecret: false)
                case .choice(let names): if one(in: 3) { values[key] = .init(.string(pick(names)), isSecret: false) }
                case .names:
                    if one(in: 6) {
                        let names =
                            group == .pipeline
                            ? SettingGroup.pipeline.fields.map(\.name) : ["transient", "success", "permanent"]
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
                case .secondsList: if one(in: 3) { values[key] = .init(.doubleArray([1, 2]), isSecret: false) }
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

        /// Readers of the same settings: in memory, and in the environment.
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
#endif
