/// One policy, or one whole pipeline, for each key: an endpoint, a host, a tenant.
///
/// ```swift
/// let breakers = CircuitBreakerRegistry<String> { endpoint in CircuitBreaker(endpoint) }
/// breakers.setOverride("/search") { CircuitBreaker("/search", tripping: .consecutiveFailures(10)) }
/// try await breakers["/api/streams"].run { try await client.streams() }
/// ```
///
/// However many tasks ask at once, a key has one. When there are `capacity` of them, a new key evicts one that nobody holds
/// and that has nothing to tell: it is at rest, or its circuit is not open and it has not been used for `evictingAfter`.
/// The others stay, so that there may be more. Keys should be few all the same: a route, not a URL with its identifiers.
///
/// Everything of yours runs outside the registry's lock, and may use the registry: `make`, policies, observers, time bases,
/// and what they hold when it is let go of. The exceptions are a key's `==` and `hash(into:)`, and
/// ``RegistryEntry/isUniquelyHeld(_:)``: those must not.
public final class PolicyRegistry<Key: Hashable & Sendable, Value: RegistryEntry>: Sendable {
    /// Makes the one of a key.
    public typealias Make = @Sendable (Key) -> Value

    private let capacity: Int
    private let evictingAfter: Duration
    private let timeBase: any TimeBase
    @usableFromInline let table: Locked<RegistryTable<Key, Value>>

    /// - Parameters:
    ///   - capacity: how many are kept before others are evicted; 1 or more.
    ///   - evictingAfter: how long a key must not have been used before it may be evicted though failures are counted for
    ///     it, or its last break was not followed by a success; 0 or more. See ``RegistryEntry/canBeEvicted(unusedFor:)``.
    ///   - timeBase: where the registry reads how long a key was not used.
    ///   - make: makes the one of a key. May be called for a key that another task has just made one for, or once more if its
    ///     settings changed meanwhile. Invalid settings end the process here: those from outside are checked in it, by
    ///     ``PolicySettings/checked(_:)``.
    public init(
        capacity: Int = 10_000, evictingAfter: Duration = .seconds(600), timeBase: any TimeBase = .system,
        make: @escaping Make
    ) {
        let checks = SettingChecks("Registry")
        self.capacity = checks.atLeast(1, capacity, "capacity")
        self.evictingAfter = checks.notNegative(evictingAfter, "evictingAfter")
        self.timeBase = timeBase
        table = Locked(RegistryTable(make: make))
    }

    /// The one of this key, made now if it is new.
    @inlinable public subscript(key: Key) -> Value { existing(key) ?? make(key) }

    @usableFromInline func make(_ key: Key) -> Value {
        let (id, now) = (CircuitBreaker.nextWatcherID(), timeBase.now)
        var order = table.withLock { $0.order(for: key) }
        while true {
            let value = order.make()
            // One with a setting that can't be is for nobody: whoever asked for the check is told.
            guard SettingChecks.mayChange else { return value }
            makeRoom(at: now)
            // Before anybody else has it, so that no change is missed.
            watch(value, of: key, id, by: order.watchers)
            switch table.withLock({ $0.putIn(value, for: key, id: id, by: order, at: now) }) {
            case .isIn:
                return value
            case .isThere(let other):
                unwatch(value, id, by: order.watchers)
                return other
            case .isOutdated(let newer):
                unwatch(value, id, by: order.watchers)
                order = newer
            }
        }
    }

    /// The one of this key, if there is one.
    ///
    /// For others to compile for their keys: looking one up by an unknown kind of key takes ten times as long.
    @inlinable public func existing(_ key: Key) -> Value? { table.withLock { $0.use(key) } }

    /// All there are now. Looking at them does not count as use.
    public var values: [Key: Value] { table.withLock { $0.all() } }

    /// How many there are now.
    public var count: Int { table.withLock { $0.entries.count } }

    /// Sets the one of this key back to how it was made.
    public func reset(_ key: Key) { existing(key)?.reset() }

    /// Sets every one back to how it was made.
    public func resetAll() { for value in values.values { value.reset() } }

    // MARK: Evicting

    /// How many are looked at, at most, for each new key: so that none of them waits long.
    private static var looks: Int { 8 }

    private func makeRoom(at now: MonotonicInstant) {
        var looks = Self.looks
        while let (mark, mayGo) = examineNext(&looks, at: now) {
            let evicted = table.withLock { $0.settle(mark, mayGo: mayGo) }
            // It may hold a breaker that others share.
            if let evicted { unwatch(evicted.value, evicted.id, by: evicted.watchers) }
        }
    }

    /// Holds the value no longer than this takes: who evicts it must find that nobody holds it.
    @inline(never) private func examineNext(
        _ looks: inout Int, at now: MonotonicInstant
    ) -> (RegistryTable<Key, Value>.Mark, mayGo: Bool)? {
        let candidate = table.withLock { $0.examine(capacity: capacity, looks: &looks, at: now) }
        return candidate.map { candidate in
            let (value, isOld) = (candidate.value, candidate.unusedFor >= evictingAfter)
            return (candidate.mark, value.isAtRest || isOld && value.canBeEvicted(unusedFor: evictingAfter))
        }
    }
}
