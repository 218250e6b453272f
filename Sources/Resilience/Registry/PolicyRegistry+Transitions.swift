/// A change of state of a key's circuit.
public struct KeyedTransition<Key: Hashable & Sendable>: Sendable, Hashable {
    /// The key.
    public let key: Key
    /// The change of state.
    public let transition: CircuitTransition

    /// Creates a change of state of a key's circuit.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - transition: The change of state.
    public init(key: Key, transition: CircuitTransition) {
        self.key = key
        self.transition = transition
    }
}

extension KeyedTransition: Encodable where Key: Encodable {}
extension KeyedTransition: Decodable where Key: Decodable {}

extension PolicyRegistry {
    /// Returns the changes of state of all keys' circuits from now on, in order for each circuit.
    ///
    /// Keys that are made later are included.
    ///
    /// - Parameter limit: How many changes are kept for a reader that lags behind, at least 1. 1000 by default. The
    ///   oldest are dropped first.
    public func transitions(bufferingNewest limit: Int = 1000) -> AsyncStream<KeyedTransition<Key>> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: KeyedTransition<Key>.self, bufferingPolicy: .bufferingNewest(max(1, limit)))
        let id = CircuitBreaker.nextWatcherID()
        let watcher: RegistryTable<Key, Value>.Watcher = { key, transition in
            continuation.yield(KeyedTransition(key: key, transition: transition))
        }
        let all = table.withLock { $0.addWatcher(id, watcher) }
        for one in all { watch(one.value, of: one.key, one.id, by: [id: watcher]) }
        continuation.onTermination = { [weak self] _ in self?.unwatch(id) }
        return stream
    }

    private func unwatch(_ id: UInt64) {
        let (all, watcher) = table.withLock { $0.removeWatcher(id) }
        guard let watcher else { return }
        for one in all { unwatch(one.value, one.id, by: [id: watcher]) }
    }

    private static func breakers(of value: Value) -> [CircuitBreaker] {
        (value as? any CircuitBreakerOwner)?.circuitBreakers ?? []
    }

    /// Watches the breakers of a key's value. Each key has watchers of its own, since several keys may share a breaker.
    func watch(_ value: Value, of key: Key, _ id: UInt64, by watchers: [UInt64: RegistryTable<Key, Value>.Watcher]) {
        guard !watchers.isEmpty else { return }
        for breaker in Self.breakers(of: value) {
            for (stream, watcher) in watchers { breaker.watch(stream, of: id) { watcher(key, $0) } }
        }
    }

    func unwatch(_ value: Value, _ id: UInt64, by watchers: [UInt64: RegistryTable<Key, Value>.Watcher]) {
        guard !watchers.isEmpty else { return }
        for breaker in Self.breakers(of: value) {
            for stream in watchers.keys { breaker.unwatch(stream, of: id) }
        }
    }
}
