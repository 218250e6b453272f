#if Configuration
    internal import Resilience
    internal import ResilienceTraffic

    /// Settings that stand together, and their names: what can be looked up, since a reader can't list its keys.
    ///
    /// They are those of the core's schemas. Tests hold the schema's page to them.
    enum SettingGroup: String, CaseIterable, Sendable {
        case pipeline, timeout, retry, hedge, adaptiveThrottle, circuitBreaker, throttle, bulkhead, chaos
        case backoff, hedgeDelay, rule, window, probes, breakLength, throttleLimit, adaptiveLimit, loadShedding
        case endpointPool, outlierEjection, deviation, failureShare, slowStart

        /// Made once, since every name of every pipeline is looked up by them at each change.
        private static let all = Dictionary(uniqueKeysWithValues: allCases.map { ($0, fields(of: $0.form)) })

        // All cases are in it.
        var fields: [SettingField] { Self.all[self]! }

        private var form: SettingsForm {
            switch self {
            case .pipeline: Pipeline.Settings.schema.form
            case .timeout: Timeout.Settings.schema.form
            case .retry: Retry.Settings.schema.form
            case .hedge: Hedge.Settings.schema.form
            case .adaptiveThrottle: AdaptiveThrottle.Settings.schema.form
            case .circuitBreaker: CircuitBreaker.Settings.schema.form
            case .throttle: Throttle.Settings.schema.form
            case .bulkhead: Bulkhead.Settings.schema.form
            case .chaos: Chaos.Settings.schema.form
            case .backoff: Backoff.schema.form
            case .hedgeDelay: HedgeDelay.schema.form
            case .rule: CircuitBreaker.ruleForm
            case .window: CallWindow.schema.form
            case .probes: ProbeRule.schema.form
            case .breakLength: CircuitBreaker.breakForm
            case .throttleLimit: ThrottleLimit.schema.form
            case .adaptiveLimit: AdaptiveLimit.schema.form
            case .loadShedding: LoadShedding.schema.form
            case .endpointPool: EndpointPoolSettings.schema.form
            case .outlierEjection: OutlierEjection.schema.form
            case .deviation: OutlierEjection.Deviation.schema.form
            case .failureShare: OutlierEjection.FailureShare.schema.form
            case .slowStart: SlowStart.schema.form
            }
        }

        func field(named name: String) -> SettingField? { fields.first { $0.name == name } }
    }

    /// A setting: its name, and what it may be.
    struct SettingField: Sendable {
        enum Kind: Sendable, Hashable {
            case whole, number, seconds, flag, text, names, secondsList
            case choice([String])
            case group(SettingGroup)
            /// A group that contains one of its own kind: looked for only in a group of which something is given.
            case nested(SettingGroup)
            /// A list of groups, under the names 0, 1, 2, …; as `nested`.
            case groups(SettingGroup)
        }

        enum Default: Sendable, Hashable {
            case required
            /// The setting has no effect if it is left out.
            case none
            /// Of a group, its members in the order of their names.
            case value(String)
            /// The default for each `kind` that has one. A name of another setting stands for its value.
            case kinds([String: String])
            /// Whether it must be given depends on what else is.
            case byKind
            /// It depends on other settings, as this says.
            case text(String)
        }

        let name: String
        let kind: Kind
        let range: SettingRange
        let standard: Default

        /// Names that somebody probably meant this one with.
        var misspelt: [String] {
            guard name.hasSuffix("Seconds") else { return [] }
            let bare = String(name.dropLast("Seconds".count))
            return [bare, "\(bare)Milliseconds"]
        }
    }

    extension SettingGroup {
        fileprivate static func fields(of form: SettingsForm) -> [SettingField] {
            form.facts.map { facts in
                let own = form.defaults.compactMapValues { $0[facts.name].map(\.asDefault) }
                let standard: SettingField.Default =
                    switch facts.need {
                    case .required where form.isOneKind || facts.name == "kind": .required
                    case .conditional(let text) where own.isEmpty || form.isOneKind: .text(text)
                    case .required, .conditional: own.isEmpty ? .byKind : .kinds(own)
                    case .defaulted: own[""].map { .value($0) } ?? (own.isEmpty ? .none : .kinds(own))
                    }
                return SettingField(
                    name: facts.name, kind: kind(facts.type, of: facts.name), range: facts.range, standard: standard)
            }
        }

        private static func kind(_ type: SettingType, of field: String) -> SettingField.Kind {
            switch type {
            case .whole: .whole
            case .number: .number
            case .seconds: .seconds
            case .flag: .flag
            case .text: .text
            case .names: .names
            case .secondsList: .secondsList
            case .choice(let names): .choice(names)
            // Breaks contain breaks.
            case .group("BreakDuration") where field != "openFor": .nested(.breakLength)
            case .group(let name): .group(named(name))
            case .groups(let name): .groups(named(name))
            }
        }

        /// The group of a schema, "AdaptiveLimit" for example.
        private static func named(_ subject: String) -> SettingGroup {
            switch subject {
            case "TripRule": .rule
            case "CallWindow": .window
            case "ProbeRule": .probes
            case "BreakDuration": .breakLength
            case "OutlierEjection.Deviation": .deviation
            case "OutlierEjection.FailureShare": .failureShare
            // Tests read every group.
            default: SettingGroup(rawValue: subject.prefix(1).lowercased() + subject.dropFirst())!
            }
        }
    }

    extension SettingValue {
        /// Of a group, its members in the order of their names.
        fileprivate var asDefault: String {
            switch self {
            case .number(let number): Int(exactly: number).map { "\($0)" } ?? "\(number)"
            case .list(let elements): elements.map(\.asDefault).joined(separator: " + ")
            case .group(let members):
                members.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.asDefault)" }.joined(separator: ", ")
            case .text(let text): text
            case .null, .flag, .whole, .unreadable: shown
            }
        }
    }
#endif
