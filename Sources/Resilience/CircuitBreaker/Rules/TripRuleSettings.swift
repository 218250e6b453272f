/// A rule as what a file has of it: its settings, without its counts and windows.
indirect enum TripRuleSettings: Sendable, Hashable {
    case consecutive(limit: Int, failing: VerdictSet, healthy: VerdictSet)
    case failures(
        FailuresInWindow.Limit, over: CallWindow, minimumCalls: Int, failing: VerdictSet, healthy: VerdictSet)
    case slowCalls(FailuresInWindow.Limit, longerThan: Duration, over: CallWindow, minimumCalls: Int)
    case combined(CombinedRule.Quorum, [TripRuleSettings])
    /// A rule of another module, and its description.
    case foreign(String)

    init(_ rule: any TripRule) {
        switch rule {
        case let rule as ConsecutiveFailures:
            self = .consecutive(limit: rule.limit, failing: rule.failing, healthy: rule.healthy)
        case let rule as FailuresInWindow:
            self = .failures(
                rule.limit, over: rule.window, minimumCalls: rule.minimumCalls, failing: rule.failing,
                healthy: rule.healthy)
        case let rule as SlowCalls:
            self = .slowCalls(
                rule.limit, longerThan: rule.slowness.inNanoseconds, over: rule.window, minimumCalls: rule.minimumCalls)
        case let rule as CombinedRule:
            self = .combined(rule.quorum, rule.rules.map { TripRuleSettings($0) })
        default: self = .foreign(rule.description)
        }
    }

    var rule: any TripRule {
        switch self {
        case .consecutive(let limit, let failing, let healthy):
            ConsecutiveFailures(limit, failing: failing, healthy: healthy)
        case .failures(let limit, let window, let minimumCalls, let failing, let healthy):
            FailuresInWindow(limit, over: window, minimumCalls: minimumCalls, failing: failing, healthy: healthy)
        case .slowCalls(let limit, let slowness, let window, let minimumCalls):
            SlowCalls(limit, longerThan: slowness, over: window, minimumCalls: minimumCalls)
        case .combined(let quorum, let rules): CombinedRule(quorum, of: rules.map(\.rule))
        // No policy is made with it: it is invalid.
        case .foreign: ConsecutiveFailures.standard
        }
    }

    /// The number of rules that it consists of.
    var count: Int {
        if case .combined(_, let rules) = self { rules.reduce(0) { $0 + $1.count } } else { 1 }
    }
}

extension TripRuleSettings: SettingsGroup {
    /// A window takes up to 1.6 MB.
    static let mostRules = 32

    struct Parts: Sendable {
        /// How many failures in a row open the circuit.
        var limit = 5
        /// How many failures, or slow calls, of the window open the circuit; at most its `calls`.
        var count: Int?
        /// Which share of failures, or slow calls, of the window opens the circuit.
        var ratio: Double?
        /// From when on a call is slow.
        var slowness = Duration.seconds(1)
        /// The calls that the rule looks back on.
        var window = CallWindow.calls(100)
        /// How many calls the window must have before anything opens the circuit; at most its `calls`.
        var minimumCalls: Int? = 10
        /// The verdicts that are failures.
        var failing: VerdictSet = [.transient, .uncertain]
        /// The verdicts that are successes; none of the failures. Others do not count.
        var healthy: VerdictSet = [.success, .permanent]
        /// The rules of which one, or each, must say so; at least one, and at most 32 with those inside.
        var rules: [TripRuleSettings] = []
        var foreign = ""

        var windowLimit: FailuresInWindow.Limit { count.map { .count($0) } ?? .ratio(ratio ?? 1) }
        var leastCalls: Int { minimumCalls ?? count ?? 1 }

        /// What one of a window holds.
        fileprivate mutating func check(_ given: inout GivenSettings) {
            guard given.areSound("window", "count", "minimumCalls"), case .calls(let size) = window.kind else { return }
            for (name, calls) in [("count", count), ("minimumCalls", minimumCalls)] {
                // Of a default nobody needs to hear, unless it is all that is wrong.
                if let calls, calls > size, given.has(name) || given.areAllSound {
                    given.note(name, "\(calls)", "must be at most \(size), the calls of the window")
                }
            }
        }

        fileprivate func checkVerdicts(_ given: inout GivenSettings) {
            guard given.areSound("failing", "healthy"), !failing.isDisjoint(with: healthy) else { return }
            given.note("failing", "\(failing)", "must have nothing in common with healthy, which is \(healthy)")
        }
    }

    /// The parts, if they are valid; see ``SettingsGroup/valid()``.
    var checkedParts: Parts { valid().parts }

