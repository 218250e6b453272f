#if Configuration
    import Foundation
    import TestSupport
    import Testing

    @testable import Resilience
    @testable import ResilienceTraffic
    @testable import ResilienceConfiguration

    /// Holds the schema to the core's configurations, and the schema's page to the schema.
    @Suite struct SettingGroupTests {
        static let fields = SettingGroup.allCases.flatMap { group in group.fields.map { Place(group: group, field: $0) }
        }

        struct Place: Sendable, CustomTestStringConvertible {
            let group: SettingGroup
            let field: ResilienceConfiguration.SettingField

            var testDescription: String { "\(group.rawValue).\(field.name)" }

            /// The other settings of the group that this one needs; the kind is that of the first `kind` that has it.
            var companions: [String: SettingTree] {
                switch (group, field.name) {
                case (.pipeline, "policies"): [:]
                case (.pipeline, _): ["policies": .texts([])]
                case (.circuitBreaker, "probes"): ["closing": .group(["successes": .whole(9)])]
                case (.timeout, "enforcedBy"): ["limitSeconds": .number(1)]
                case (.bulkhead, "limit"), (.timeout, _), (.retry, _), (.hedge, _), (.adaptiveThrottle, _),
                    (.circuitBreaker, _):
                    [:]
                case (.bulkhead, _): ["limit": .whole(1)]
                case (.throttle, "limit"): [:]
                case (.throttle, _): ["limit": .group(["kind": .text("unlimited")])]
                case (.backoff, "sequenceSeconds"): ["kind": .text("sequence")]
                case (.backoff, "atEnd"): ["kind": .text("sequence"), "sequenceSeconds": .numbers([1])]
                case (.backoff, "jitterShare"): ["kind": .text("exponential"), "jitter": .text("proportional")]
                case (.backoff, _): ["kind": .text("exponential")]
                case (.hedgeDelay, "delaySeconds"): ["kind": .text("constant")]
                case (.hedgeDelay, _): ["kind": .text("percentile")]
                case (.rule, "limit"), (.rule, "kind"): ["kind": .text("consecutiveFailures")]
                case (.rule, "count"): ["kind": .text("failures"), "window": .group(["lengthSeconds": .number(1)])]
                case (.rule, "ratio"): ["kind": .text("failureRatio")]
                case (.rule, "slownessSeconds"): ["kind": .text("slowCalls"), "ratio": .number(1)]
                case (.rule, _): ["kind": .text("failureRatio"), "ratio": .number(0.5)]
                case (.window, "buckets"): ["lengthSeconds": .number(1)]
                case (.window, _): [:]
                case (.probes, "probes"): ["successes": .whole(1)]
                case (.probes, _): [:]
                case (.breakLength, "jitterShare"):
                    [
                        "kind": .text("jittered"),
                        "break": .group(["kind": .text("constant"), "lengthSeconds": .number(1)]),
                    ]
                case (.breakLength, "lengthSeconds"): ["kind": .text("constant")]
                case (.breakLength, _): ["kind": .text("exponential")]
                case (.throttleLimit, "calls"): ["kind": .text("rate"), "periodSeconds": .number(1)]
                case (.throttleLimit, "periodSeconds"): ["kind": .text("rate"), "calls": .whole(1)]
                case (.throttleLimit, _):
                    ["kind": .text("rate"), "calls": .whole(4), "periodSeconds": .number(1)]
                case (.adaptiveLimit, "lowest"): ["kind": .text("gradient"), "highest": .whole(1_000_000_000)]
                case (.adaptiveLimit, "leastQueue"): ["kind": .text("vegas"), "mostQueue": .number(0.9)]
                case (.adaptiveLimit, "mostQueue"): ["kind": .text("vegas"), "leastQueue": .number(0.01)]
                case (.adaptiveLimit, "increase"), (.adaptiveLimit, "decrease"): ["kind": .text("aimd")]
                case (.adaptiveLimit, _): ["kind": .text("gradient")]
                case (.loadShedding, _): [:]
                case (.outlierEjection, "maxTimeSeconds"): ["timeSeconds": .number(0.001)]
                case (.endpointPool, _), (.outlierEjection, _), (.deviation, _), (.failureShare, _), (.slowStart, _):
                    [:]
                case (.chaos, "maxDelaySeconds"): ["delaySeconds": .number(0)]
                case (.chaos, _): [:]
                }
            }

            /// Decodes the group with its companions and this setting.
            /// - Returns: What it is when it is encoded again.
            func decode(_ value: SettingTree?) throws -> [String: JSONValue] {
                var members = companions
                if let value { members[field.name] = value }
                return try group.decode(members)
            }
        }

        @Test("every group has the names of the core's configuration, and no others", arguments: SettingGroup.allCases)
        func names(group: SettingGroup) throws {
            // The error of a name that is none lists all that there are.
            let error = #expect(throws: InvalidSettings.self) { try group.decode(["noSuchName": .whole(1)]) }
            let problem = try #require(error?.problems.first { $0.parameter.hasSuffix("noSuchName") })
            let names = problem.requirement.split(separator: "there are ").last?.components(separatedBy: ", ") ?? []
            #expect(Set(names) == Set(group.fields.map(\.name)))
            #expect(names.count == group.fields.count)
        }

        @Test("a value at the end of its range is valid, and one beyond it is not", arguments: fields)
        func ranges(place: Place) throws {
            let bounds: (valid: [Double], invalid: [Double])
            switch place.field.range {
            case .any, .failures: return
            case .atLeast(let least): bounds = ([least, least + 1], [least - 1, -.infinity])
            case .above(let least): bounds = ([least + 0.001, least + 1, .infinity], [least, least - 1])
            case .within(let least, let most): bounds = ([least, most], [least - 1, most + 1])
            case .aboveUpTo(let least, let most): bounds = ([least + 0.001, most], [least, most + 0.001])
            case .between(let least, let most): bounds = ([least + 0.001, most - 0.001], [least, most])
            }
            func value(_ number: Double) -> SettingTree {
                switch place.field.kind {
                case .whole: .whole(Int(saturating: number))
                case .secondsList: .numbers([number])
                default: .number(number)
                }
            }
            // A factor must be finite, too, and so must what becomes JSON again.
            for number in bounds.valid where number.isFinite {
                #expect(throws: Never.self, "\(number)") { try place.decode(value(number)) }
            }
            for number in bounds.invalid where number.isFinite || place.field.kind != .whole {
                let error = #expect(throws: InvalidSettings.self, "\(number)") { try place.decode(value(number)) }
                let path = error?.problems.first?.parameter ?? ""
                #expect(path.contains(place.field.name), "\(path)")
            }
        }

        /// What a kind can't be without. Where kinds of several groups have one name, the group decides.
        private static func needs(_ kind: String, of group: SettingGroup) -> [String: SettingTree] {
            switch (group, kind) {
            case (.backoff, "constant"), (.backoff, "linear"): ["baseSeconds": .number(1)]
            case (.backoff, "sequence"): ["sequenceSeconds": .numbers([1])]
            case (.rule, "failures"): ["count": .whole(3), "window": .group(["lengthSeconds": .number(1)])]
            case (.rule, "failureRatio"): ["ratio": .number(1)]
            case (.rule, "slowCalls"): ["ratio": .number(1), "slownessSeconds": .number(1)]
            case (.breakLength, "jittered"):
                ["break": .group(["kind": .text("constant"), "lengthSeconds": .number(1)])]
            case (.throttleLimit, "rate"): ["calls": .whole(7), "periodSeconds": .number(1)]
            default: [:]
            }
        }

        @Test("a setting that is left out has the default that the schema names", arguments: fields)
        func defaults(place: Place) throws {
            let name = place.field.name
            switch place.field.standard {
            case .byKind, .text: break
            case .none:
                #expect(try place.decode(nil)[name] == nil)
            case .required:
                var members = place.companions
                members[name] = nil
                let error = #expect(throws: InvalidSettings.self) { try place.group.decode(members) }
                let isMissing = error?.problems.contains { $0.parameter.hasSuffix(name) && $0.value == "missing" }
                #expect(isMissing == true)
            case .value(let text):
                let encoded = try place.decode(nil)
                let expected = encoded[text]?.shown ?? text
                #expect(encoded[name]?.shown == expected)
            case .kinds(let defaults):
                for (kind, text) in defaults {
                    var members = Self.needs(kind, of: place.group)
                    members["kind"] = .text(kind)
                    members[name] = nil
                    let encoded = try place.group.decode(members)
                    let expected = encoded[text]?.shown ?? text
                    #expect(encoded[name]?.shown == expected, "\(kind)")
                }
            }
        }

        @Test("every name of a choice is one, and no other", arguments: fields)
        func choices(place: Place) throws {
            guard case .choice(let names) = place.field.kind else { return }
            var members = place.companions
            members[place.field.name] = .text("noSuchName")
            let error = #expect(throws: InvalidSettings.self) { try place.group.decode(members) }
            let problem = error?.problems.first {
                $0.parameter.hasSuffix(".\(place.field.name)") || $0.parameter == place.field.name
            }
            #expect(problem?.requirement == "must be one of \(names.joined(separator: ", "))")
        }

        // MARK: The schema's page

        @Test(
            "the schema's page has a table of each group, with exactly the schema's rows (P80)",
            arguments: SettingGroup.allCases)
        func page(group: SettingGroup) throws {
            let page = try String(
                contentsOf: repository.appending(
                    path: "Sources/ResilienceConfiguration/ResilienceConfiguration.docc/ConfigurationSchema.md"),
                encoding: .utf8)
            let section = page.components(separatedBy: "\n### ").dropFirst().first { $0.hasPrefix("\(group.title)\n") }
            let rows = try #require(section).components(separatedBy: "\n## ")[0].split(separator: "\n")
                .filter { $0.hasPrefix("| `") }.map(String.init)
            #expect(rows == group.rows, "\(group.rows.joined(separator: "\n"))")
            let groups = page.components(separatedBy: "\n### ").count - 1
            #expect(groups == SettingGroup.allCases.count)
        }
    }

    extension SettingGroup {
        /// Decodes a group of these members as the core does.
        /// - Returns: What it is when it is encoded again.
        fileprivate func decode(_ members: [String: SettingTree]) throws -> [String: JSONValue] {
            func coded<Value: SettingConvertible>(_ type: Value.Type) throws -> [String: JSONValue] {
                try JSONValue(encoding: Value.read(.group(members), of: rawValue, at: []).written()).members
            }
            return switch self {
            case .pipeline: try coded(Pipeline.Settings.self)
            case .timeout: try coded(Timeout.Settings.self)
            case .retry: try coded(Retry.Settings.self)
            case .hedge: try coded(Hedge.Settings.self)
            case .adaptiveThrottle: try coded(AdaptiveThrottle.Settings.self)
            case .circuitBreaker: try coded(CircuitBreaker.Settings.self)
            case .throttle: try coded(Throttle.Settings.self)
            case .bulkhead: try coded(Bulkhead.Settings.self)
            case .chaos: try coded(Chaos.Settings.self)
            case .backoff: try coded(Backoff.self)
            case .hedgeDelay: try coded(HedgeDelay.self)
            case .rule: try coded(TripRuleSettings.self)
            case .window: try coded(CallWindow.self)
            case .probes: try coded(ProbeRule.self)
            case .breakLength: try coded(BreakSettings.self)
            case .throttleLimit: try coded(ThrottleLimit.self)
            case .adaptiveLimit: try coded(AdaptiveLimit.self)
            case .loadShedding: try coded(LoadShedding.self)
            case .endpointPool: try coded(EndpointPoolSettings.self)
            case .outlierEjection: try coded(OutlierEjection.self)
            case .deviation: try coded(OutlierEjection.Deviation.self)
            case .failureShare: try coded(OutlierEjection.FailureShare.self)
            case .slowStart: try coded(SlowStart.self)
            }
        }

        fileprivate var title: String {
            switch self {
            case .pipeline: "Pipeline"
            case .timeout: "Timeout"
            case .retry: "Retry"
            case .hedge: "Hedge"
            case .adaptiveThrottle: "Adaptive throttle"
            case .circuitBreaker: "Circuit breaker"
            case .throttle: "Throttle"
            case .bulkhead: "Bulkhead"
            case .chaos: "Chaos"
            case .backoff: "Backoff"
            case .hedgeDelay: "Hedge delay"
            case .rule: "Trip rule"
            case .window: "Window"
            case .probes: "Probes"
            case .breakLength: "Break"
            case .throttleLimit: "Throttle limit"
            case .adaptiveLimit: "Adaptive limit"
            case .loadShedding: "Load shedding"
            case .endpointPool: "Endpoint pool"
            case .outlierEjection: "Outlier ejection"
            case .deviation: "Deviation"
            case .failureShare: "Failure share"
            case .slowStart: "Slow start"
            }
        }

        fileprivate var rows: [String] { fields.map(\.row) }
    }

    extension ResilienceConfiguration.SettingField {
        /// The row of a table: key, type, unit, range, default.
        fileprivate var row: String {
            let (type, unit) =
                switch kind {
                case .whole: ("whole number", "")
                case .number: ("number", "")
                case .seconds: ("number", "s")
                case .flag: ("true or false", "")
                case .text: ("text", "")
                case .names: ("list of names", "")
                case .secondsList: ("list of numbers", "s")
                case .choice: ("name", "")
                case .group(let group), .nested(let group): (Self.link(to: group), "")
                case .groups(let group): ("\(Self.link(to: group))s `0`, `1`, …", "")
                }
            return "| `\(name)` | \(type) | \(unit) | \(rangeText) | \(defaultText) |"
        }

        private static func link(to group: SettingGroup) -> String {
            "[\(group.title.lowercased())](#\(group.title.replacing(" ", with: "-")))"
        }

        private var rangeText: String {
            func text(_ number: Double) -> String { number == number.rounded() ? "\(Int(number))" : "\(number)" }
            if case .choice(let names) = kind { return names.map { "`\($0)`" }.joined(separator: ", ") }
            return switch range {
            case .any: ""
            case .failures: "verdicts"
            case .atLeast(let least): "\(text(least)) or more"
            case .above(let least): "above \(text(least))"
            case .within(let least, let most): "\(text(least)) to \(text(most))"
            case .aboveUpTo(let least, let most): "above \(text(least)), at most \(text(most))"
            case .between(let least, let most): "above \(text(least)), below \(text(most))"
            }
        }

        private var defaultText: String {
            switch standard {
            case .required: "must be given"
            case .none: "none"
            case .value(let text): Double(text) != nil || text == "true" || text == "false" ? text : "`\(text)`"
            case .kinds(let defaults):
                defaults.sorted { $0.key < $1.key }.map { kind, text in
                    "\(Double(text) == nil ? "`\(text)`" : text) (`\(kind)`)"
                }.joined(separator: ", ")
            case .byKind: ""
            case .text(let text): text
            }
        }
    }

    extension Int {
        fileprivate init(saturating number: Double) {
            self = number >= 9.2e18 ? .max : number <= -9.2e18 ? .min : Int(number)
        }
    }
#endif
