import Resilience

/// Decides how well a component is. The status of the whole service is that of its worst component.
///
/// The standard rule:
///
/// | the component | optional | required |
/// |---|---|---|
/// | has a circuit that is open and rejects all calls, or that is isolated | degraded | down |
/// | is a queue whose store fails or does not answer | degraded | down |
/// | has a circuit that is half-open, or whose break is over | degraded | degraded |
/// | has a throttle that holds all calls | degraded | degraded |
/// | has an adaptive throttle that rejects a share of the calls | degraded | degraded |
/// | has a bulkhead that is full, and its queue is full too, or that sheds calls | degraded | degraded |
/// | has a pool that uses all of its endpoints since too few are left, or has none | degraded | degraded |
/// | has a chaos policy that is on | degraded | degraded |
/// | has a policy of your own that lets no call through | degraded | degraded |
/// | is a queue that is paused | degraded | degraded |
/// | is anything else | up | up |
///
/// A circuit that has been half-open, or open, for a minute, and would let its first probe in, has no traffic: nothing is
/// held up, and only a call can tell more. It is up. So is one that was restored half-open and has had no call since. A
/// half-open circuit of your own tells its probes in ``/Resilience/CircuitBreakerStatus/callCount``.
///
/// A rule of your own can begin with the standard one:
///
/// ```swift
/// let rule = HealthRule { component in
///     if (component.queue?.status?.dead ?? 0) > 100 { return .degraded }
///     return HealthRule.standard.status(of: component)
/// }
/// ```
public struct HealthRule: Sendable {
    /// The rule of the table above.
    public static let standard = HealthRule { standardStatus(of: $0) }

    private let judge: @Sendable (HealthComponent) -> HealthStatus

    /// Creates a rule.
    /// - Parameter judge: Returns how well a component is. The component's own status is not decided yet; ignore it. It
    ///   is called for every key of every registry, so it should be fast.
    public init(_ judge: @escaping @Sendable (HealthComponent) -> HealthStatus) { self.judge = judge }

    /// Returns how well a component is.
    /// - Parameter component: The component. Its own status is ignored by the standard rule.
    public func status(of component: HealthComponent) -> HealthStatus { judge(component) }

    private static func standardStatus(of component: HealthComponent) -> HealthStatus {
        if component.queue?.problem != nil || component.policies.contains(where: { $0.circuit?.isTripped ?? false }) {
            return component.isRequired ? .down : .degraded
        }
        let isPaused = component.queue?.isPaused ?? false
        if isPaused || component.policies.contains(where: \.isLimping) { return .degraded }
        return .up
    }
}

extension PolicyHealth {
    /// Whether calls are held up or rejected in a way that is no part of normal work. That a bulkhead or a throttle
    /// makes a call wait for its turn is normal.
    fileprivate var isLimping: Bool {
        if let circuit {
            // In the other two modes the circuit rejects nothing, whatever its state.
            return circuit.state != .closed && (circuit.mode == .automatic || circuit.mode == .isolated) && !isIdle
        }
        if throttle != nil { return heldFor.map { $0 > .zero } ?? false }
        if let adaptiveThrottle { return adaptiveThrottle.rejection > 0 }
        if let endpointPool { return endpointPool.isPanicking || !isAllowed }
        if let chaos { return chaos.isOn }
        if let bulkhead {
            return bulkhead.isShedding || bulkhead.inUse >= bulkhead.limit && bulkhead.queued >= bulkhead.queueLimit
        }
        return !isAllowed
    }

    /// Whether the circuit waits for its first probe, and nobody calls: the first call would be one. With a probe on its
    /// way, no other is let in. A half-open circuit that has counted a probe, or is in its ramp, is recovering.
    private var isIdle: Bool {
        guard isAllowed, let circuit else { return false }
        let isHalfOpen = circuit.state == .halfOpen
        return (!isHalfOpen || circuit.callCount == 0) && inStateFor.map { $0 >= .seconds(60) } ?? isHalfOpen
    }
}
