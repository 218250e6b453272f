/// Several endpoints of one service: chooses one for each attempt, and ejects those that fail more than the others.
///
/// ```swift
/// let pool = EndpointPool("search", addresses)
/// let pipeline = Pipeline("search") {
///     Retry(maxRetries: 2)
///     Timeout(limit: .seconds(1))         // each attempt
/// }
/// let page = try await pipeline.run(over: pool) { address in
///     try await client.search(at: address)
/// }
/// ```
///
/// - Each attempt of a ``Retry``, and each copy of a ``Hedge``, goes to an endpoint that this call has not tried, as long as
///   there is another one.
/// - An endpoint that fails five times in a row, or much more often than the others, is ejected: it gets no calls for a while.
/// - If too few endpoints are left, all are used.
/// - An endpoint that is new, or returns, gets few calls at first.
///
/// Calls that are cancelled, copies that have lost, and rejections by policies of this process say nothing of an endpoint. An
/// attempt that is cancelled at its deadline does: the endpoint was too slow.
///
/// The endpoints' `==`, `hash(into:)` and descriptions must not use the pool.
///
/// See <doc:EndpointPoolGuide>.
public final class EndpointPool<Endpoint: Hashable & Sendable>: Sendable, CustomStringConvertible {
    /// The name in events and errors.
    public let name: String
    /// The observers that are told what this pool does, whatever the pipeline.
    public var observers: PolicyObservers { lazyObservers.made }
    let lazyObservers: LazyObservers
    /// The time base of ejections.
    public let timeBase: any TimeBase
    private let generator: SplitMix64

    private struct State: Sendable {
        var machine: EndpointPoolStateMachine
        /// As the machine's members.
        var endpoints: [Endpoint] = []
        /// Counts the changes of the list.
        var version = 0

        /// Adds the endpoints to what has changed, while the places are still theirs.
        func named(_ changes: [EndpointPoolStateMachine.Change]) -> Told {
            changes.map { change in
                switch change {
                case .ejected(let place, _, _), .kept(let place, _), .returned(let place): (endpoints[place], change)
                case .panicBegan, .panicEnded: (nil, change)
                }
            }
        }
    }

    private let state: Locked<State>

    /// An endpoint that a call was given.
    @usableFromInline struct Chosen: Sendable {
        @usableFromInline let endpoint: Endpoint
        @usableFromInline let pick: EndpointPick
    }

    /// Creates a pool.
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - endpoints: The endpoints. One that is in the list twice counts once. See ``update(_:weights:)``.
    ///   - weights: The weights of endpoints; 1 for all others. See ``update(_:weights:)``.
    ///   - choice: How an endpoint is chosen. By default the less loaded of two.
    ///   - ejection: When an endpoint is ejected; nil for never.
    ///   - slowStart: How the weight of an endpoint grows that is new or returns; nil if it has all of it at once.
    ///   - panicThreshold: The share of endpoints below which all are used, the ejected ones too, 0…1. 0.5 by default. With 0,
    ///     ejected endpoints are never used.
    ///   - failing: The verdicts that count as failures of the endpoint; neither success nor cancelled. A success and a
    ///     permanent failure are answers. What else is not among them counts as nothing.
    ///   - generator: The source of chance; pass a seeded one to repeat a run.
    ///   - timeBase: The time base of ejections.
    ///   - observers: The observers that are told what this pool does; nil for none at first.
    public init(
        _ name: String, _ endpoints: [Endpoint], weights: [Endpoint: Int] = [:],
        choosing choice: EndpointChoice = .leastLoaded, ejecting ejection: OutlierEjection? = OutlierEjection(),
        slowStart: SlowStart? = SlowStart(), panicThreshold: Double = 0.5,
        failing: VerdictSet = [.transient, .uncertain], generator: SplitMix64 = .shared,
        timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        let checks = SettingChecks("EndpointPool")
        let settings = EndpointPoolStateMachine.Settings(
            choice: choice, ejection: ejection, slowStart: slowStart,
            panicThreshold: checks.share(panicThreshold, "panicThreshold"),
            failing: checks.failures(failing, "failing"))
        self.name = name
        lazyObservers = LazyObservers(observers)
        self.timeBase = timeBase
        self.generator = generator
        state = Locked(State(machine: EndpointPoolStateMachine(settings, at: timeBase.now)))
        update(endpoints, weights: weights)
    }

