/// One policy, or one whole pipeline, for each key: an endpoint, a host, a tenant.
///
/// ```swift
/// let breakers = CircuitBreakerRegistry<String> { endpoint in CircuitBreaker(endpoint) }
/// breakers.setOverride("/search") { CircuitBreaker("/search", tripping: .consecutiveFailures(10)) }
/// try await breakers["/api/streams"].run { try await client.streams() }
/// ```
///
/// However many tasks ask at once, a key has one. When there are `capacity` of them, a new key takes the place of one that
/// nobody holds and that is at rest, which forgetting loses nothing of but its observers; the others stay, so that there
/// may be more. Keys should be few all the same: a route, not a URL with its identifiers.
public final class Registry<Key: Hashable & Sendable, Value: RegistryEntry>: Sendable {
    public typealias Make = @Sendable (Key) -> Value

    @usableFromInline struct State {
        @usableFromInline var values: [Key: Value] = [:]
        /// The keys in the order in which they are looked at for one to forget, and the next of them.
        var ring: [Key] = []
        var hand = 0
        var make: Make
        var overrides: [Key: @Sendable () -> Value] = [:]
        var watchers: [UInt64: Watcher] = [:]

        func makes(_ key: Key) -> @Sendable () -> Value { overrides[key] ?? { [make] in make(key) } }
    }

    @usableFromInline typealias Watcher = @Sendable (Key, CircuitTransition) -> Void

    private let capacity: Int
    @usableFromInline let state: Locked<State>

    /// - Parameters:
    ///   - capacity: how many are kept before idle ones are forgotten; 1 or more.
    ///   - make: makes the one of a key. May be called for a key that another task has just made one for; the first stays.
    public init(capacity: Int = 10_000, make: @escaping Make) {
        self.capacity = SettingChecks("Registry").atLeast(1, capacity, "capacity")
        state = Locked(State(make: make))
    }

    /// The one of this key, made now if it is new.
    @inlinable public subscript(key: Key) -> Value { existing(key) ?? make(key) }

    @usableFromInline func make(_ key: Key) -> Value {
        let made = state.withLock({ $0.makes(key) })()
        // What is forgotten is let go of after the lock: its observers' deinit may be a user's code.
        let (value, forgotten): (Value, [Value]) = state.withLock { state in
            if let value = state.values[key] { return (value, []) }
            let forgotten = makeRoom(&state)
            state.values[key] = made
            state.ring.append(key)
            for (id, watcher) in state.watchers { watch(made, of: key, id, watcher) }
            return (made, forgotten)
        }
        _ = forgotten
        return value
    }

    /// The one of this key, if there is one.
    ///
    /// For others to compile for their keys: looking one up by an unknown kind of key takes ten times as long.
    @inlinable public func existing(_ key: Key) -> Value? { state.withLock { $0.values[key] } }

    /// All there are now.
    public var values: [Key: Value] { state.withLock { $0.values } }

    public var count: Int { state.withLock { $0.values.count } }

    /// Sets the one of this key back to how it was made.
    public func reset(_ key: Key) { existing(key)?.reset() }

    /// Sets every one back to how it was made.
    public func resetAll() { for value in values.values { value.reset() } }

    /// How many are looked at, at most, for each new key: so that none of them waits long.
    private static var looks: Int { 8 }

    private func makeRoom(_ state: inout State) -> [Value] {
        var forgotten: [Value] = []
        for _ in 0..<Self.looks where state.values.count >= capacity {
            if state.hand >= state.ring.count { state.hand = 0 }
            let key = state.ring[state.hand]
            // Taken out, so that a reference elsewhere is the only other one.
            guard var value = state.values.removeValue(forKey: key) else { continue }
            if Value.isIdle(&value) {
                forgotten.append(value)
                state.ring.swapAt(state.hand, state.ring.count - 1)
                state.ring.removeLast()
            } else {
                state.values[key] = value
            }
            // Past the one that took its place, too: it is the newest.
            state.hand += 1
        }
        return forgotten
    }
}

