/// One policy, or one whole pipeline, for each key: an endpoint, a host, a tenant.
///
/// ```swift
/// let breakers = CircuitBreakerRegistry<String> { endpoint in
///     CircuitBreaker(endpoint)
/// }
/// breakers.setOverride("/search") {
///     CircuitBreaker("/search", tripping: .consecutiveFailures(10))
/// }
/// try await breakers["/api/streams"].run { try await client.streams() }
/// ```
///
/// A key has one value, however many tasks look it up concurrently. When there are `capacity` keys, a new key evicts
/// idle keys. A key is idle if nobody else holds its value, and the value either is at rest, or was not used for
/// `evictingAfter` and has no state that still matters. The other keys stay, so there may be more than `capacity`. An
/// open circuit is never evicted. Even so, use few keys: a route, not a URL with its identifiers.
///
/// User code runs outside of the registry's lock and may use the registry: `make`, policies, observers, time bases, and
/// the `deinit` of objects that they hold. The exceptions are a key's `==` and `hash(into:)`, and
/// ``RegistryEntry/isUniquelyHeld(_:)``: they run under the lock and must not use the registry.
///
/// See <doc:RegistryGuide>.
public final class PolicyRegistry<Key: Hashable & Sendable, Value: RegistryEntry>: Sendable {
    /// Makes the value for a key.
    public typealias Make = @Sendable (Key) -> Value

    let capacity: Int
    private let evictingAfter: Duration
    let timeBase: any TimeBase
    @usableFromInline let table: Locked<RegistryTable<Key, Value>>

    /// Creates a registry without keys.
    ///
    /// - Parameters:
    ///   - capacity: How many keys are kept before some are evicted, 1 or more. 10 000 by default.
    ///   - evictingAfter: How long a key must be unused before it may be evicted although it is not at rest, for
    ///     example because it has counted failures; zero or more. 600 seconds by default. See
    ///     ``RegistryEntry/canBeEvicted(unusedFor:)``.
    ///   - timeBase: The clock that measures how long a key was not used.
    ///   - make: Makes the value for a key. It may be called more than once for a key: if another task makes the value
    ///     at the same time, or if the key's settings change meanwhile. Invalid settings trap in it: in `make`, check
    ///     settings from outside with [PolicySettings.checked(_:)](<doc:PolicySettings/checked(_:)>).
    public init(
        capacity: Int = 10_000, evictingAfter: Duration = .seconds(600), timeBase: any TimeBase = .system,
        make: @escaping Make
    ) {
        let checks = SettingChecks("PolicyRegistry")
        self.capacity = checks.atLeast(1, capacity, "capacity")
        self.evictingAfter = checks.notNegative(evictingAfter, "evictingAfter")
        self.timeBase = timeBase
        table = Locked(RegistryTable(make: make))
    }

    /// The value for a key, made now if there is none.
    ///
    /// Counts as a use of the key.
    ///
    /// - Parameter key: The key.
    @inlinable public subscript(key: Key) -> Value { existing(key) ?? make(key) }

    @usableFromInline func make(_ key: Key) -> Value {
        let (id, now) = (CircuitBreaker.nextWatcherID(), timeBase.now)
        var order = table.withLock { $0.order(for: key) }
        while true {
            let value = order.make()
            // A value with an invalid setting is not kept: the check in which it was made throws.
            guard SettingChecks.mayChange else { return value }
            makeRoom(at: now)
            // Watched before another task can get the value, so that no change is missed.
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

    /// Returns the value for a key; nil if there is none.
    ///
    /// Counts as a use of the key.
    ///
    /// Inlinable, so that other modules compile it for their key type: a lookup by an unknown type takes ten times as
    /// long.
    /// - Parameter key: The key.
    @inlinable public func existing(_ key: Key) -> Value? { table.withLock { $0.use(key) } }

    /// The values of all keys.
    ///
    /// Reading them does not count as a use.
    public var values: [Key: Value] { table.withLock { $0.all() } }

    /// The number of keys.
    public var count: Int { table.withLock { $0.entries.count } }

    /// Resets the value for a key to its original state.
    ///
    /// Does nothing if there is none.
    ///
    /// - Parameter key: The key.
    public func reset(_ key: Key) { existing(key)?.reset() }

    /// Resets all values to their original state.
    public func resetAll() { for value in values.values { value.reset() } }

    // MARK: Evicting

    /// How many keys at most to examine for each new key: the limit keeps lookups short.
    private static var looks: Int { 8 }

    func makeRoom(at now: MonotonicInstant) {
        var looks = Self.looks
        while let (mark, mayGo) = examineNext(&looks, at: now) {
            let evicted = table.withLock { $0.settle(mark, mayGo: mayGo) }
            // The value may contain a breaker that other keys share.
            if let evicted { unwatch(evicted.value, evicted.id, by: evicted.watchers) }
        }
    }

    /// A function of its own, so that its reference to the value is gone when `settle` checks that nothing else holds
    /// the value.
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