    // MARK: The list

    /// The endpoints in the list.
    public var endpoints: [Endpoint] { state.withLock { $0.endpoints } }

    /// Replaces the list of endpoints. What is known of those that stay is kept; calls in flight on the others go on, and
    /// count no longer. New endpoints begin with a small weight (``SlowStart``), unless all are new.
    ///
    /// May be called while calls are in flight, from any thread: when a lookup of names has a new answer, for example.
    /// - Parameters:
    ///   - endpoints: The endpoints. One that is in the list twice counts once. With an empty list, calls throw ``NoEndpoint``.
    ///   - weights: How often an endpoint is chosen, compared with the others, 1…65 535; beyond that, the nearest of the two
    ///     counts. An endpoint that is not named has 1. To have an endpoint get no calls, leave it out of the list.
    public func update(_ endpoints: [Endpoint], weights: [Endpoint: Int] = [:]) {
        var seen: Set<Endpoint> = []
        let endpoints = endpoints.filter { seen.insert($0).inserted }
        let sizes = endpoints.map { Double(min(max(weights[$0] ?? 1, 1), 65_535)) }
        let now = timeBase.now
        while true {
            let (version, present) = numbered
            // Outside of the lock, since `==` and `hash(into:)` are user code.
            let numbers = Dictionary(present) { first, _ in first }
            let list = zip(endpoints, sizes).map { (id: numbers[$0], weight: $1) }
            // The old list is released outside of the lock: a deinit may be user code, too.
            let (isDone, changes, old) = state.withLock { state -> (Bool, Told, [Endpoint]) in
                guard state.version == version else { return (false, [], []) }
                let old = state.endpoints
                var generator = generator
                let before = state.named(state.machine.advance(to: now, using: &generator))
                let changes = state.machine.update(to: list, at: now, using: &generator)
                state.endpoints = endpoints
                state.version += 1
                return (true, before + state.named(changes), old)
            }
            _ = old
            guard isDone else { continue }
            return tell(changes, at: now)
        }
    }

    /// The endpoints with their numbers, and how often the list has changed.
    private var numbered: (version: Int, [(Endpoint, Int)]) {
        state.withLock { state in
            (state.version, zip(state.endpoints, state.machine.members).map { ($0, $1.id) })
        }
    }

    /// Takes an endpoint out by hand: it gets no calls, not even if too few others are left. It counts as if it were not in
    /// the list. Does nothing if it is not there.
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - time: For how long. nil, the default, until ``restore(_:)``.
    public func eject(_ endpoint: Endpoint, for time: Duration? = nil) {
        change(endpoint) { machine, id, now in
            machine.eject(id, until: time.map { now + max(.zero, $0) } ?? .distantFuture, at: now)
        }
    }

    /// Brings an ejected endpoint back before its time, whoever ejected it. Does nothing if it is not ejected.
    /// - Parameter endpoint: The endpoint.
    public func restore(_ endpoint: Endpoint) {
        change(endpoint) { machine, id, now in machine.restore(id, at: now) }
    }

    private func change(
        _ endpoint: Endpoint,
        _ body: (inout EndpointPoolStateMachine, Int, MonotonicInstant) -> [EndpointPoolStateMachine.Change]
    ) {
        guard let (_, id) = numbered.1.first(where: { $0.0 == endpoint }) else { return }
        let now = timeBase.now
        let changes = state.withLock { state in
            var generator = generator
            let before = state.machine.advance(to: now, using: &generator)
            return state.named(before + body(&state.machine, id, now))
        }
        tell(changes, at: now)
    }

    /// Brings all endpoints back, and forgets how calls ended. The list stays.
    public func reset() {
        let now = timeBase.now
        tell(state.withLock { $0.named($0.machine.reset(at: now)) }, at: now)
    }

    // MARK: Status

