import Resilience

/// Decides the status of a component.
///
/// The status of the whole service is the status of its worst component.
///
/// The standard rule uses the condition that each policy reports (``/Resilience/PolicyCondition``):
///
/// | the component | optional | required |
/// |---|---|---|
/// | has a policy that is down: a circuit that is open and rejects all calls, or is isolated | degraded | down |
/// | is a queue whose store fails or does not answer | degraded | down |
/// | has a policy that is degraded: see below | degraded | degraded |
/// | is anything else | up | up |
///
/// These are degraded: a circuit that is half-open, or whose break is over; a throttle that holds all calls; an
/// adaptive throttle that rejects a share of the calls; a bulkhead that is full with a full queue, or that sheds calls;
/// a pool that has too few endpoints left and so uses all, or that has none; a chaos policy that is on; a paused queue;
/// and a policy of your own that admits no call, unless it reports another condition.
///
/// A rule of your own can begin with the standard one:
///
/// ```swift
/// let rule = HealthRule { component in
///     if (component.policies.first?.status as? SyncStatus)?.dead ?? 0 > 100 { return .degraded }
///     return HealthRule.standard.status(of: component)
/// }
/// ```
public struct HealthRule: Sendable {
    /// The rule in the table above.
    public static let standard = HealthRule { standardStatus(of: $0) }

    private let judge: @Sendable (HealthComponent) -> HealthStatus

    /// Creates a rule.
    ///
    /// - Parameter judge: Returns the status of a component. The component's own status is not decided yet; ignore
    ///   it. It is called for every key of every registry, so it should be fast.
    public init(_ judge: @escaping @Sendable (HealthComponent) -> HealthStatus) { self.judge = judge }

    /// Returns the status of a component.
    ///
    /// - Parameter component: The component. Its own status is ignored by the standard rule.
    public func status(of component: HealthComponent) -> HealthStatus { judge(component) }

    private static func standardStatus(of component: HealthComponent) -> HealthStatus {
        let levels = component.policies.map(\.condition.level)
        if component.problem != nil || levels.contains(.down) { return component.isRequired ? .down : .degraded }
        return levels.contains(.degraded) ? .degraded : .up
    }
}
