/// A rule of this package, as what ``CircuitBreakerConfiguration`` reads and writes: its settings, without its counts and
/// windows.
indirect enum TripRuleSettings: Sendable, Hashable {
    case consecutive(limit: Int, failing: VerdictSet, healthy: VerdictSet)
    case failures(
        FailuresInWindow.Limit, over: CallWindow, minimumCalls: Int, failing: VerdictSet, healthy: VerdictSet)
    case slowCalls(FailuresInWindow.Limit, longerThan: Duration, over: CallWindow, minimumCalls: Int)
    case combined(CombinedRule.Quorum, [TripRuleSettings])

    static let standard = TripRuleSettings(.standard)

    private init(_ rule: ConsecutiveFailures) {
        self = .consecutive(limit: rule.limit, failing: rule.failing, healthy: rule.healthy)
    }

    /// - Returns: nil if it is a rule of another module.
    init?(_ rule: any TripRule) {
        switch rule {
        case let rule as ConsecutiveFailures: self.init(rule)
        case let rule as FailuresInWindow:
            self = .failures(
                rule.limit, over: rule.window, minimumCalls: rule.minimumCalls, failing: rule.failing,
                healthy: rule.healthy)
        case let rule as SlowCalls:
            self = .slowCalls(
                rule.limit, longerThan: rule.slowness.inNanoseconds, over: rule.window, minimumCalls: rule.minimumCalls)
        case let rule as CombinedRule:
            let rules = rule.rules.compactMap { TripRuleSettings($0) }
            guard rules.count == rule.rules.count else { return nil }
            self = .combined(rule.quorum, rules)
        default: return nil
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
        }
    }

    /// The number of rules that it consists of.
    var count: Int {
        if case .combined(_, let rules) = self { rules.reduce(0) { $0 + $1.count } } else { 1 }
    }
}

