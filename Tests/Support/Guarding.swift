package import Resilience

/// A user's policy that contains a breaker, and reports it to searches for breakers.
package struct Guarding: Policy, CircuitBreakerOwner {
    private let breaker: CircuitBreaker

    package init(_ breaker: CircuitBreaker) { self.breaker = breaker }

    package var circuitBreakers: [CircuitBreaker] { [breaker] }
}
