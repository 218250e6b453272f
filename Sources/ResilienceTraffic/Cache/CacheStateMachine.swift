public import Resilience

/// The content of a cache for each key, its lifetime, and the key to evict.
///
/// ```
///          a load succeeds
/// missing ────────────────▶ fresh ── time ─▶ stale ── time ─▶ of no use
///    │ a load fails           ▲                │ one load at a time
///    └────▶ failed ── time    └────────────────┘
/// ```
///
/// It returns removed content for its caller to release: a deinit may be user code, which must not run under the lock.
@usableFromInline struct CacheStateMachine<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline enum Content: Sendable {
        case value(Value, CacheLifetime)
        case failure(any Error)
    }

    @usableFromInline struct Entry: Sendable {
        let key: Key
        @usableFromInline let content: Content
        /// When the content was stored; never earlier than the content that it replaced.
        fileprivate let since: MonotonicInstant
        /// When a value stops being fresh, or a kept failure expires.
        @usableFromInline let until: MonotonicInstant
        /// No load begins before this, if a stale value can be returned.
        fileprivate(set) var pausedUntil = MonotonicInstant.distantPast
        /// The wait that the other side named when the latest load failed.
        fileprivate(set) var hold: Hold?
        fileprivate(set) var cost: Int

        /// The value if it is fresh.
        @inlinable func fresh(at now: MonotonicInstant) -> Value? {
            guard now < until, case .value(let value, _) = content else { return nil }
            return value
        }
    }

    /// No load begins before `until`. Without a usable value, a call gets the error.
    struct Hold: Sendable {
        let error: any Error
        let until: MonotonicInstant
    }

    /// The content for a key.
    enum Found: Sendable {
        case fresh(Value)
        /// The caller gets the value, and begins the load, if any, in the background. The background task waits until
        /// `until` at most.
        case stale(Value, load: Load?, until: MonotonicInstant)
        case failed(any Error)
        /// The caller waits for a load.
        case missing(Load)
    }

    /// A call's load. Its value is kept if nothing was written to the key since the call.
    struct Load: Sendable, Equatable {
        /// Unique among all loads of all keys, and the same for all calls that share the load.
        let number: Int
    }

    /// Content that is no longer kept.
    struct Gone: Sendable {
        fileprivate(set) var entries: [Entry] = []
        fileprivate(set) var keys: [Key] = []
    }

    private struct Loading {
        let number: Int
        /// The number of calls that load the key, or wait for a load.
        var calls = 1
    }

    /// A load may begin after this time, even if the other side named a longer wait.
    static var longestHold: Duration { .seconds(3600) }

    private let maxCount: Int
    private let maxCost: Int
    private let pauseAfterError: Duration
    /// The place of each key's entry. A hit copies no entry, to avoid reference counting.
    @usableFromInline var places: [Key: Int] = [:]
    @usableFromInline var entries = Sieve<Entry>()
    private(set) var cost = 0
    /// The keys that calls load. A write removes its key.
    private var loading: [Key: Loading] = [:]
    private var latestLoad = 0

    /// - Parameters:
    ///   - maxCount: The largest number of entries, 1 or more.
    ///   - maxCost: The largest total cost, 1 or more.
    ///   - pauseAfterError: How long after a load failed a stale value is returned without another load.
    init(maxCount: Int, maxCost: Int, pauseAfterError: Duration = .zero) {
        self.maxCount = maxCount
        self.maxCost = maxCost
        self.pauseAfterError = pauseAfterError
    }

    var count: Int { places.count }

    // MARK: Looking up

    /// The value of a key if it is fresh. Marks the key as used.
    @inlinable mutating func hit(_ key: Key, at now: MonotonicInstant) -> Value? {
        guard let place = places[key], let value = entries[place].fresh(at: now) else { return nil }
        entries.mark(place)
        return value
    }

    /// Returns the content for a key, and marks the key as used.
    mutating func look(for key: Key, at now: MonotonicInstant) -> Found {
        if let value = hit(key, at: now) { return .fresh(value) }
        guard let place = places[key] else { return .missing(load(key)) }
        let entry = entries[place]
        switch entry.content {
        case .failure(let error):
            guard now < entry.until else { return .missing(load(key)) }
            entries.mark(place)
            return .failed(error)
        case .value(let value, let lifetime):
            let staleAt = entry.until
            let revalidatesUntil = staleAt + lifetime.staleWhileRevalidate
            let pausedUntil = min(entry.pausedUntil, max(revalidatesUntil, staleAt + lifetime.staleIfError))
            guard now < max(revalidatesUntil, pausedUntil) else {
                guard let hold = entry.hold, now < hold.until else { return .missing(load(key)) }
                entries.mark(place)
                return .failed(hold.error)
            }
            entries.mark(place)
            let isToLoad = now >= pausedUntil && loading[key] == nil
            return .stale(value, load: isToLoad ? load(key) : nil, until: revalidatesUntil)
        }
    }

    /// The value of a key if it is fresh. This does not count as a use.
    @inlinable func fresh(_ key: Key, at now: MonotonicInstant) -> Value? {
        places[key].flatMap { entries[$0].fresh(at: now) }
    }

    /// The content at the start of a load; nil if the load must begin. Since the call looked, another load may have
    /// ended, or a value may have been stored.
    func settled(_ key: Key, at now: MonotonicInstant) -> Result<Value, any Error>? {
        guard let entry = places[key].map({ entries[$0] }) else { return nil }
        switch entry.content {
        case _ where now >= entry.until: return entry.hold.flatMap { now < $0.until ? .failure($0.error) : nil }
        case .failure(let error): return .failure(error)
        case .value(let value, _): return .success(value)
        }
    }

    /// The value of a key if it may be returned after a load failed, or took too long for a caller. Marks the key as
    /// used.
    /// - Parameter pausing: Whether no load begins for a while.
    mutating func afterError(_ key: Key, pausing: Bool, at now: MonotonicInstant) -> Value? {
        guard let place = places[key], case .value(let value, let lifetime) = entries[place].content,
            now < entries[place].until + lifetime.staleIfError
        else { return nil }
        entries.mark(place)
        // The failed load may have paused further loads for longer.
        if pausing { entries[place].pausedUntil = max(entries[place].pausedUntil, now + pauseAfterError) }
        return value
    }

    // MARK: Loading

    private mutating func load(_ key: Key) -> Load {
        if let present = loading[key] {
            loading[key]?.calls += 1
            return Load(number: present.number)
        }
        latestLoad += 1
        loading[key] = Loading(number: latestLoad)
        return Load(number: latestLoad)
    }

    /// Whether the load's call is not over, and nothing was written to the key since that call began.
    func counts(_ load: Load, of key: Key) -> Bool { loading[key]?.number == load.number }

    /// A call no longer loads the key, for any reason.
    mutating func isOver(_ load: Load, of key: Key) -> Gone {
        guard let present = loading[key], present.number == load.number else { return Gone() }
        if present.calls == 1 { return Gone(keys: outdate(key)) }
        loading[key]?.calls -= 1
        return Gone()
    }

    /// Makes the loads of a key outdated, so that their results are not kept.
    private mutating func outdate(_ key: Key) -> [Key] {
        loading.index(forKey: key).map { [loading.remove(at: $0).key] } ?? []
    }

    /// A load has succeeded.
    mutating func ended(
        _ load: Load, of key: Key, with value: Value, cost: Int, for lifetime: CacheLifetime, at now: MonotonicInstant
    ) -> Gone {
        guard counts(load, of: key) else { return Gone() }
        return Gone(entries: keep(value, for: key, cost: cost, lifetime: lifetime, at: now))
    }

    /// A load has failed.
    /// - Parameters:
    ///   - isAnswer: Whether the failure is an answer, so that a kept value is wrong.
    ///   - isOutage: Whether a usable stale value is returned instead.
    ///   - keepingFor: How long to keep an answer; zero for never.
    ///   - wait: The wait that the other side named; zero if it named none.
    mutating func ended(
        _ load: Load, of key: Key, with error: any Error, isAnswer: Bool, isOutage: Bool, keepingFor time: Duration,
        wait: Duration = .zero, at now: MonotonicInstant
    ) -> Gone {
        guard counts(load, of: key) else { return Gone() }
        let wait = min(wait, Self.longestHold)
        guard isAnswer else {
            return Gone(entries: pause(key, after: error, isOutage: isOutage, wait: wait, at: now))
        }
        let time = max(time, wait)
        guard time > .zero else { return Gone(entries: drop(key)) }
        return Gone(entries: put(.failure(error), for: key, lasting: time, cost: 0, at: now))
    }

    /// After a failure other than an outage, a stale value is returned only during its `staleWhileRevalidate`, as
    /// without the failure.
    private mutating func pause(
        _ key: Key, after error: any Error, isOutage: Bool, wait: Duration, at now: MonotonicInstant
    ) -> [Entry] {
        guard let place = places[key], case .value(_, let lifetime) = entries[place].content else {
            return wait > .zero ? put(.failure(error), for: key, lasting: wait, cost: 0, at: now) : []
        }
        let entry = entries[place]
        let end = isOutage ? .distantFuture : entry.until + lifetime.staleWhileRevalidate
        // A caller that just fell back may have paused loads for longer.
        entries[place].pausedUntil = max(entry.pausedUntil, min(now + max(pauseAfterError, wait), end))
        guard wait > .zero else { return [] }
        entries[place].hold = Hold(error: error, until: now + wait)
        return [entry]
    }

    // MARK: Writing

    /// Stores a value. Loads of earlier calls do not replace it.
    mutating func store(
        _ value: Value, for key: Key, cost: Int, lifetime: CacheLifetime, at now: MonotonicInstant
    ) -> Gone {
        Gone(entries: keep(value, for: key, cost: cost, lifetime: lifetime, at: now), keys: outdate(key))
    }

    /// Removes the content for a key. The results of earlier loads are not kept.
    mutating func remove(_ key: Key) -> Gone { Gone(entries: drop(key), keys: outdate(key)) }

    /// Removes everything, as ``remove(_:)`` does.
    /// - Returns: The whole content.
    mutating func removeAll() -> CacheStateMachine {
        let all = self
        self = CacheStateMachine(maxCount: maxCount, maxCost: maxCost, pauseAfterError: pauseAfterError)
        latestLoad = all.latestLoad
        return all
    }

    private mutating func drop(_ key: Key) -> [Entry] {
        guard let entry = places.removeValue(forKey: key).flatMap({ entries.remove($0) }) else { return [] }
        cost -= entry.cost
        return [entry]
    }

    private mutating func keep(
        _ value: Value, for key: Key, cost: Int, lifetime: CacheLifetime, at now: MonotonicInstant
    ) -> [Entry] {
        // A value that can never be returned would only take room.
        let isOfUse = lifetime != CacheLifetime(freshFor: .zero)
        guard isOfUse, cost <= maxCost else { return drop(key) }
        return put(.value(value, lifetime), for: key, lasting: lifetime.freshFor, cost: max(0, cost), at: now)
    }

    private mutating func put(
        _ content: Content, for key: Key, lasting time: Duration, cost: Int, at now: MonotonicInstant
    ) -> [Entry] {
        var gone: [Entry] = []
        // The replaced entry no longer costs anything, and may be evicted to make more room.
        if let place = places[key] {
            self.cost -= entries[place].cost
            entries[place].cost = 0
        }
        // Room is made first: the newest entry must not be evicted.
        while self.cost > maxCost - cost || places[key] == nil && places.count >= maxCount {
            guard let entry = entries.evict() else { break }
            guard places.removeValue(forKey: entry.key) != nil else { continue }
            self.cost -= entry.cost
            gone.append(entry)
        }
        if let place = places[key] {
            let old = entries[place]
            let since = max(now, old.since)
            entries[place] = Entry(key: old.key, content: content, since: since, until: since + time, cost: cost)
            gone.append(old)
        } else {
            let entry = Entry(key: key, content: content, since: now, until: now + time, cost: cost)
            places[key] = entries.insert(entry)
        }
        self.cost += cost
        return gone
    }
}
