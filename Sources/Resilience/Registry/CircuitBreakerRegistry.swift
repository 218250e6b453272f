/// One circuit breaker for each key: an endpoint, a host, a tenant.
///
/// ```swift
/// let breakers = CircuitBreakerRegistry<String> { endpoint in
///     CircuitBreaker(endpoint, tripping: .consecutiveFailures(endpoint == "/search" ? 10 : 5))
/// }
/// try await breakers["/api/streams"].run { try await client.streams() }
/// ```
///
/// However many tasks ask at once, a key has one breaker. When there are more than `capacity`, those that nobody holds and
/// that are closed with nothing counted are forgotten, which changes nothing but their observers; the others stay. Keys
/// should be few all the same: a route, not a URL with its identifiers.
public final class CircuitBreakerRegistry<Key: Hashable & Sendable>: Sendable {
    private struct State {
        var breakers: [Key: CircuitBreaker] = [:]
        var sweepsAbove: Int
    }

    private let capacity: Int
    private let make: @Sendable (Key) -> CircuitBreaker
    private let state: Locked<State>

    /// - Parameters:
    ///   - capacity: breakers kept before idle ones are forgotten; 1 or more.
    ///   - make: makes the breaker of a key. May be called for a key that another task has just made one for; the first
    ///     stays.
    public init(capacity: Int = 10_000, make: @escaping @Sendable (Key) -> CircuitBreaker) {
        precondition(capacity >= 1, "CircuitBreakerRegistry: capacity is \(capacity), and must be at least 1")
        self.capacity = capacity
        self.make = make
        state = Locked(State(sweepsAbove: capacity))
    }

    /// The breaker of this key, made now if it is new.
    public subscript(key: Key) -> CircuitBreaker {
        if let breaker = existing(key) { return breaker }
        let made = make(key)
        // What is forgotten is let go of after the lock: its observers' deinit may be a user's code.
        let (breaker, forgotten): (CircuitBreaker, [CircuitBreaker]) = state.withLock { state in
            if let breaker = state.breakers[key] { return (breaker, []) }
            let forgotten = state.breakers.count >= state.sweepsAbove ? sweep(&state) : []
            state.breakers[key] = made
            return (made, forgotten)
        }
        _ = forgotten
        return breaker
    }

    /// The breaker of this key, if there is one.
    public func existing(_ key: Key) -> CircuitBreaker? { state.withLock { $0.breakers[key] } }

    /// Whether a call to this key would be let through now. A key without a breaker is free.
    public func isAllowed(_ key: Key) -> Bool { existing(key)?.isAllowed ?? true }

    /// Sets the breaker of this key back to closed, with nothing counted.
    public func reset(_ key: Key) { existing(key)?.reset() }

    /// Sets every breaker back to closed, with nothing counted.
    public func resetAll() {
        for breaker in state.withLock({ Array($0.breakers.values) }) { breaker.reset() }
    }

    /// What a call to each key would find now.
    public var statuses: [Key: CircuitStatus] { state.withLock { $0.breakers }.mapValues(\.status) }

    public var count: Int { state.withLock { $0.breakers.count } }

    /// Forgets what is idle. Runs again only when the rest has doubled, so that a registry of busy keys is not swept at
    /// every new one.
    private func sweep(_ state: inout State) -> [CircuitBreaker] {
        var forgotten: [CircuitBreaker] = []
        for key in Array(state.breakers.keys) {
            guard var breaker = state.breakers.removeValue(forKey: key) else { continue }
            if breaker.isAtRest && isKnownUniquelyReferenced(&breaker) {
                forgotten.append(breaker)
            } else {
                state.breakers[key] = breaker
            }
        }
        state.sweepsAbove = max(capacity, 2 * state.breakers.count)
        return forgotten
    }
}