    private var parts: Parts {
        var parts = Parts()
        func take(_ limit: FailuresInWindow.Limit, _ window: CallWindow, _ minimumCalls: Int) {
            switch limit {
            case .count(let count): parts.count = count
            case .ratio(let ratio): parts.ratio = ratio
            }
            (parts.window, parts.minimumCalls) = (window, minimumCalls)
        }
        switch self {
        case .consecutive(let limit, let failing, let healthy):
            (parts.limit, parts.failing, parts.healthy) = (limit, failing, healthy)
        case .failures(let limit, let window, let minimumCalls, let failing, let healthy):
            take(limit, window, minimumCalls)
            (parts.failing, parts.healthy) = (failing, healthy)
        case .slowCalls(let limit, let slowness, let window, let minimumCalls):
            take(limit, window, minimumCalls)
            parts.slowness = slowness
        case .combined(_, let rules): parts.rules = rules
        case .foreign: break
        }
        return parts
    }

    static let schema = SettingsSchema(
        "TripRule", standard: consecutive(limit: 5, failing: .transient, healthy: .success),
        kinds: [
            kind("consecutiveFailures", [SettingField("limit", \.limit, .atLeast(1))] + verdicts) {
                .consecutive(limit: $0.limit, failing: $0.failing, healthy: $0.healthy)
            } finish: {
                $0.checkVerdicts(&$1)
            } isOwn: {
                if case .consecutive = $0 { true } else { false }
            },
            failures(
                "failures",
                [
                    SettingField("count", \.count, .atLeast(1), need: .required),
                    SettingField("window", \.window, need: .required),
                    SettingField("minimumCalls", \.minimumCalls, .atLeast(1), need: .conditional("`count`")),
                ], Parts(count: 1, minimumCalls: nil)
            ) {
                if case .count = $0 { true } else { false }
            },
            failures(
                "failureRatio",
                [
                    SettingField("ratio", \.ratio, .aboveUpTo(0, 1), need: .required),
                    SettingField("window", \.window),
                    SettingField("minimumCalls", \.minimumCalls, .atLeast(1)),
                ], Parts(ratio: 1)
            ) {
                if case .ratio = $0 { true } else { false }
            },
            kind(
                "slowCalls",
                [
                    SettingField("slownessSeconds", \.slowness, .above(0), need: .required),
                    SettingField("count", \.count, .atLeast(1)),
                    SettingField(
                        "ratio", \.ratio, .aboveUpTo(0, 1), need: .conditional("must be given without `count`")),
                    SettingField("window", \.window),
                    SettingField("minimumCalls", \.minimumCalls, .atLeast(1)),
                ]
            ) {
                .slowCalls($0.windowLimit, longerThan: $0.slowness, over: $0.window, minimumCalls: $0.leastCalls)
            } finish: { parts, given in
                parts.check(&given)
                if given.areSound("count", "ratio"), parts.count == nil, parts.ratio == nil {
                    given.noteMissing("ratio")
                }
            } isOwn: {
                if case .slowCalls = $0 { true } else { false }
            },
            combined("anyOf", .any), combined("allOf", .all),
            .code(standard: Parts(), []) { _ in
                foreign("")
            } finish: {
                $1.note("\($0.foreign)", "must be a rule of this package")
            } values: {
                guard case .foreign(let text) = $0 else { return nil }
                return Parts(foreign: text)
            },
        ])

    private static let verdicts = [
        SettingField("failing", \Parts.failing), SettingField("healthy", \Parts.healthy),
    ]

    private static func kind(
        _ name: String, _ fields: [SettingField<Parts>], standard: Parts = Parts(),
        make: @escaping @Sendable (Parts) -> TripRuleSettings,
        finish: @escaping @Sendable (inout Parts, inout GivenSettings) -> Void,
        isOwn: @escaping @Sendable (TripRuleSettings) -> Bool
    ) -> SettingVariant<TripRuleSettings> {
        SettingVariant(name, standard: standard, fields, make: make, finish: finish) { isOwn($0) ? $0.parts : nil }
    }

    private static func failures(
        _ name: String, _ fields: [SettingField<Parts>], _ standard: Parts,
        isOwn: @escaping @Sendable (FailuresInWindow.Limit) -> Bool
    ) -> SettingVariant<TripRuleSettings> {
        kind(name, fields + verdicts, standard: standard) {
            .failures(
                $0.windowLimit, over: $0.window, minimumCalls: $0.leastCalls, failing: $0.failing, healthy: $0.healthy)
        } finish: {
            $0.check(&$1)
            $0.checkVerdicts(&$1)
        } isOwn: {
            if case .failures(let limit, _, _, _, _) = $0 { isOwn(limit) } else { false }
        }
    }

    private static func combined(_ name: String, _ quorum: CombinedRule.Quorum) -> SettingVariant<TripRuleSettings> {
        kind(name, [SettingField("rules", \.rules, need: .required)]) {
            .combined(quorum, $0.rules)
        } finish: { parts, given in
            guard given.areSound("rules") else { return }
            let count = parts.rules.reduce(0) { $0 + $1.count }
            if parts.rules.isEmpty {
                given.note("rules", "[]", "must have at least one rule")
            } else if count > mostRules {
                given.note("rules", "\(count) rules", "must be at most \(mostRules), with those inside")
            }
        } isOwn: {
            if case .combined(quorum, _) = $0 { true } else { false }
        }
    }
}
