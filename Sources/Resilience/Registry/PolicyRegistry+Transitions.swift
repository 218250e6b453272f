/// A change of state of one key's circuit.
public struct KeyedTransition<Key: Hashable & Sendable>: Sendable, Hashable {
    public let key: Key
    public let transition: CircuitTransition

    public init(key: Key, transition: CircuitTransition) {
        self.key = key
        self.transition = transition
    }
}

extension PolicyRegistry {
    /// The changes of state of every key's circuits from now on, of those to come too; in order for each circuit.
    /// - Parameter limit: changes kept for a reader that lags behind; the oldest are dropped first.
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

    /// Each key has watchers of its own, since several may share a breaker.
    func watch(_ value: Value, of key: Key, _ id: UInt64, by watchers: [UInt64: RegistryTable<Key, Value>.Watcher]) {
        guard !watchers.isEmpty else { return }
        for breaker in value.circuitBreakers {
            for (stream, watcher) in watchers { breaker.watch(stream, of: id) { watcher(key, $0) } }
        }
    }

    func unwatch(_ value: Value, _ id: UInt64, by watchers: [UInt64: RegistryTable<Key, Value>.Watcher]) {
        guard !watchers.isEmpty else { return }
        for breaker in value.circuitBreakers {
            for stream in watchers.keys { breaker.unwatch(stream, of: id) }
        }
    }
}