extension TripRuleSettings: Codable {
    /// A window takes up to 1.6 MB.
    static let mostRules = 32

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case kind, limit, count, ratio
        case slowness = "slownessSeconds"
        case window, minimumCalls, failing, healthy, rules
    }

    private enum Kind: String, CaseIterable, Encodable {
        case consecutiveFailures, failures, failureRatio, slowCalls, anyOf, allOf
    }

    init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "TripRule", by: CodingKeys.self) { reader in
            let kind: Kind = try reader.require(reader.choice(.kind), .kind)
            let standard = FailuresInWindow.failureRatio(1)
            var settings: TripRuleSettings
            switch kind {
            case .consecutiveFailures:
                let standard = ConsecutiveFailures.standard
                let (failing, healthy) = Self.verdicts(standard.failing, standard.healthy, &reader)
                settings = .consecutive(
                    limit: reader.value(.limit) ?? standard.limit, failing: failing, healthy: healthy)
            case .failures:
                let count = reader.require(reader.value(.count), .count, else: 1)
                let window = reader.require(reader.value(.window), .window, else: Self.anyWindow)
                let (failing, healthy) = Self.verdicts(standard.failing, standard.healthy, &reader)
                settings = .failures(
                    .count(count), over: window, minimumCalls: reader.value(.minimumCalls) ?? count,
                    failing: failing, healthy: healthy)
            case .failureRatio:
                let (failing, healthy) = Self.verdicts(standard.failing, standard.healthy, &reader)
                settings = .failures(
                    .ratio(reader.require(reader.value(.ratio), .ratio, else: 1)),
                    over: Self.window(standard.window, &reader),
                    minimumCalls: reader.value(.minimumCalls) ?? standard.minimumCalls, failing: failing,
                    healthy: healthy)
            case .slowCalls:
                let slowness = reader.require(reader.duration(.slowness), .slowness, else: .seconds(1))
                let limit: FailuresInWindow.Limit =
                    if let count: Int = reader.value(.count) {
                        .count(count)
                    } else if reader.isUnreadable(.count) {
                        .count(1)
                    } else {
                        .ratio(reader.require(reader.value(.ratio), .ratio, else: 1))
                    }
                let standard = SlowCalls.slowCalls(1, longerThan: .seconds(1))
                settings = .slowCalls(
                    limit, longerThan: slowness, over: Self.window(standard.window, &reader),
                    minimumCalls: reader.value(.minimumCalls) ?? standard.minimumCalls)
            case .anyOf, .allOf:
                let rules = reader.require(reader.list(.rules), .rules, else: [TripRuleSettings.standard])
                settings = .combined(kind == .anyOf ? .any : .all, rules)
                if settings.count > Self.mostRules {
                    reader.note(
                        .rules, "\(settings.count) rules", "must be at most \(Self.mostRules), with those inside")
                    settings = .standard
                }
            }
            // Checks them.
            _ = settings.rule
            return settings
        }
    }

    /// Goes with any number of calls, in the place of a window that can't be read.
    private static let anyWindow = CallWindow.time(.seconds(1))

    private static func window(_ standard: CallWindow, _ reader: inout SettingsReader<CodingKeys>) -> CallWindow {
        reader.value(.window) ?? (reader.isUnreadable(.window) ? anyWindow : standard)
    }

    /// Nothing if one of the two can't be read, since they must not overlap.
    private static func verdicts(
        _ failing: VerdictSet, _ healthy: VerdictSet, _ reader: inout SettingsReader<CodingKeys>
    ) -> (failing: VerdictSet, healthy: VerdictSet) {
        let given = (reader.value(.failing) ?? failing, reader.value(.healthy) ?? healthy)
        return reader.isUnreadable(.failing) || reader.isUnreadable(.healthy) ? ([], []) : given
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        func encode(_ kind: Kind, _ limit: FailuresInWindow.Limit, _ window: CallWindow, _ minimumCalls: Int) throws {
            try container.encode(kind, forKey: .kind)
            switch limit {
            case .count(let count): try container.encode(count, forKey: .count)
            case .ratio(let ratio): try container.encode(ratio, forKey: .ratio)
            }
            try container.encode(window, forKey: .window)
            try container.encode(minimumCalls, forKey: .minimumCalls)
        }
        switch self {
        case .consecutive(let limit, let failing, let healthy):
            try container.encode(Kind.consecutiveFailures, forKey: .kind)
            try container.encode(limit, forKey: .limit)
            try container.encode(failing, forKey: .failing)
            try container.encode(healthy, forKey: .healthy)
        case .failures(let limit, let window, let minimumCalls, let failing, let healthy):
            let kind: Kind = if case .count = limit { .failures } else { .failureRatio }
            try encode(kind, limit, window, minimumCalls)
            try container.encode(failing, forKey: .failing)
            try container.encode(healthy, forKey: .healthy)
        case .slowCalls(let limit, let slowness, let window, let minimumCalls):
            try encode(.slowCalls, limit, window, minimumCalls)
            try container.encode(slowness, forKey: .slowness)
        case .combined(let quorum, let rules):
            try container.encode(quorum == .any ? Kind.anyOf : .allOf, forKey: .kind)
            try container.encode(rules, forKey: .rules)
        }
    }
}

/// `{"calls": 100}`, or `{"lengthSeconds": 10, "buckets": 10}`.
extension CallWindow: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case count = "calls"
        case length = "lengthSeconds"
        case buckets
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "CallWindow", by: CodingKeys.self) { reader in
            if let count: Int = reader.value(.count) { return .calls(count) }
            if reader.isUnreadable(.count) { return .time(.seconds(1)) }
            let length = reader.require(reader.duration(.length), .length, else: .seconds(1))
            return reader.value(.buckets).map { .time(length, buckets: $0) } ?? .time(length)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch kind {
        case .calls(let count):
            try container.encode(count, forKey: .count)
        case .time(let nanoseconds, let buckets):
            try container.encode(Duration.nanoseconds(nanoseconds), forKey: .length)
            try container.encode(buckets, forKey: .buckets)
        }
    }
}
