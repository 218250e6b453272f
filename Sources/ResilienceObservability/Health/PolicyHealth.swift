public import Resilience

/// What one policy of a component told about itself, as a part of a ``HealthReport``.
///
/// A policy of a type that is not among those below has no details here. Only its ``kind`` and ``isAllowed`` are
/// reported, so a report can always be written, whatever your own types contain.
public struct PolicyHealth: Sendable, Hashable, Codable {
    /// The policy's name.
    public let policy: String
    /// The kind of policy, such as "circuitBreaker".
    public let kind: String
    /// Whether a call of cost 1 would be let through now, without a wait.
    public let isAllowed: Bool
    /// The state of a circuit breaker; nil for other kinds. Its `timeRemaining` is the time to the next probe.
    public let circuit: CircuitBreakerStatus?
    /// How long the circuit has been in its state; nil for other kinds, and if it was made or restored in it.
    public let inStateFor: Duration?
    /// The state of a throttle; nil for other kinds.
    public let throttle: ThrottleStatus?
    /// How much longer a throttle holds all calls, at most; nil for other kinds, and if it holds none.
    public let heldFor: Duration?
    /// The state of an adaptive throttle; nil for other kinds.
    public let adaptiveThrottle: AdaptiveThrottleStatus?
    /// The state of a hedge; nil for other kinds.
    public let hedge: HedgeStatus?
    /// The state of a pool of endpoints; nil for other kinds.
    public let endpointPool: EndpointPoolStatus?
    /// The state of a bulkhead; nil for other kinds.
    public let bulkhead: BulkheadStatus?
    /// The state of a chaos policy; nil for other kinds.
    public let chaos: ChaosStatus?

    /// Creates the health of a policy.
    /// - Parameters:
    ///   - status: What the policy told.
    ///   - now: The present time on the policy's time base.
    public init(_ status: PolicyStatus, at now: MonotonicInstant) {
        policy = bounded(status.policy)
        kind = status.kind
        isAllowed = status.isAllowed
        circuit = status.detail as? CircuitBreakerStatus
        throttle = status.detail as? ThrottleStatus
        adaptiveThrottle = status.detail as? AdaptiveThrottleStatus
        hedge = status.detail as? HedgeStatus
        endpointPool = status.detail as? EndpointPoolStatus
        bulkhead = status.detail as? BulkheadStatus
        chaos = status.detail as? ChaosStatus
        inStateFor = circuit?.since.map { max(.zero, $0.duration(to: now)) }
        heldFor = throttle?.heldUntil.map { max(.zero, now.duration(to: $0)) }
    }

    private enum CodingKeys: String, CodingKey {
        case policy, kind, isAllowed, circuit, throttle, adaptiveThrottle, hedge, endpointPool, bulkhead, chaos
        case inStateFor = "inStateForSeconds"
        case heldFor = "heldForSeconds"
    }
}

/// Returns a name that is short enough for a report: at most 200 Unicode scalars. A longer one is cut, and ends with a
/// checksum of the whole, so that two long names stay different.
package func bounded(_ name: String) -> String {
    let limit = 200
    guard name.utf8.count > limit, name.unicodeScalars.count > limit else { return name }
    // FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv
    let sum = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return String(String.UnicodeScalarView(name.unicodeScalars.prefix(limit - 17))) + "…" + String(sum, radix: 16)
}
