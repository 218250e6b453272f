/// A policy that tells what a call would find there now, such as a ``CircuitBreaker``.
///
/// Conform to it with a policy of your own, and ``Pipeline/statuses``, ``Pipeline/isAllowed`` and a ``PolicyRegistry``
/// take your policy into account.
public protocol StatusReporting: Policy {
    /// What the policy tells.
    associatedtype Status: PolicyStatusDetail

    /// The policy's state now.
    var status: Status { get }
}

/// The state of a policy at one moment, as the policy tells it. Each policy declares a type of its own, such as
/// ``CircuitBreakerStatus``.
///
/// The types of this package are written with durations in seconds, which are exact to the nanosecond up to 48 days,
/// and instants in nanoseconds on their time base, which only the same process can read.
public protocol PolicyStatusDetail: Sendable, Hashable, Codable {
    /// A short, stable name for the kind of policy, such as "circuitBreaker".
    static var kind: String { get }

    /// Whether a call of cost 1 would be let through now, without a wait.
    var isAllowed: Bool { get }
}

/// The status of one policy of a pipeline: what a call would find there now.
///
/// It is written as an object of `policy`, `kind`, `isAllowed` and `status`, so a health endpoint is one line:
///
/// ```swift
/// try JSONEncoder().encode(pipelines.statuses)
/// ```
public struct PolicyStatus: Sendable, Encodable {
    /// The policy's name.
    public let policy: String
    /// What the policy tells.
    public let detail: any PolicyStatusDetail

    /// Creates a status.
    /// - Parameters:
    ///   - policy: The policy's name.
    ///   - detail: What the policy tells.
    public init(policy: String, detail: any PolicyStatusDetail) {
        self.policy = policy
        self.detail = detail
    }

    /// The kind of policy, such as "circuitBreaker".
    public var kind: String { type(of: detail).kind }

    /// Whether a call of cost 1 would be let through now, without a wait.
    public var isAllowed: Bool { detail.isAllowed }

    private enum CodingKeys: String, CodingKey { case policy, kind, isAllowed, status }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(policy, forKey: .policy)
        try container.encode(kind, forKey: .kind)
        try container.encode(isAllowed, forKey: .isAllowed)
        try container.encode(detail, forKey: .status)
    }
}

extension PolicyStatus: Hashable {
    public static func == (lhs: PolicyStatus, rhs: PolicyStatus) -> Bool {
        lhs.policy == rhs.policy && AnyHashable(lhs.detail) == AnyHashable(rhs.detail)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(policy)
        hasher.combine(AnyHashable(detail))
    }
}

extension Pipeline {
    /// The status of each policy of the pipeline that tells one, now, outermost first: of breakers, throttles,
    /// bulkheads, and policies of your own that are ``StatusReporting``.
    public var statuses: [PolicyStatus] {
        policies(of: (any StatusReporting).self).map { PolicyStatus(policy: $0.name, detail: $0.status) }
    }

    /// Whether a call of cost 1 would now get past all of the policies that tell their status, without a wait.
    public var isAllowed: Bool { statuses.allSatisfy(\.isAllowed) }
}
