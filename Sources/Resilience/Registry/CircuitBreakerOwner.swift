/// A type with circuit breakers whose changes of state a ``PolicyRegistry`` reports: a breaker, a pipeline, or a policy
/// of your own with breakers inside.
///
/// If a policy of your own is not a ``RegistryEntry``, it takes new settings only if its breakers stay the same.
public protocol CircuitBreakerOwner {
    /// The circuit breakers.
    var circuitBreakers: [CircuitBreaker] { get }
}

extension CircuitBreaker: CircuitBreakerOwner {
    public var circuitBreakers: [CircuitBreaker] { [self] }
}

extension Pipeline: CircuitBreakerOwner {
    /// The circuit breakers of the pipeline, outermost first, each once.
    public var circuitBreakers: [CircuitBreaker] {
        policies(of: (any CircuitBreakerOwner).self).flatMap(\.circuitBreakers).reduce(into: []) { all, breaker in
            if !all.contains(where: { $0 === breaker }) { all.append(breaker) }
        }
    }
}
