/// The state of a registry, and every step under its lock.
///
/// No step runs user code, except a key's `==` and `hash(into:)`, and ``RegistryEntry/isUniquelyHeld(_:)``. A step
/// returns what it removes, to be released after the lock: a `deinit` may also be user code.
@usableFromInline struct RegistryTable<Key: Hashable & Sendable, Value: RegistryEntry>: Sendable {
    typealias Make = @Sendable (Key) -> Value
    typealias Watcher = @Sendable (Key, CircuitTransition) -> Void

    @usableFromInline struct Entry: Sendable {
        @usableFromInline let key: Key
        @usableFromInline var value: Value
        /// The entry's identity: it stays as long as the key does, even if the value is replaced.
        let id: UInt64
        /// The number of the settings that the value was made with, or last took over.
        var settings: UInt64
        /// When the `hand` last found the value used or held; before that, when the value was made.
        var unusedSince: MonotonicInstant
        /// How often the value has taken over settings.
        fileprivate(set) var changes: UInt32 = 0
        @usableFromInline var use = Use.unused

        fileprivate init(key: Key, value: Value, id: UInt64, settings: UInt64, unusedSince: MonotonicInstant) {
            self.key = key
            self.value = value
            self.id = id
            self.settings = settings
            self.unusedSince = unusedSince
        }

        /// Notes that the hand passes.
        /// - Returns: Whether to ask the value if it may be evicted. If true, nothing else holds the value.
        mutating func examine(at now: MonotonicInstant) -> Bool {
            guard use != .examined else { return false }
            let isHeld = !Value.isUniquelyHeld(&value)
            if isHeld || use == .used { unusedSince = now }
            use = isHeld ? .unused : .examined
            return !isHeld
        }

        /// Notes that the value was asked.
        /// - Returns: Whether the value has not been handed out since it was asked, and nothing else holds it.
        mutating func settle(_ id: UInt64) -> Bool {
            guard self.id == id, use == .examined else { return false }
            use = .unused
            return Value.isUniquelyHeld(&value)
        }
    }

    @usableFromInline enum Use: Sendable {
        /// The key was looked up since the hand last passed.
        case used
        case unused
        /// A task asks the value whether it may be evicted, and the value was not handed out since.
        case examined
    }

    /// The entries, in the order in which they are examined.
    @usableFromInline var entries: [Entry] = []
    @usableFromInline var places = KeyPlaces()
    /// The place of the entry that is examined next; it moves like the hand of a clock.
    private var hand = 0
    /// Counts the times that values were handed out without marking their entries as used.
    private var handouts = 0

    private(set) var make: Make
    private var overrides: [Key: (make: @Sendable () -> Value, settings: UInt64)] = [:]
    /// Settings are numbered in the order of their changes. `makeSettings` is the number of `make`'s settings, and
    /// `lastSettings` the latest number.
    private var makeSettings: UInt64 = 0
    private var lastSettings: UInt64 = 0

    private(set) var watchers: [UInt64: Watcher] = [:]
    /// Counts changes of `watchers`.
    private var watcherChanges: UInt64 = 0

    init(make: @escaping Make) { self.make = make }

    // MARK: Looking up

    /// Returns the value for a key, and marks it as used.
    @inlinable mutating func use(_ key: Key) -> Value? {
        guard let place = place(of: key) else { return nil }
        // Written only if it has to be, so that nearly every lookup only reads.
        if entries[place].use != .used { entries[place].use = .used }
        return entries[place].value
    }

    @inlinable @inline(__always) func place(of key: Key) -> Int? {
        places.place(hash: key.hashValue) { entries[$0].key == key }
    }

