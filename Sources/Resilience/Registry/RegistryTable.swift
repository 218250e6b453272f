/// What a registry knows, and every step that it takes under its lock.
///
/// No step runs user code, except a key's `==` and `hash(into:)`, and ``RegistryEntry/isUniquelyHeld(_:)``. A step
/// returns what it takes out, which is then released after the lock: a `deinit` may be user code, too.
@usableFromInline struct RegistryTable<Key: Hashable & Sendable, Value: RegistryEntry>: Sendable {
    typealias Make = @Sendable (Key) -> Value
    typealias Watcher = @Sendable (Key, CircuitTransition) -> Void

    @usableFromInline struct Entry: Sendable {
        @usableFromInline var value: Value
        @usableFromInline var use = Use.unused
        /// How often the value has taken over settings.
        fileprivate(set) var changes: UInt32 = 0
        /// The entry's identity: it stays as long as the key does, even if the value is replaced.
        let id: UInt64
        /// The number of the settings that the value was made with, or last took over.
        var settings: UInt64
        /// When the hand last found the value used or held; before that, when the value was made.
        var unusedSince: MonotonicInstant

        /// Notes that the hand comes by.
        /// - Returns: Whether the value is to be asked if it may be evicted. Nobody else holds it then.
        mutating func examine(at now: MonotonicInstant) -> Bool {
            guard use != .examined else { return false }
            let isHeld = !Value.isUniquelyHeld(&value)
            if isHeld || use == .used { unusedSince = now }
            use = isHeld ? .unused : .examined
            return !isHeld
        }

        /// Notes that the value was asked.
        /// - Returns: Whether nobody has got the value since, and nobody else holds it.
        mutating func settle(_ id: UInt64) -> Bool {
            guard self.id == id, use == .examined else { return false }
            use = .unused
            return Value.isUniquelyHeld(&value)
        }
    }

    @usableFromInline enum Use: Sendable {
        /// The key was looked up since the hand last came by.
        case used
        case unused
        /// A task asks the value whether it may be evicted, and nobody has got the value since.
        case examined
    }

    @usableFromInline var entries: [Key: Entry] = [:]
    /// The keys in the order in which they are examined, and the index of the next one.
    private(set) var ring: [Key] = []
    private var hand = 0
    /// How often values were handed out without a mark at their entries.
    private var handouts = 0

    private(set) var make: Make
    private var overrides: [Key: (make: @Sendable () -> Value, settings: UInt64)] = [:]
    /// Settings are numbered in the order of their changes. These are the number of `make`'s settings, and the latest
    /// number.
    private var makeSettings: UInt64 = 0
    private var lastSettings: UInt64 = 0

    private(set) var watchers: [UInt64: Watcher] = [:]
    /// Counts changes of `watchers`.
    private var watcherChanges: UInt64 = 0

    init(make: @escaping Make) { self.make = make }

    // MARK: Looking up

    /// Returns the value for a key, and marks it as used.
    @inlinable mutating func use(_ key: Key) -> Value? {
        guard let entry = entries[key] else { return nil }
        // Written only if it has to be, so that nearly every lookup only reads.
        if entry.use != .used { entries[key]?.use = .used }
        return entry.value
    }

    /// Returns all values. This does not count as a use: a dashboard that reads all of them every few seconds must not
    /// keep them from being evicted.
    mutating func all() -> [Key: Value] {
        handouts += 1
        return entries.mapValues(\.value)
    }

    // MARK: Making

    /// How the value for a key is to be made, and which watchers it is to have.
    struct Order {
        let make: @Sendable () -> Value
        let settings: UInt64
        let watchers: [UInt64: Watcher]
        fileprivate let watcherChanges: UInt64
    }

    enum PutIn {
        case isIn
        /// Another task has put one in before.
        case isThere(Value)
        /// The value has old settings, or lacks a watcher; it is to be made again by this order.
        case isOutdated(Order)
    }

    func order(for key: Key) -> Order {
        Order(make: makes(key), settings: settings(of: key), watchers: watchers, watcherChanges: watcherChanges)
    }

    private func makes(_ key: Key) -> @Sendable () -> Value {
        if let own = overrides[key] { return own.make }
        return { [make] in make(key) }
    }

    /// Returns the number of the settings that the value for a key should have now.
    private func settings(of key: Key) -> UInt64 { overrides[key]?.settings ?? makeSettings }

    mutating func putIn(_ value: Value, for key: Key, id: UInt64, by order: Order, at now: MonotonicInstant) -> PutIn {
        if let value = use(key) { return .isThere(value) }
        guard order.settings == settings(of: key), order.watcherChanges == watcherChanges else {
            return .isOutdated(self.order(for: key))
        }
        entries[key] = Entry(value: value, id: id, settings: order.settings, unusedSince: now)
        ring.append(key)
        return .isIn
    }

