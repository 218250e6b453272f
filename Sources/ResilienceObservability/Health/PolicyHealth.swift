public import Resilience

/// The state of one policy of a component, as a part of a ``HealthReport``.
///
/// It is written as an object of `policy`, `kind`, `isAllowed`, `state`, `level`, `timeLeftSeconds` if known, and
/// `readings`: numbers by name. So a report can always be encoded, whatever your own types contain.
public struct PolicyHealth: Sendable, Encodable {
    /// The policy's name.
    public let policy: String
    /// The kind of policy, such as "circuitBreaker".
    public var kind: String { type(of: status).kind }
    /// The policy's own status: `health.status as? CircuitBreakerStatus`.
    public let status: any PolicyStatusDetail
    /// The policy's condition.
    public let condition: PolicyCondition
    /// The policy's numbers, except unknown and unlimited ones.
    public let readings: [StatusReading]
    /// The actions that an operator can take.
    public let actions: [PolicyAction]

    /// Creates the health of a policy.
    ///
    /// - Parameters:
    ///   - status: The policy's own status.
    ///   - now: The present time on the policy's time base.
    public init(_ status: PolicyStatus, at now: MonotonicInstant) {
        policy = bounded(status.policy)
        self.status = status.detail
        condition = status.detail.condition(at: now)
        readings = status.detail.readings(at: now).filter { $0.value != nil }
        actions = status.detail.actions(at: now)
    }

    private enum CodingKeys: String, CodingKey {
        case policy, kind, isAllowed, state, level, readings
        case timeLeft = "timeLeftSeconds"
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(policy, forKey: .policy)
        try container.encode(kind, forKey: .kind)
        try container.encode(status.isAllowed, forKey: .isAllowed)
        try container.encode(condition.state, forKey: .state)
        try container.encode(condition.level, forKey: .level)
        try container.encodeIfPresent(condition.timeLeft, forKey: .timeLeft)
        let numbers = readings.filter { $0.state == nil }.map { ($0.name, $0.value) }
        try container.encode(Dictionary(numbers) { first, _ in first }, forKey: .readings)
    }
}

extension PolicyHealth: Hashable {
    public static func == (lhs: PolicyHealth, rhs: PolicyHealth) -> Bool {
        lhs.policy == rhs.policy && lhs.condition == rhs.condition && lhs.readings == rhs.readings
            && AnyHashable(lhs.status) == AnyHashable(rhs.status)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(policy)
        hasher.combine(AnyHashable(status))
    }
}

/// Returns a name that is short enough for a report: at most 200 Unicode scalars. A longer name is cut, and ends with a
/// checksum of the whole name, so that two long names stay different.
package func bounded(_ name: String) -> String {
    let limit = 200
    guard name.utf8.count > limit, name.unicodeScalars.count > limit else { return name }
    // FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv
    let sum = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return String(String.UnicodeScalarView(name.unicodeScalars.prefix(limit - 17))) + "…" + String(sum, radix: 16)
}
