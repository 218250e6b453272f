/// A registry of circuit breakers, one for each key.
public typealias CircuitBreakerRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, CircuitBreaker>

/// A registry of throttles, one for each key.
public typealias ThrottleRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, Throttle>

/// A registry of bulkheads, one for each key.
public typealias BulkheadRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, Bulkhead>

/// A registry of pipelines, one for each key.
public typealias PipelineRegistry<Key: Hashable & Sendable> = PolicyRegistry<Key, Pipeline>
