public import Resilience

/// Caches the values of a pipeline's calls by key, for a time, and loads each value once for concurrent callers.
///
/// ```swift
/// let profiles = CallCache<User.ID, Profile>(
///     "profiles",
///     lifetime: CacheLifetime(
///         freshFor: .seconds(60), staleWhileRevalidate: .seconds(30), staleIfError: .seconds(3600)))
///
/// let profile = try await profiles.value(for: id) {
///     try await pipeline.run { try await client.profile(of: id) }
/// }
/// ```
///
/// Calls that need a load for the same key share it, as in a ``SingleFlight``: it is cancelled only when the last call
/// leaves.
///
/// The key must contain everything that the value depends on: the user, the language, the rights. It must equal itself
/// (unlike `Double.nan`), and its `==` and `hash(into:)` must not use the cache.
///
/// See <doc:CacheGuide>.
public final class CallCache<Key: Hashable & Sendable, Value: Sendable>: StatusReporting, CustomStringConvertible {
    /// The name in events.
    public let name: String
    /// The settings.
    public let settings: CallCacheSettings
    /// The observers of the cache's events.
    public let observers: PolicyObservers
    @usableFromInline let timeBase: any TimeBase
    private let classifier: Classifier
    private let costOf: (@Sendable (Value) -> Int)?
    private let lifetimeOf: (@Sendable (Key, Value) -> CacheLifetime?)?
    /// The loads in flight, by the machine's numbers: a call after a write joins no load from before the write.
    private let loads: SingleFlight<Int, Value>
    @usableFromInline let state: Locked<CacheStateMachine<Key, Value>>

    /// Creates a cache.
    ///
    /// - Parameters:
    ///   - name: The name in events.
    ///   - lifetime: How long a value is kept. Each time is 0 or more.
    ///   - staleOn: The failures after which a stale value is returned, for the time of `staleIfError`; neither success
    ///     nor cancelled. ``/Resilience/VerdictSet/outages`` by default.
    ///   - failuresFor: How long a failure that is an answer is kept, and thrown without a load; 0, the default, for
    ///     never. A ``/Resilience/Verdict/permanent`` failure that is not in `staleOn`, such as a 404, is an answer.
    ///     Such a failure drops an earlier value.
    ///   - pauseAfterError: How long after any other failed load a usable stale value is returned without another load;
    ///     0 or more. 1 second by default. If the other side has named a longer wait, no load begins before that wait
    ///     is over, up to an hour.
    ///   - maxCount: The largest number of entries, 1 or more. 1000 by default.
    ///   - maxCost: The highest total cost of all values, 1 or more. nil, the default, for no limit.
    ///   - costOf: Returns the cost of a value, such as its bytes. Less than 0 counts as 0. Without it each value
    ///     costs 1, if there is a `maxCost`.
    ///   - lifetimeOf: Returns the lifetime of a value, for example from a response's `Cache-Control`; nil for
    ///     `lifetime`. Negative times count as 0. A value whose times are all 0 is not kept.
    ///   - classifier: Classifies the errors of loads. It should be the classifier of the pipeline in the load.
    ///   - timeBase: The time base of ages and deadlines.
    ///   - observers: The observers of the cache's events; nil for none at first.
    public convenience init(
        _ name: String = "cache", lifetime: CacheLifetime, staleOn: VerdictSet = .outages,
        failuresFor: Duration = .zero, pauseAfterError: Duration = .seconds(1), maxCount: Int = 1000,
        maxCost: Int? = nil,
        costOf: (@Sendable (Value) -> Int)? = nil,
        lifetimeOf: (@Sendable (Key, Value) -> CacheLifetime?)? = nil, classifier: Classifier = .standard,
        timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        let settings = CallCacheSettings(
            lifetime: lifetime, staleOn: staleOn, failuresFor: failuresFor, pauseAfterError: pauseAfterError,
            maxCount: maxCount, maxCost: maxCost)
        self.init(
            name, settings: settings, costOf: costOf, lifetimeOf: lifetimeOf, classifier: classifier,
            timeBase: timeBase, observers: observers)
    }

