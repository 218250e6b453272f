/// A registry of circuit breakers, one for each key.
public typealias CircuitBreakerRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, CircuitBreaker>
/// A registry of throttles, one for each key.
public typealias ThrottleRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, Throttle>
/// A registry of bulkheads, one for each key.
public typealias BulkheadRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, Bulkhead>
/// A registry of pipelines, one for each key.
public typealias PipelineRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, Pipeline>

extension PolicyRegistry where Value == CircuitBreaker {
    /// Returns whether a call to this key would be let through now; true for a key without a breaker. Counts as a use
    /// of the key.
    /// - Parameter key: The key.
    public func isAllowed(_ key: Key) -> Bool { existing(key)?.status.isAllowed ?? true }

    /// The status of each key's breaker now. Reading it does not count as a use.
    public var statuses: [Key: CircuitBreakerStatus] { values.mapValues(\.status) }
}

extension PolicyRegistry where Value == Throttle {
    /// Returns whether a call of cost 1 to this key could go now, without a wait; true for a key without a throttle.
    /// Counts as a use of the key.
    /// - Parameter key: The key.
    public func isAllowed(_ key: Key) -> Bool { existing(key)?.status.isAllowed ?? true }

    /// The status of each key's throttle now. Reading it does not count as a use.
    public var statuses: [Key: ThrottleStatus] { values.mapValues(\.status) }
}

extension PolicyRegistry where Value == Bulkhead {
    /// Returns whether a call to this key would get in now, without a wait; true for a key without a bulkhead. Counts
    /// as a use of the key.
    /// - Parameter key: The key.
    public func isAllowed(_ key: Key) -> Bool { existing(key)?.status.isAllowed ?? true }

    /// The status of each key's bulkhead now. Reading it does not count as a use.
    public var statuses: [Key: BulkheadStatus] { values.mapValues(\.status) }
}

extension PolicyRegistry where Value == Pipeline {
    /// Returns whether a call of cost 1 to this key would now get past all breakers, throttles and bulkheads of its
    /// pipeline, without a wait; true for a key without a pipeline. Counts as a use of the key.
    /// - Parameter key: The key.
    public func isAllowed(_ key: Key) -> Bool { existing(key)?.isAllowed ?? true }

    /// The status of each breaker, throttle and bulkhead of each key's pipeline now, outermost first. Reading it does
    /// not count as a use.
    public var statuses: [Key: [PolicyStatus]] { values.mapValues(\.statuses) }
}

/// The status of one policy of a pipeline: what a call would find there now.
public enum PolicyStatus: Sendable, Hashable {
    /// The status of the ``CircuitBreaker`` with this name.
    case circuitBreaker(name: String, CircuitBreakerStatus)
    /// The status of the ``Throttle`` with this name.
    case throttle(name: String, ThrottleStatus)
    /// The status of the ``Bulkhead`` with this name.
    case bulkhead(name: String, BulkheadStatus)

    /// Reads the status of a breaker, throttle or bulkhead; nil for any other policy.
    init?(_ policy: any Policy) {
        switch policy {
        case let breaker as CircuitBreaker: self = .circuitBreaker(name: breaker.name, breaker.status)
        case let throttle as Throttle: self = .throttle(name: throttle.name, throttle.status)
        case let bulkhead as Bulkhead: self = .bulkhead(name: bulkhead.name, bulkhead.status)
        default: return nil
        }
    }

    /// Whether a call of cost 1 would be let through now, without a wait.
    public var isAllowed: Bool {
        switch self {
        case .circuitBreaker(_, let status): status.isAllowed
        case .throttle(_, let status): status.isAllowed
        case .bulkhead(_, let status): status.isAllowed
        }
    }
}

extension Pipeline {
    /// The status of each breaker, throttle and bulkhead of the pipeline now, outermost first.
    public var statuses: [PolicyStatus] { policies.compactMap(PolicyStatus.init) }

    /// Whether a call of cost 1 would now get past all breakers, throttles and bulkheads of the pipeline, without a
    /// wait.
    public var isAllowed: Bool { statuses.allSatisfy(\.isAllowed) }
}