    // MARK: Evicting

    /// An entry that nobody else holds.
    struct Candidate {
        let value: Value
        /// For how long, at least, the entry was neither looked up nor held.
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

    /// Moves the hand to the next entry that nobody else holds, which the caller asks whether it may be evicted.
    /// - Returns: nil if there are fewer keys than `capacity`, or no looks are left.
    mutating func examine(capacity: Int, looks: inout Int, at now: MonotonicInstant) -> Candidate? {
        while looks > 0, entries.count >= capacity {
            looks -= 1
            if hand >= ring.count { hand = 0 }
            let key = ring[hand]
            hand += 1
            guard let index = entries.index(forKey: key), entries.values[index].examine(at: now) else { continue }
            let entry = entries[index].value
            return Candidate(
                value: entry.value, unusedFor: entry.unusedSince.duration(to: now),
                mark: Mark(key: key, id: entry.id, place: hand - 1, handouts: handouts))
        }
        return nil
    }

    /// Takes out an examined entry if it may go and nobody has got it since. If its place in the ring has changed, it
    /// stays until its next turn.
    mutating func settle(_ mark: Mark, mayGo: Bool) -> Evicted? {
        guard let index = entries.index(forKey: mark.key), entries.values[index].settle(mark.id), mayGo,
            mark.handouts == handouts, mark.place < ring.count, ring[mark.place] == mark.key
        else { return nil }
        // The caller holds the key, so that it is not released here, under the lock.
        let entry = entries.remove(at: index).value
        ring.swapAt(mark.place, ring.count - 1)
        ring.removeLast()
        return Evicted(value: entry.value, id: entry.id, watchers: watchers)
    }

    // MARK: Settings

    /// Changes how values are made.
    /// - Returns: The closure until now, and the keys whose values are to get their settings from the new one.
    mutating func setMake(_ make: @escaping Make) -> (old: Make, keys: [Key]) {
        let old = self.make
        self.make = make
        lastSettings += 1
        makeSettings = lastSettings
        return (old, keysWithoutOverride)
    }

    var keysWithoutOverride: [Key] { entries.keys.filter { overrides[$0] == nil } }

    /// Changes how the value for one key is made.
    /// - Returns: The override until now, and the table's own copy of the key.
    mutating func setOverride(_ key: Key, _ make: (@Sendable () -> Value)?) -> (Key, (@Sendable () -> Value))? {
        let old = overrides.index(forKey: key).map { overrides.remove(at: $0) }
        if let make {
            lastSettings += 1
            overrides[key] = (make, lastSettings)
        }
        return old.map { ($0.key, $0.value.make) }
    }

    /// A key's value that does not have the settings that it should have now.
    struct Outdated {
        let value: Value
        let id: UInt64
        let make: @Sendable () -> Value
        let settings: UInt64
        fileprivate let changes: UInt32
    }

    mutating func outdated(_ key: Key) -> Outdated? {
        guard let entry = entries[key], entry.settings != settings(of: key) else { return nil }
        handouts += 1
        return Outdated(
            value: entry.value, id: entry.id, make: makes(key), settings: settings(of: key), changes: entry.changes)
    }

    /// Notes that a value has taken over settings, whether or not they are still the present ones. If somebody else has
    /// changed it meanwhile, nobody knows whose settings it has, and it counts as outdated whatever they are.
    /// - Returns: The value until now; nil if the entry has been evicted meanwhile.
    mutating func update(_ key: Key, _ outdated: Outdated, to value: Value) -> Value? {
        guard let index = entries.index(forKey: key), entries.values[index].id == outdated.id else { return nil }
        let old = entries.values[index].value
        entries.values[index].value = value
        if entries.values[index].changes == outdated.changes {
            entries.values[index].settings = outdated.settings
        } else {
            // The number of no settings.
            lastSettings += 1
            entries.values[index].settings = lastSettings
        }
        entries.values[index].changes &+= 1
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
        return entries.map { Watched(key: $0, value: $1.value, id: $1.id) }
    }

    /// Adds a watcher.
    /// - Returns: All entries that there are. Later ones are watched before they are put in.
    mutating func addWatcher(_ id: UInt64, _ watcher: @escaping Watcher) -> [Watched] {
        watchers[id] = watcher
        watcherChanges += 1
        return allToWatch()
    }

    /// Removes a watcher.
    /// - Returns: All entries that there are, and the watcher.
    mutating func removeWatcher(_ id: UInt64) -> ([Watched], Watcher?) {
        let watcher = watchers.removeValue(forKey: id)
        watcherChanges += 1
        return (allToWatch(), watcher)
    }
}