    /// Creates an empty cache.
    ///
    /// - Parameters:
    ///   - name: The name in events.
    ///   - settings: The settings.
    ///   - costOf: Returns the cost of a value, such as its bytes.
    ///   - lifetimeOf: Returns the lifetime of a value; nil for the lifetime of the settings.
    ///   - classifier: Classifies the errors of loads. It should be the classifier of the pipeline in the load.
    ///   - timeBase: The time base of ages and deadlines.
    ///   - observers: The observers of the cache's events; nil for none at first.
    public init(
        _ name: String = "cache", settings: CallCacheSettings, costOf: (@Sendable (Value) -> Int)? = nil,
        lifetimeOf: (@Sendable (Key, Value) -> CacheLifetime?)? = nil, classifier: Classifier = .standard,
        timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        let settings = settings.valid()
        self.settings = settings
        self.name = name
        self.costOf = costOf
        self.lifetimeOf = lifetimeOf
        self.classifier = classifier
        self.timeBase = timeBase
        self.observers = observers ?? PolicyObservers()
        loads = SingleFlight(name, timeBase: timeBase)
        state = Locked(
            CacheStateMachine(
                maxCount: settings.maxCount, maxCost: settings.maxCost ?? .max,
                pauseAfterError: settings.pauseAfterError))
    }

    /// Returns the value for a key, from the cache or from a load.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - deadline: When a call that waits for a load must have ended; by default the ``/Resilience/CallDeadline``
    ///     that travels with the task. The earlier of the two counts.
    ///   - load: Loads the value, if no load is in flight. It may outlive this call: see ``SingleFlight``.
    /// - Returns: The value. It is stale if a new value is being loaded, or can't be loaded.
    /// - Throws: The error of the load, or a cached failure; `CancellationError` if the caller is cancelled while it
    ///   waits; ``/Resilience/TimedOut`` or ``/Resilience/DeadlinePassed`` because of the deadline, if no stale value
    ///   may be returned.
    @inlinable @inline(__always) public nonisolated(nonsending) func value(
        for key: Key, deadline: MonotonicInstant = .distantFuture,
        _ load: @autoclosure () -> @Sendable () async throws -> Value
    ) async throws -> Value {
        let now = timeBase.now
        if let value = state.withLock({ $0.hit(key, at: now) }) {
            if observers.want(.trace) { tell(.hit, at: now) }
            return value
        }
        // `load()` makes the closure of the load only here, since a closure that captures values costs an allocation.
        return try await look(for: key, at: now, deadline: deadline, load())
    }

    /// The caller has just found no fresh value.
    @usableFromInline nonisolated(nonsending) func look(
        for key: Key, at now: MonotonicInstant, deadline: MonotonicInstant,
        _ load: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        switch state.withLock({ $0.look(for: key, at: now) }) {
        case .fresh(let value):
            tell(.hit, at: now)
            return value
        case .stale(let value, let ticket, let end):
            tell(.hitStale, at: now)
            if let ticket { refresh(key, ticket, until: end, load) }
            return value
        case .failed(let error):
            tell(.hitFailure, at: now)
            throw error
        case .missing(let ticket):
            tell(.missed, at: now)
            // Here and below, the machine's results are released outside of the lock, since a deinit may be user code.
            defer { _ = state.withLock { $0.isOver(ticket, of: key) } }
            do {
                return try await loads.run(for: ticket.number, deadline: deadline) { [self] in
                    try await perform(load, of: key, ticket)
                }
            } catch {
                let now = timeBase.now
                // Another timer, such as an outer timeout's, cancels the call at its deadline, and may fire first.
                let isLate = now >= CallDeadline.earlier(deadline, on: timeBase)
                let verdict = isLate && error is CancellationError ? .transient : classifier.verdict(for: error)
                guard isLate || !Task.isCancelled, settings.staleOn.contains(verdict),
                    // A call that was rejected for lack of time has not waited for a load, so it pauses no loads.
                    let before = state.withLock({ $0.afterError(key, pausing: verdict.kind != .rejected, at: now) })
                else { throw error }
                tell(.fellBack(verdict), at: now)
                return before
            }
        }
    }

    /// Returns the value for a key if it is fresh.
    ///
    /// Loads nothing, and does not count as a use.
    ///
    /// - Parameter key: The key.
    @inlinable public func freshValue(for key: Key) -> Value? {
        let now = timeBase.now
        return state.withLock { $0.fresh(key, at: now) }
    }

