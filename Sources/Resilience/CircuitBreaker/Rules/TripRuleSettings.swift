/// A rule of this package, as what ``CircuitBreakerConfiguration`` reads and writes. It has counted nothing.
indirect enum TripRuleSettings: Sendable, Hashable {
    case consecutive(ConsecutiveFailures)
    case failures(FailuresInWindow)
    case slowCalls(SlowCalls)
    case combined(CombinedRule.Quorum, [TripRuleSettings])

    /// - Returns: nil if it is a rule of another module.
    init?(_ rule: any TripRule) {
        var rule = rule
        rule.reset()
        switch rule {
        case let rule as ConsecutiveFailures: self = .consecutive(rule)
        case let rule as FailuresInWindow: self = .failures(rule)
        case let rule as SlowCalls: self = .slowCalls(rule)
        case let rule as CombinedRule:
            let rules = rule.rules.compactMap(TripRuleSettings.init)
            guard rules.count == rule.rules.count else { return nil }
            self = .combined(rule.quorum, rules)
        default: return nil
        }
    }

    var rule: any TripRule {
        switch self {
        case .consecutive(let rule): rule
        case .failures(let rule): rule
        case .slowCalls(let rule): rule
        case .combined(let quorum, let rules): CombinedRule(quorum, of: rules.map(\.rule))
        }
    }
}

extension TripRuleSettings: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case kind, limit, count, ratio, window, minimumCalls, failing, healthy, rules
        case slowness = "slownessSeconds"
    }

    private enum Kind: String, CaseIterable, Encodable {
        case consecutiveFailures, failures, failureRatio, slowCalls, anyOf, allOf
    }

    init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "TripRule", by: CodingKeys.self) { reader in
            let kind: Kind = try reader.require(try reader.choice(.kind), .kind)
            switch kind {
            case .consecutiveFailures:
                let standard = ConsecutiveFailures.standard
                return .consecutive(
                    ConsecutiveFailures(
                        try reader.value(.limit) ?? standard.limit,
                        failing: try reader.value(.failing) ?? standard.failing,
                        healthy: try reader.value(.healthy) ?? standard.healthy))
            case .failures:
                let count: Int = try reader.require(try reader.value(.count), .count)
                let window: CallWindow = try reader.require(try reader.value(.window), .window)
                return .failures(try Self.failures(.count(count), over: window, minimumCalls: count, &reader))
            case .failureRatio:
                let ratio: Double = try reader.require(try reader.value(.ratio), .ratio)
                let standard = FailuresInWindow.failureRatio(1)
                return .failures(
                    try Self.failures(
                        .ratio(ratio), over: try reader.value(.window) ?? standard.window,
                        minimumCalls: standard.minimumCalls, &reader))
            case .slowCalls:
                let slowness = try reader.require(try reader.duration(.slowness), .slowness)
                let count: Int? = try reader.value(.count)
                let limit: FailuresInWindow.Limit =
                    try count.map { .count($0) } ?? .ratio(try reader.require(try reader.value(.ratio), .ratio))
                let standard = SlowCalls.slowCalls(1, longerThan: .seconds(1))
                return .slowCalls(
                    SlowCalls(
                        limit, longerThan: slowness, over: try reader.value(.window) ?? standard.window,
                        minimumCalls: try reader.value(.minimumCalls) ?? standard.minimumCalls))
            case .anyOf, .allOf:
                let rules: [TripRuleSettings] = try reader.require(try reader.value(.rules), .rules)
                let combined = CombinedRule(kind == .anyOf ? .any : .all, of: rules.map(\.rule))
                return .combined(combined.quorum, rules)
            }
        }
    }

    private static func failures(
        _ limit: FailuresInWindow.Limit, over window: CallWindow, minimumCalls: Int,
        _ reader: inout SettingsReader<CodingKeys>
    ) throws -> FailuresInWindow {
        let standard = FailuresInWindow.failureRatio(1)
        return FailuresInWindow(
            limit, over: window, minimumCalls: try reader.value(.minimumCalls) ?? minimumCalls,
            failing: try reader.value(.failing) ?? standard.failing,
            healthy: try reader.value(.healthy) ?? standard.healthy)
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
        case .consecutive(let rule):
            try container.encode(Kind.consecutiveFailures, forKey: .kind)
            try container.encode(rule.limit, forKey: .limit)
            try container.encode(rule.failing, forKey: .failing)
            try container.encode(rule.healthy, forKey: .healthy)
        case .failures(let rule):
            let kind: Kind = if case .count = rule.limit { .failures } else { .failureRatio }
            try encode(kind, rule.limit, rule.window, rule.minimumCalls)
            try container.encode(rule.failing, forKey: .failing)
            try container.encode(rule.healthy, forKey: .healthy)
        case .slowCalls(let rule):
            try encode(.slowCalls, rule.limit, rule.window, rule.minimumCalls)
            try container.encode(rule.slowness, forKey: .slowness)
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
            if let count: Int = try reader.value(.count) { return .calls(count) }
            let length = try reader.require(try reader.duration(.length), .length)
            return try reader.value(.buckets).map { .time(length, buckets: $0) } ?? .time(length)
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
