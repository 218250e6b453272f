public import Resilience

/// Several endpoints of one service: chooses an endpoint for each attempt, and ejects endpoints that fail more than the
/// others.
///
/// ```swift
/// let pool = EndpointPool("search", addresses)
/// let pipeline = Pipeline("search", isIdempotent: true) {
///     Retry(maxRetries: 2)
///     Timeout(limit: .seconds(1))         // each attempt
/// }
/// let page = try await pipeline.run(over: pool) { address in
///     try await client.search(at: address)
/// }
/// ```
///
/// - Each attempt of a ``/Resilience/Retry``, and each copy of a ``Hedge``, goes to an endpoint that this call has
///   not tried, if there is one.
/// - An endpoint that fails five times in a row, or much more often than the others, is ejected: it gets no calls for
///   a while.
/// - If too few endpoints are left, all are used.
/// - A new or returning endpoint gets few calls at first.
///
/// Cancelled calls, losing copies, and rejections by policies of this process do not count for or against an endpoint.
/// An attempt that is cancelled at its deadline does count: the endpoint was too slow.
///
/// The endpoints' `==`, `hash(into:)` and descriptions must not use the pool.
///
/// See <doc:EndpointPoolGuide>.
public final class EndpointPool<Endpoint: Hashable & Sendable>: Sendable, CustomStringConvertible {
    @usableFromInline let core: EndpointPoolCore

    /// The name in events and errors.
    public var name: String { core.name }
    /// The observers of this pool's events, in every pipeline.
    public var observers: PolicyObservers { core.lazyObservers.made }
    /// The time base of ejections.
    public var timeBase: any TimeBase { core.timeBase }

    /// Creates a pool.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - endpoints: The endpoints. Duplicates count once. See ``update(_:weights:)``.
    ///   - weights: The weights of endpoints; 1 for endpoints without a weight. See ``update(_:weights:)``.
    ///   - choice: How an endpoint is chosen. By default the less loaded of two.
    ///   - ejection: The rules that eject failing endpoints; nil for none.
    ///   - slowStart: How the weight of a new or returning endpoint grows; nil for full weight at once.
    ///   - panicThreshold: The pool uses all endpoints if the share that is not ejected falls below this; 0…1. 0.5 by
    ///     default. With 0, ejected endpoints are never used.
    ///   - failing: The verdicts that count as failures of the endpoint; neither success nor cancelled. A
    ///     success, or a permanent failure not among them, is an answer; other verdicts are ignored.
    ///   - generator: The source of chance; pass a seeded one to repeat a run.
    ///   - timeBase: The time base of ejections.
    ///   - observers: The observers of this pool's events; nil for none at first.
    public convenience init(
        _ name: String, _ endpoints: [Endpoint], weights: [Endpoint: Int] = [:],
        choosing choice: EndpointChoice = .leastLoaded, ejecting ejection: OutlierEjection? = OutlierEjection(),
        slowStart: SlowStart? = SlowStart(), panicThreshold: Double = 0.5,
        failing: VerdictSet = [.transient, .uncertain], generator: SplitMix64 = .shared,
        timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        let settings = EndpointPoolSettings(
            choosing: choice, ejecting: ejection, slowStart: slowStart, panicThreshold: panicThreshold,
            failing: failing)
        self.init(
            name, endpoints, weights: weights, settings: settings, generator: generator, timeBase: timeBase,
            observers: observers)
    }

    /// Creates a pool.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - endpoints: The endpoints.
    ///   - weights: The weights of endpoints; 1 for endpoints without a weight.
    ///   - settings: The settings.
    ///   - generator: The source of chance; pass a seeded one to repeat a run.
    ///   - timeBase: The time base of ejections.
    ///   - observers: The observers of this pool's events; nil for none at first.
    public init(
        _ name: String, _ endpoints: [Endpoint], weights: [Endpoint: Int] = [:], settings: EndpointPoolSettings,
        generator: SplitMix64 = .shared, timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        core = EndpointPoolCore(
            name, settings.valid(), EndpointList<Endpoint>([]), generator: generator, timeBase: timeBase,
            observers: observers)
        update(endpoints, weights: weights)
    }

    // MARK: The list

    /// The endpoints in the list.
    public var endpoints: [Endpoint] { list(core.numbered.list).endpoints }

