package import Resilience

/// A policy of a user's own that has a breaker inside, and names it to those who look for breakers.
package struct Guarding: Policy, CircuitBreakerOwner {
    private let breaker: CircuitBreaker

    package init(_ breaker: CircuitBreaker) { self.breaker = breaker }

    package var circuitBreakers: [CircuitBreaker] { [breaker] }
}
