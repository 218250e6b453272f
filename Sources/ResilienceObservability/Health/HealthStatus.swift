/// The status of a service, or of one of its dependencies.
///
/// A worse status is greater: `statuses.max()` is the worst.
public enum HealthStatus: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
    /// All is well.
    case up
    /// It works, but not fully: calls to an optional dependency are rejected, or calls are slowed down.
    case degraded
    /// A required dependency does not work.
    case down

    /// The HTTP status for a load balancer: 503 if it is ``down``, and 200 otherwise.
    public var httpStatusCode: Int { self == .down ? 503 : 200 }

    /// The status as a number, for metrics: 0 is up, 1 is degraded, 2 is down.
    var level: Int {
        switch self {
        case .up: 0
        case .degraded: 1
        case .down: 2
        }
    }

    /// Returns whether one status is better than another.
    /// - Parameters:
    ///   - lhs: A status.
    ///   - rhs: Another status.
    public static func < (lhs: HealthStatus, rhs: HealthStatus) -> Bool { lhs.level < rhs.level }
}