    /// Casts the core's list to this pool's type. Safe: a pool gives its core no other type of list.
    @inlinable @inline(__always) func list(_ list: any AnyEndpointList) -> EndpointList<Endpoint> {
        unsafeDowncast(list, to: EndpointList<Endpoint>.self)
    }

    /// Replaces the list of endpoints.
    ///
    /// The state of remaining endpoints is kept; calls in flight on removed endpoints continue, but no longer count.
    /// New endpoints begin with a small weight (``SlowStart``), unless most are new. If more endpoints of the new list
    /// are ejected than allowed, the endpoints whose ejection ends first return.
    ///
    /// May be called from any thread, while calls are in flight: for example when DNS has a new answer.
    /// - Parameters:
    ///   - endpoints: The endpoints. Duplicates count once. With an empty list, calls throw ``NoEndpoint``.
    ///   - weights: How often an endpoint is chosen, relative to the other endpoints, 1…65 535; values beyond that are
    ///     clamped. 1 for endpoints without a weight. To give an endpoint no calls, leave it out of the list.
    public func update(_ endpoints: [Endpoint], weights: [Endpoint: Int] = [:]) {
        var seen: Set<Endpoint> = []
        let endpoints = endpoints.filter { seen.insert($0).inserted }
        let sizes = endpoints.map { Double(min(max(weights[$0] ?? 1, 1), 65_535)) }
        let list = EndpointList(endpoints)
        while true {
            let (version, present, ids) = core.numbered
            // Outside of the lock, since `==` and `hash(into:)` are user code.
            let numbers = Dictionary(zip(self.list(present).endpoints, ids)) { first, _ in first }
            let members = zip(endpoints, sizes).map { (id: numbers[$0], weight: $1) }
            if core.update(to: members, list, ifStill: version) { return }
        }
    }

    /// Takes an endpoint out by hand: it gets no calls, even if too few others are left, and counts as if it were not
    /// in the list.
    ///
    /// Does nothing for an unknown endpoint.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - time: How long; nil, the default, until ``restore(_:)``.
    public func eject(_ endpoint: Endpoint, for time: Duration? = nil) {
        change(endpoint) { machine, id, now in
            machine.eject(id, until: time.map { now + max(.zero, $0) } ?? .distantFuture, at: now)
        }
    }

    /// Brings an ejected endpoint back early, whatever the reason for its ejection.
    ///
    /// Does nothing if it is not ejected.
    ///
    /// - Parameter endpoint: The endpoint.
    public func restore(_ endpoint: Endpoint) {
        change(endpoint) { machine, id, now in machine.restore(id, at: now) }
    }

    private func change(
        _ endpoint: Endpoint,
        _ body: (inout EndpointPoolStateMachine, Int, MonotonicInstant) -> [EndpointPoolStateMachine.Change]
    ) {
        while true {
            let (version, present, ids) = core.numbered
            // Outside of the lock, as in `update`: `==` and `hash(into:)` are user code.
            guard let place = list(present).endpoints.firstIndex(of: endpoint) else { return }
            if core.change(ifStill: version, { machine, now in body(&machine, ids[place], now) }) { return }
        }
    }

    /// Brings all endpoints back, and resets all counts.
    ///
    /// The list stays.
    public func reset() { core.change { machine, now in machine.reset(at: now) } }

    // MARK: Status

    /// The state of all endpoints.
    public var status: EndpointPoolStatus { core.status }

    /// Whether no call is in flight, no endpoint is ejected, and no failure is counted.
    public var isAtRest: Bool { core.isAtRest }

    /// Whether no call is in flight and no endpoint is ejected.
    var isIdle: Bool { core.isIdle }

    /// The settings now.
    public var settings: EndpointPoolSettings { core.settings }

    /// Applies other settings.
    ///
    /// The state of the endpoints is kept; ejected endpoints return, or return earlier, if the new settings require it.
    /// Invalid settings trap, or, inside ``/Resilience/PolicySettings/checked(_:)``, change nothing.
    ///
    /// - Parameter settings: The settings.
    public func apply(_ settings: EndpointPoolSettings) {
        guard let settings = settings.allowed() else { return }
        core.change { machine, now in machine.change(to: settings, at: now) }
    }

    public var description: String { core.description }
}
