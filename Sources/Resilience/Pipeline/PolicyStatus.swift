/// A type that reports its state: a policy, such as a ``CircuitBreaker``, or something else that calls go through, such
/// as a `CallCache`.
///
/// Conform a policy of your own, and ``Pipeline/statuses``, ``Pipeline/isAllowed``, a ``PolicyRegistry``, health
/// reports, gauges and the live page include it.
public protocol StatusReporting: Sendable {
    /// The type of the status.
    associatedtype Status: PolicyStatusDetail

    /// The name.
    var name: String { get }
    /// The present time on the time base of its instants.
    ///
    /// A `Policy` has it from its time base.
    var presentTime: MonotonicInstant { get }
    /// The state now.
    var status: Status { get }
    /// Whether the object has a status: the answer never changes, and is true by default.
    ///
    /// `Pipeline.statuses` omits policies without one.
    var hasStatus: Bool { get }
    /// Performs an action that `PolicyStatusDetail.actions(at:)` offers.
    ///
    /// Does nothing by default.
    ///
    /// - Parameter action: The action's name.
    /// - Returns: Whether there is such an action, and its state allows it.
    func perform(_ action: String) -> Bool
}

extension StatusReporting where Self: Policy {
    public var presentTime: MonotonicInstant { timeBase?.now ?? SystemTimeBase.shared.now }
}

extension StatusReporting {
    public var hasStatus: Bool { true }
    public func perform(_ action: String) -> Bool { false }
}

/// A type whose state is stored elsewhere, such as a durable queue: reading the state takes time and may fail.
public protocol StoredStatusReporting: Sendable {
    /// The name.
    var name: String { get }
    /// The time base of the status' instants.
    var clock: any TimeBase { get }
    /// Reads the state.
    ///
    /// - Returns: The status.
    /// - Throws: Any error of the store.
    func readStatus() async throws -> any PolicyStatusDetail
}

/// The state of a policy at one moment, as the policy reports it.
///
/// Each policy declares a type of its own, such as ``CircuitBreakerStatus``.
///
/// This package's types write durations in seconds, exact to the nanosecond up to 48 days, and instants in nanoseconds
/// on their time base, which only the same process can read.
public protocol PolicyStatusDetail: Sendable, Hashable, Codable {
    /// A short, stable name for the kind of policy, such as "circuitBreaker".
    static var kind: String { get }

    /// Whether a call of cost 1 would be let through now, without a wait.
    var isAllowed: Bool { get }

    /// Returns the policy's condition.
    ///
    /// By default it is up if a call is allowed, and degraded otherwise.
    ///
    /// - Parameter now: The present time on the time base of its instants.
    func condition(at now: MonotonicInstant) -> PolicyCondition

    /// Returns the policy's numbers, for metrics and pages.
    ///
    /// None by default.
    ///
    /// - Parameter now: The present time on the time base of its instants.
    func readings(at now: MonotonicInstant) -> [StatusReading]

    /// Returns the actions that an operator can take now.
    ///
    /// None by default.
    ///
    /// - Parameter now: The present time on the time base of its instants.
    func actions(at now: MonotonicInstant) -> [PolicyAction]
}

extension PolicyStatusDetail {
    public func condition(at now: MonotonicInstant) -> PolicyCondition {
        isAllowed ? PolicyCondition("allows calls", .up) : PolicyCondition("allows no call", .degraded)
    }
    public func readings(at now: MonotonicInstant) -> [StatusReading] { [] }
    public func actions(at now: MonotonicInstant) -> [PolicyAction] { [] }
}

/// The status of one policy of a pipeline, as a call would find it now.
///
/// It is written as an object of `policy`, `kind`, `isAllowed` and `status`, so a health endpoint is one line:
///
/// ```swift
/// try JSONEncoder().encode(pipelines.statuses)
/// ```
public struct PolicyStatus: Sendable, Encodable {
    /// The policy's name.
    public let policy: String
    /// The policy's own status.
    public let detail: any PolicyStatusDetail

    /// Creates a status.
    ///
    /// - Parameters:
    ///   - policy: The policy's name.
    ///   - detail: The policy's details.
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
    /// The policies that report a status, outermost first.
    package var reporting: [any StatusReporting] { policies(of: (any StatusReporting).self).filter(\.hasStatus) }

    /// The present status of each policy that reports one, outermost first: breakers, throttles, bulkheads, and
    /// policies of your own that are ``StatusReporting``.
    public var statuses: [PolicyStatus] {
        reporting.map { PolicyStatus(policy: $0.name, detail: $0.status) }
    }

    /// Whether a call of cost 1 would now get past all policies that report a status, without a wait.
    public var isAllowed: Bool { statuses.allSatisfy(\.isAllowed) }
}
