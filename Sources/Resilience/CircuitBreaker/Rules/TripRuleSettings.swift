/// The settings of a rule, as a file contains them: without counts and windows. Windows may be large, and an unchecked
/// file may name many windows.
struct TripRuleSettings: KindSettings {
    let bare: any TripRule

    init(_ rule: any TripRule) { bare = (rule as? any PackagedRule)?.bare ?? rule }

    /// The rule, with nothing counted.
    var rule: any TripRule {
        var rule = bare
        rule.reset()
        return rule
    }

    var description: String { bare.description }

    /// The number of simple rules that this rule consists of.
    private var size: Int { (bare as? CombinedRule)?.settings.reduce(0) { $0 + $1.size } ?? 1 }

    /// The number is limited because a window takes up to 1.6 MB.
    static let mostRules = 32

    static let schema = SettingsSchema(
        "TripRule", standard: TripRuleSettings(ConsecutiveFailures(limit: 5)),
        kinds: [
            kind(
                "consecutiveFailures", ConsecutiveFailures(limit: 5),
                [
                    SettingField("limit", \.limit, .atLeast(1)), SettingField("failing", \.failing),
                    SettingField("healthy", \.healthy),
                ]
            ) {
                $1.checkVerdicts($0.failing, $0.healthy)
            },
            failures(
                "failures", FailuresInWindow(limit: .count(1)),
                [
                    SettingField("count", \.limit.count, .atLeast(1), need: .required),
                    SettingField("window", \.window, need: .required),
                    SettingField("minimumCalls", \.minimumCalls, .atLeast(1), need: .conditional("`count`")),
                ]
            ) {
                $0.count != nil
            },
            failures(
                "failureRatio", FailuresInWindow(limit: .ratio(1), minimumCalls: 10),
                [
                    SettingField("ratio", \.limit.ratio, .aboveUpTo(0, 1), need: .required),
                    SettingField("window", \.window),
                    SettingField("minimumCalls", \.minimumCalls, .atLeast(1)),
                ]
            ) {
                $0.ratio != nil
            },
            kind(
                "slowCalls", SlowCalls(limit: .ratio(1), slowness: .seconds(1), minimumCalls: 10),
                [
                    SettingField("slownessSeconds", \.slowness, .above(0), need: .required),
                    SettingField("count", \.limit.count, .atLeast(1)),
                    SettingField(
                        "ratio", \.limit.ratio, .aboveUpTo(0, 1),
                        need: .conditional("must be given if `count` is missing")),
                    SettingField("window", \.window),
                    SettingField("minimumCalls", \.minimumCalls, .atLeast(1)),
                ]
            ) { rule, given in
                given.checkCalls(rule.window, rule.limit, rule.minimumCalls)
                if given.areSound("count", "ratio"), !given.has("count"), !given.has("ratio") {
                    given.noteMissing("ratio")
                }
            },
            combined("anyOf", .any), combined("allOf", .all),
            .code(standard: "", []) { _ in
                TripRuleSettings(ConsecutiveFailures(limit: 5))
            } finish: {
                $1.note($0, "must be a rule of this package")
            } values: {
                $0.description
            },
        ])

    private static func kind<Rule: TripRule>(
        _ name: String, _ standard: Rule, _ fields: [SettingField<Rule>],
        finish: @escaping @Sendable (inout Rule, inout GivenSettings) -> Void,
        isOwn: @escaping @Sendable (Rule) -> Bool = { _ in true }
    ) -> SettingVariant<TripRuleSettings> {
        SettingVariant(name, standard: standard, fields, make: { TripRuleSettings($0) }, finish: finish) {
            ($0.bare as? Rule).flatMap { isOwn($0) ? $0 : nil }
        }
    }

