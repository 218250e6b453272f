/// A circuit breaker for each key.
public typealias CircuitBreakerRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, CircuitBreaker>
/// A throttle for each key.
public typealias ThrottleRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, Throttle>
/// A bulkhead for each key.
public typealias BulkheadRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, Bulkhead>
/// A pipeline for each key.
public typealias PipelineRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, Pipeline>

extension PolicyRegistry where Value == CircuitBreaker {
    /// Whether a call to this key would be let through now. A key without a breaker is free.
    public func isAllowed(_ key: Key) -> Bool { existing(key)?.status.isAllowed ?? true }

    /// What a call to each key would find now.
    public var statuses: [Key: CircuitBreakerStatus] { values.mapValues(\.status) }
}

extension PolicyRegistry where Value == Throttle {
    /// Whether a call to this key that costs 1 would go now, without a wait. A key without a throttle is free.
    public func isAllowed(_ key: Key) -> Bool { existing(key)?.status.isAllowed ?? true }

    /// What a call to each key would find now.
    public var statuses: [Key: ThrottleStatus] { values.mapValues(\.status) }
}

extension PolicyRegistry where Value == Bulkhead {
    /// Whether a call to this key would get in now, without a wait. A key without a bulkhead is free.
    public func isAllowed(_ key: Key) -> Bool { existing(key)?.status.isAllowed ?? true }

    /// What a call to each key would find now.
    public var statuses: [Key: BulkheadStatus] { values.mapValues(\.status) }
}

extension PolicyRegistry where Value == Pipeline {
    /// Whether a call to this key that costs 1 would reach the other side now, without a wait. A key without a pipeline is
    /// free.
    public func isAllowed(_ key: Key) -> Bool { existing(key)?.isAllowed ?? true }

    /// What a call to each key would find now, at each breaker, throttle and bulkhead, outermost first.
    public var statuses: [Key: [PolicyStatus]] { values.mapValues(\.statuses) }
}

/// What a call would find now at one policy of a pipeline.
public enum PolicyStatus: Sendable, Hashable {
    /// What a ``CircuitBreaker`` of this name says.
    case circuitBreaker(name: String, CircuitBreakerStatus)
    /// What a ``Throttle`` of this name says.
    case throttle(name: String, ThrottleStatus)
    /// What a ``Bulkhead`` of this name says.
    case bulkhead(name: String, BulkheadStatus)

    /// nil for a policy of another kind.
    init?(_ policy: any Policy) {
        switch policy {
        case let breaker as CircuitBreaker: self = .circuitBreaker(name: breaker.name, breaker.status)
        case let throttle as Throttle: self = .throttle(name: throttle.name, throttle.status)
        case let bulkhead as Bulkhead: self = .bulkhead(name: bulkhead.name, bulkhead.status)
        default: return nil
        }
    }

    /// Whether a call that costs 1 would be let through now, without a wait.
    public var isAllowed: Bool {
        switch self {
        case .circuitBreaker(_, let status): status.isAllowed
        case .throttle(_, let status): status.isAllowed
        case .bulkhead(_, let status): status.isAllowed
        }
    }
}

extension Pipeline {
    /// What a call would find now at each breaker, throttle and bulkhead, outermost first.
    public var statuses: [PolicyStatus] { policies.compactMap(PolicyStatus.init) }

    /// Whether a call that costs 1 would get past its breakers, throttles and bulkheads now, without a wait.
    public var isAllowed: Bool { statuses.allSatisfy(\.isAllowed) }
}