    /// The state of all endpoints.
    public var status: EndpointPoolStatus {
        let now = timeBase.now
        let (machine, endpoints) = state.withLock { ($0.machine, $0.endpoints) }
        let then = machine.advanced(to: now)
        let used = Set(then.usable)
        return EndpointPoolStatus(
            endpoints: zip(endpoints.indices, zip(endpoints, then.members)).map { place, pair in
                let (endpoint, member) = pair
                return EndpointStatus(
                    endpoint: "\(endpoint)", isUsed: used.contains(place), isEjected: member.ejectedUntil != nil,
                    timeRemaining: member.ejectedUntil.flatMap { $0 == .distantFuture ? nil : now.duration(to: $0) },
                    ejections: member.ejections, weight: then.weight(of: place, at: now), inFlight: member.inFlight,
                    calls: member.total.calls, failures: member.total.failures)
            },
            isPanicking: then.isPanicking)
    }

    /// Whether no call is in flight, no endpoint is ejected, and no failure is remembered.
    public var isAtRest: Bool {
        let now = timeBase.now
        return state.withLock { $0.machine }.advanced(to: now).isAtRest
    }

    var settings: EndpointPoolStateMachine.Settings { state.withLock { $0.machine.settings } }

    /// Goes on with other settings.
    func change(to settings: EndpointPoolStateMachine.Settings) {
        let now = timeBase.now
        tell(state.withLock { $0.named($0.machine.change(to: settings, at: now)) }, at: now)
    }

    public var description: String {
        let (settings, count) = state.withLock { ($0.machine.settings, $0.endpoints.count) }
        let choice = settings.choice == .roundRobin ? "in turn" : "the less loaded of two"
        return
            "\(name): \(count) endpoint\(count == 1 ? "" : "s"), \(choice)\(settings.ejection == nil ? ", none ejected" : "")"
    }

    // MARK: Calls

    /// Chooses an endpoint.
    /// - Parameters:
    ///   - tried: What the call has tried.
    ///   - inFlight: The endpoints with copies of the call in flight.
    ///   - rejected: The endpoints that this attempt was rejected by.
    /// - Returns: The endpoint, nil if there is none; and what is to be told.
    func choose(
        _ tried: inout TriedEndpoints, inFlight: [Int] = [], rejected: [Int] = [], at now: MonotonicInstant
    ) -> (Chosen?, Told) {
        state.withLock { state in
            var generator = generator
            let (pick, changes) = state.machine.choose(
                &tried, inFlight: inFlight, rejected: rejected, at: now, using: &generator)
            let told = changes.isEmpty ? [] : state.named(changes)
            return (pick.map { Chosen(endpoint: state.endpoints[$0.place], pick: $0) }, told)
        }
    }

    /// A call has ended.
    /// - Parameter now: Returns the time; asked only after a failure.
    /// - Returns: What is to be told.
    func ended(_ pick: EndpointPick, _ verdict: Verdict, at now: () -> MonotonicInstant) -> Told {
        let isFailure = state.withLock { state in
            switch state.machine.settings.evidence(of: verdict) {
            case .healthy: state.machine.succeeded(pick)
            case .nothing: state.machine.left(pick)
            case .failing: return true
            }
            return false
        }
        // The time is read outside of the lock.
        guard isFailure else { return [] }
        let now = now()
        return state.withLock { state in
            var generator = generator
            let changes = state.machine.failed(pick, at: now, using: &generator)
            return changes.isEmpty ? [] : state.named(changes)
        }
    }

    /// What is thrown if there is no endpoint.
    func noEndpoint(at now: MonotonicInstant) -> NoEndpoint {
        let (count, end) = state.withLock { ($0.endpoints.count, $0.machine.nextReturn) }
        return NoEndpoint(policy: name, count: count, retryAfter: end.map { max(.zero, now.duration(to: $0)) })
    }

    // MARK: Events

    /// What has changed, with the endpoint if it is about one.
    typealias Told = [(endpoint: Endpoint?, change: EndpointPoolStateMachine.Change)]

    func tell(_ changes: Told, at time: MonotonicInstant) {
        guard !changes.isEmpty, let observers = lazyObservers.known else { return }
        for event in events(changes) { observers.send(event, from: name, at: time) }
    }

    func events(_ changes: Told) -> [EndpointPoolEvent] {
        changes.map { endpoint, change in
            let name = endpoint.map { "\($0)" } ?? ""
            return switch change {
            case .ejected(_, let reason, let time): .ejected(name, reason, for: time)
            case .kept(_, let reason): .notEjected(name, reason)
            case .returned: .returned(name)
            case .panicBegan(let left, let count): .panicBegan(left: left, of: count)
            case .panicEnded: .panicEnded
            }
        }
    }
}