// MARK: Settings, live

extension Registry {
    /// Makes this key's own way, or as all others again if `make` is nil, also when it was forgotten in between.
    /// - Returns: false if there is one already that can't go on with the new settings, and keeps its old ones.
    @discardableResult
    public func setOverride(_ key: Key, make: (@Sendable () -> Value)?) -> Bool {
        let make = state.withLock { state in
            state.overrides[key] = make
            return state.makes(key)
        }
        return reconfigure(key, like: make)
    }

    /// Makes new ones this way from now on, and gives those there are their new settings: states, counts and permits in use
    /// go on.
    /// - Returns: the keys whose one can't go on with the new settings, and keeps its old ones.
    @discardableResult
    public func reconfigure(make: @escaping Make) -> [Key] {
        let all = state.withLock { state in
            state.make = make
            return state.values.keys.map { ($0, state.makes($0)) }
        }
        return all.filter { !reconfigure($0, like: $1) }.map(\.0)
    }

    private func reconfigure(_ key: Key, like make: @Sendable () -> Value) -> Bool {
        guard let value = existing(key) else { return true }
        guard let changed = value.reconfigured(like: make()) else { return false }
        // Another one only for what is a plain value; what is a reference has changed itself.
        let replaced = state.withLock { state in
            state.values[key] == nil ? nil : state.values.updateValue(changed, forKey: key)
        }
        _ = replaced
        return true
    }
}

// MARK: Circuit breakers

/// A circuit breaker for each key.
public typealias CircuitBreakerRegistry<Key: Hashable & Sendable> = Registry<Key, CircuitBreaker>
/// A throttle for each key.
public typealias ThrottleRegistry<Key: Hashable & Sendable> = Registry<Key, Throttle>
/// A bulkhead for each key.
public typealias BulkheadRegistry<Key: Hashable & Sendable> = Registry<Key, Bulkhead>
/// A pipeline for each key.
public typealias PipelineRegistry<Key: Hashable & Sendable> = Registry<Key, Pipeline>

extension Registry where Value == CircuitBreaker {
    /// Whether a call to this key would be let through now. A key without a breaker is free.
    public func isAllowed(_ key: Key) -> Bool { existing(key)?.isAllowed ?? true }

    /// What a call to each key would find now.
    public var statuses: [Key: CircuitStatus] { values.mapValues(\.status) }
}

/// A change of state of one key's circuit.
public struct KeyedTransition<Key: Hashable & Sendable>: Sendable, Hashable {
    public let key: Key
    public let transition: CircuitTransition

    public init(key: Key, transition: CircuitTransition) {
        self.key = key
        self.transition = transition
    }
}

extension Registry {
    /// The changes of state of every key's circuits from now on, of those to come too; in order for each circuit.
    /// - Parameter limit: changes kept for a reader that lags behind; the oldest are dropped first.
    public func transitions(bufferingNewest limit: Int = 1000) -> AsyncStream<KeyedTransition<Key>> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: KeyedTransition<Key>.self, bufferingPolicy: .bufferingNewest(max(1, limit)))
        let id = CircuitBreaker.nextWatcherID()
        let watcher: Watcher = { key, transition in
            continuation.yield(KeyedTransition(key: key, transition: transition))
        }
        state.withLock { state in
            state.watchers[id] = watcher
            for (key, value) in state.values { watch(value, of: key, id, watcher) }
        }
        continuation.onTermination = { [weak self] _ in self?.unwatch(id) }
        return stream
    }

    /// Under the lock, so that nobody has it before it is watched.
    private func watch(_ value: Value, of key: Key, _ id: UInt64, _ watcher: @escaping Watcher) {
        for breaker in value.circuitBreakers { breaker.watch(id) { watcher(key, $0) } }
    }

    private func unwatch(_ id: UInt64) {
        let values = state.withLock { state in
            state.watchers[id] = nil
            return state.values
        }
        for value in values.values { for breaker in value.circuitBreakers { breaker.unwatch(id) } }
    }
}