    /// Stores a value, for example a value that was just written.
    ///
    /// Loads of earlier calls do not replace it.
    ///
    /// With concurrent writers, the later call of `store` wins, whichever write came first. With several writers, use
    /// ``remove(_:)``.
    /// - Parameters:
    ///   - value: The value.
    ///   - key: Its key.
    public func store(_ value: Value, for key: Key) {
        let (cost, lifetime) = (cost(of: value), lifetime(of: value, key))
        let now = timeBase.now
        release(
            state.withLock { $0.store(value, for: key, cost: cost, lifetime: lifetime, at: now) }, besides: key, at: now
        )
    }

    /// Removes the entry of a key, for example after a write.
    ///
    /// The result of an earlier load goes to its waiting calls, and is not kept.
    ///
    /// - Parameter key: The key.
    public func remove(_ key: Key) {
        _ = state.withLock { $0.remove(key) }
    }

    /// Removes everything, as ``remove(_:)`` does.
    public func removeAll() {
        _ = state.withLock { $0.removeAll() }
    }

    public var presentTime: MonotonicInstant { timeBase.now }

    /// The size of the cache, and the loads in flight.
    public var status: CacheStatus {
        let (count, cost) = state.withLock { ($0.count, $0.cost) }
        return CacheStatus(count: count, cost: cost, loads: loads.status)
    }

    public var description: String {
        let cost = settings.maxCost.map { " of cost \($0)" } ?? ""
        return "\(name): up to \(settings.maxCount) entries\(cost), fresh for \(settings.lifetime.freshFor.text)"
    }

    // MARK: Loading

    private func perform(
        _ load: @Sendable () async throws -> Value, of key: Key, _ ticket: CacheStateMachine<Key, Value>.Load
    ) async throws -> Value {
        let began = timeBase.now
        if let settled = state.withLock({ $0.settled(key, at: began) }) { return try settled.get() }
        do {
            let value = try await load()
            let (cost, lifetime) = (cost(of: value), lifetime(of: value, key))
            let now = timeBase.now
            tell(.loaded(took: began.duration(to: now)), at: now)
            release(
                state.withLock {
                    $0.ended(ticket, of: key, with: value, cost: cost, for: lifetime, at: now)
                }, besides: key, at: now)
            return value
        } catch {
            let verdict = Task.isCancelled ? .cancelled : classifier.verdict(for: error)
            let isOutage = settings.staleOn.contains(verdict)
            let isAnswer = verdict.kind == .permanent && !isOutage
            let now = timeBase.now
            tell(.failed(verdict, took: began.duration(to: now)), at: now)
            release(
                state.withLock {
                    $0.ended(
                        ticket, of: key, with: error, isAnswer: isAnswer, isOutage: isOutage,
                        keepingFor: settings.failuresFor,
                        wait: verdict.namedWait ?? .zero, at: now)
                }, besides: key, at: now)
            throw error
        }
    }

    /// Loads a new value in the background. No caller's cancellation or deadline ends the load.
    /// - Parameter end: When the value can no longer be returned at once. From then on the load belongs to its
    ///   waiting calls.
    private func refresh(
        _ key: Key, _ ticket: CacheStateMachine<Key, Value>.Load, until end: MonotonicInstant,
        _ load: @escaping @Sendable () async throws -> Value
    ) {
        Task(executorPreference: timeBase.taskExecutor) { @concurrent [self] in
            _ = try? await CallDeadline.lifting {
                try await CallOrigin.lifting {
                    // The refresh is not part of a flight whose operation asked for the value.
                    try await FlightPath.$current.withValue([]) {
                        guard state.withLock({ $0.counts(ticket, of: key) }) else { return }
                        _ = try await loads.run(for: ticket.number, deadline: end) { [self] in
                            try await perform(load, of: key, ticket)
                        }
                    }
                }
            }
            _ = state.withLock { $0.isOver(ticket, of: key) }
        }
    }

    private func cost(of value: Value) -> Int { settings.maxCost == nil ? 0 : costOf?(value) ?? 1 }

    private func lifetime(of value: Value, _ key: Key) -> CacheLifetime {
        lifetimeOf?(key, value)?.clamped ?? settings.lifetime
    }

    /// Releases content that is no longer kept, and reports evictions for a key.
    private func release(_ gone: CacheStateMachine<Key, Value>.Gone, besides key: Key, at now: MonotonicInstant) {
        let evicted = gone.entries.count { $0.key != key }
        if evicted > 0 { tell(.evicted(evicted), at: now) }
    }

    @usableFromInline func tell(_ event: CacheEvent, at time: MonotonicInstant) {
        observers.send(event, from: name, at: time)
    }
}
