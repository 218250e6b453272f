package import Resilience

/// A policy of a user's own that has a breaker inside, and names it to those who look for breakers.
package struct Guarding: Policy, RegistryEntry {
    private let breaker: CircuitBreaker

    package init(_ breaker: CircuitBreaker) { self.breaker = breaker }

    package static func isUniquelyHeld(_ entry: inout Guarding) -> Bool { false }
    package func canBeReconfigured(like other: Guarding) -> Bool { false }
    package func reconfigured(like other: Guarding) -> Guarding? { nil }
    package var circuitBreakers: [CircuitBreaker] { [breaker] }
}