    private static func failures(
        _ name: String, _ standard: FailuresInWindow, _ fields: [SettingField<FailuresInWindow>],
        isOwn: @escaping @Sendable (FailuresInWindow.Limit) -> Bool
    ) -> SettingVariant<TripRuleSettings> {
        kind(
            name, standard,
            fields + [SettingField("failing", \.failing), SettingField("healthy", \.healthy)]
        ) { rule, given in
            given.checkCalls(rule.window, rule.limit, rule.minimumCalls)
            given.checkVerdicts(rule.failing, rule.healthy)
            if let count = rule.limit.count, !given.has("minimumCalls") { rule.minimumCalls = count }
        } isOwn: {
            isOwn($0.limit)
        }
    }

    private static func combined(_ name: String, _ quorum: CombinedRule.Quorum) -> SettingVariant<TripRuleSettings> {
        kind(
            name, CombinedRule(quorum: quorum, rules: []), [SettingField("rules", \.settings, need: .required)]
        ) { rule, given in
            guard given.areSound("rules") else { return }
            let size = TripRuleSettings(rule).size
            if rule.rules.isEmpty {
                given.note("rules", "[]", "must have at least one rule")
            } else if size > mostRules {
                given.note("rules", "\(size) rules", "must be at most \(mostRules), with those inside")
            }
        } isOwn: {
            $0.quorum == quorum
        }
    }
}

extension GivenSettings {
    /// Notes a problem if a number of calls exceeds the window.
    fileprivate mutating func checkCalls(
        _ window: CallWindow, _ limit: FailuresInWindow.Limit, _ minimumCalls: Int
    ) {
        guard areSound("window", "count", "minimumCalls"), case .calls(let size) = window.kind else { return }
        for (name, calls) in [("count", limit.count), ("minimumCalls", minimumCalls)] {
            // A wrong default is reported only if nothing else is wrong.
            if let calls, calls > size, has(name) || areAllSound {
                note(name, "\(calls)", "must be at most \(size), the calls of the window")
            }
        }
    }

    fileprivate mutating func checkVerdicts(_ failing: VerdictSet, _ healthy: VerdictSet) {
        guard areSound("failing", "healthy"), !failing.isDisjoint(with: healthy) else { return }
        note("failing", "\(failing)", "must have nothing in common with healthy, which is \(healthy)")
    }
}

extension FailuresInWindow.Limit {
    /// The number of failures (or slow calls) in the window that opens the circuit; at most the window's `calls`, 1 or
    /// more.
    var count: Int? {
        get { if case .count(let count) = self { count } else { nil } }
        set { if let newValue { self = .count(newValue) } }
    }

    /// The share of failures (or slow calls) in the window that opens the circuit; above 0 and at most 1.
    ///
    /// Ignored if there is a count.
    var ratio: Double? {
        get { if case .ratio(let ratio) = self { ratio } else { nil } }
        set { if let newValue, count == nil { self = .ratio(newValue) } }
    }
}

/// A rule of this package.
protocol PackagedRule: TripRule {
    /// The rule without counts and windows: until it is reset, use only its settings.
    var bare: Self { get }
}

extension PackagedRule {
    /// This rule, if its settings are valid; see ``SettingsGroup/valid()``.
    func checked() -> Self {
        // Safe: validation keeps the type.
        TripRuleSettings(self).valid().rule as! Self
    }
}

extension TripRule {
    /// Whether another rule has equal settings and equal counts; false for rules of other modules.
    func isSame(as other: any TripRule) -> Bool {
        switch (self, other) {
        case (let own as ConsecutiveFailures, let other as ConsecutiveFailures): own == other
        case (let own as FailuresInWindow, let other as FailuresInWindow): own == other
        case (let own as SlowCalls, let other as SlowCalls): own == other
        case (let own as CombinedRule, let other as CombinedRule):
            own.quorum == other.quorum && own.rules.count == other.rules.count
                && zip(own.rules, other.rules).allSatisfy { $0.isSame(as: $1) }
        // A rule of another module may have differences that it does not compare.
        case _: false
        }
    }
}
