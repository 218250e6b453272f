import Resilience

/// The health of a service and its dependencies, at one moment.
///
/// It is made by a ``HealthMonitor``.
///
/// Its size is limited: the worst components come first, then the required ones, then the others in the order of the
/// monitor and by name. Components beyond the monitor's limit are only counted, in ``totals``.
public struct HealthReport: Sendable, Hashable, Encodable {
    /// The name of the service.
    public let name: String
    /// The status of the worst component; ``HealthStatus/up`` if there is none.
    public let status: HealthStatus
    /// Counts of all components, including those not in ``components``.
    public let totals: HealthTotals
    /// The components, the worst first, as many as the limit allows.
    public let components: [HealthComponent]

    /// Creates a report, for tests and previews.
    ///
    /// - Parameters:
    ///   - name: The name of the service.
    ///   - status: The status of the worst component.
    ///   - totals: Counts of all components.
    ///   - components: The components, the worst first.
    public init(name: String, status: HealthStatus, totals: HealthTotals, components: [HealthComponent]) {
        self.name = name
        self.status = status
        self.totals = totals
        self.components = components
    }
}

/// Counts of all components of a ``HealthReport``.
public struct HealthTotals: Sendable, Hashable, Codable {
    /// The number of components.
    public internal(set) var components = 0
    /// The number of components that are not listed in the report.
    public internal(set) var omitted = 0
    /// The number of components that are degraded.
    public internal(set) var degraded = 0
    /// The number of components that are down.
    public internal(set) var down = 0
    /// The number of policies in each abnormal state, such as "open" or "half-open".
    public internal(set) var states: [String: Int] = [:]

    /// Creates counts of no component.
    public init() {}

    mutating func count(_ component: HealthComponent) {
        components += 1
        switch component.status {
        case .up: break
        case .degraded: degraded += 1
        case .down: down += 1
        }
        for policy in component.policies where ![.up, .busy].contains(policy.condition.level) {
            states[policy.condition.state, default: 0] += 1
        }
    }
}