    /// Returns all values. This does not count as a use: a dashboard that reads all of them every few seconds must not
    /// prevent evictions.
    mutating func all() -> [Key: Value] {
        handouts += 1
        return Dictionary(entries.lazy.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    // MARK: Making

    /// How to make the value for a key, and its watchers.
    struct Order {
        let make: @Sendable () -> Value
        let settings: UInt64
        let watchers: [UInt64: Watcher]
        fileprivate let watcherChanges: UInt64
    }

    enum PutIn {
        case isIn
        /// Another task has made the value first.
        case isThere(Value)
        /// The value has old settings, or lacks a watcher; make it again by this order.
        case isOutdated(Order)
    }

    func order(for key: Key) -> Order {
        Order(make: makes(key), settings: settings(of: key), watchers: watchers, watcherChanges: watcherChanges)
    }

    private func makes(_ key: Key) -> @Sendable () -> Value {
        if let own = overrides[key] { return own.make }
        return { [make] in make(key) }
    }

    /// Returns the version number of the settings that the value for a key should have now.
    private func settings(of key: Key) -> UInt64 { overrides[key]?.settings ?? makeSettings }

    mutating func putIn(_ value: Value, for key: Key, id: UInt64, by order: Order, at now: MonotonicInstant) -> PutIn {
        if let value = use(key) { return .isThere(value) }
        guard order.settings == settings(of: key), order.watcherChanges == watcherChanges else {
            return .isOutdated(self.order(for: key))
        }
        entries.append(Entry(key: key, value: value, id: id, settings: order.settings, unusedSince: now))
        places.append(count: entries.count) { entries[$0].key.hashValue }
        return .isIn
    }

    // MARK: Evicting

    /// An entry that nothing else holds.
    struct Candidate {
        let value: Value
        /// For at least this time, the entry was neither looked up nor held.
        let unusedFor: Duration
        let mark: Mark
    }

    struct Mark {
        fileprivate let key: Key
        fileprivate let id: UInt64
        fileprivate let place: Int
        fileprivate let handouts: Int
    }

    struct Evicted {
        let value: Value
        let id: UInt64
        let watchers: [UInt64: Watcher]
    }

    /// Moves the hand to the next entry that nothing else holds; the caller asks its value whether it may be evicted.
    /// - Returns: nil if there are fewer keys than `capacity`, or no looks are left.
    mutating func examine(capacity: Int, looks: inout Int, at now: MonotonicInstant) -> Candidate? {
        while looks > 0, entries.count >= capacity {
            looks -= 1
            if hand >= entries.count { hand = 0 }
            let place = hand
            hand += 1
            guard entries[place].examine(at: now) else { continue }
            let entry = entries[place]
            return Candidate(
                value: entry.value, unusedFor: entry.unusedSince.duration(to: now),
                mark: Mark(key: entry.key, id: entry.id, place: place, handouts: handouts))
        }
        return nil
    }

    /// Removes an examined entry if it may be evicted and was not handed out since. If its place has changed, it stays
    /// until its next turn.
    mutating func settle(_ mark: Mark, mayGo: Bool) -> Evicted? {
        guard let place = place(of: mark.key), entries[place].settle(mark.id), mayGo, mark.handouts == handouts,
            mark.place == place
        else { return nil }
        places.remove(place, count: entries.count) { entries[$0].key.hashValue }
        entries.swapAt(place, entries.count - 1)
        // The caller holds the key, so that it is not released here, under the lock.
        let entry = entries.removeLast()
        return Evicted(value: entry.value, id: entry.id, watchers: watchers)
    }

    // MARK: Settings

    /// Changes how values are made.
    /// - Returns: The old closure, and the keys whose values must get their settings from the new one.
    mutating func setMake(_ make: @escaping Make) -> (old: Make, keys: [Key]) {
        let old = self.make
        self.make = make
        lastSettings += 1
        makeSettings = lastSettings
        return (old, keysWithoutOverride)
    }

    var keysWithoutOverride: [Key] { entries.lazy.map(\.key).filter { overrides[$0] == nil } }

    /// Changes how the value for one key is made.
    /// - Returns: The old override, and the table's own copy of the key.
    mutating func setOverride(_ key: Key, _ make: (@Sendable () -> Value)?) -> (Key, (@Sendable () -> Value))? {
        let old = overrides.index(forKey: key).map { overrides.remove(at: $0) }
        if let make {
            lastSettings += 1
            overrides[key] = (make, lastSettings)
        }
        return old.map { ($0.key, $0.value.make) }
    }

    /// A value that does not have its key's present settings yet.
    struct Outdated {
        let value: Value
        let id: UInt64
        let make: @Sendable () -> Value
        let settings: UInt64
        fileprivate let changes: UInt32
    }

    mutating func outdated(_ key: Key) -> Outdated? {
        guard let entry = place(of: key).map({ entries[$0] }), entry.settings != settings(of: key) else { return nil }
        handouts += 1
        return Outdated(
            value: entry.value, id: entry.id, make: makes(key), settings: settings(of: key), changes: entry.changes)
    }

    /// Notes that a value has taken over settings, whether or not they are still the present ones. If the value was
    /// changed meanwhile, its settings are unknown, and it counts as outdated.
    /// - Returns: The old value; nil if the entry has been evicted meanwhile.
    mutating func update(_ key: Key, _ outdated: Outdated, to value: Value) -> Value? {
        guard let place = place(of: key), entries[place].id == outdated.id else { return nil }
        let old = entries[place].value
        entries[place].value = value
        if entries[place].changes == outdated.changes {
            entries[place].settings = outdated.settings
        } else {
            // No settings have this number, so the value counts as outdated.
            lastSettings += 1
            entries[place].settings = lastSettings
        }
        entries[place].changes &+= 1
        return old
    }

    // MARK: Watching

    struct Watched {
        let key: Key
        let value: Value
        let id: UInt64
    }

    private mutating func allToWatch() -> [Watched] {
        handouts += 1
        return entries.map { Watched(key: $0.key, value: $0.value, id: $0.id) }
    }

    /// Adds a watcher.
    /// - Returns: All present entries. Later entries are watched before they are put in.
    mutating func addWatcher(_ id: UInt64, _ watcher: @escaping Watcher) -> [Watched] {
        watchers[id] = watcher
        watcherChanges += 1
        return allToWatch()
    }

    /// Removes a watcher.
    /// - Returns: All present entries, and the watcher.
    mutating func removeWatcher(_ id: UInt64) -> ([Watched], Watcher?) {
        let watcher = watchers.removeValue(forKey: id)
        watcherChanges += 1
        return (allToWatch(), watcher)
    }
}
