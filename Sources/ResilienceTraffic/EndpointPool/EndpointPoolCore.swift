import Resilience

/// The core's view of a pool's endpoints.
@usableFromInline protocol AnyEndpointList: AnyObject, Sendable {
    /// The description of the endpoint at a place. User code.
    func name(at place: Int) -> String
}

/// The endpoints of a pool, in order.
@usableFromInline final class EndpointList<Endpoint: Hashable & Sendable>: AnyEndpointList {
    @usableFromInline let endpoints: [Endpoint]

    init(_ endpoints: [Endpoint]) { self.endpoints = endpoints }

    @usableFromInline func name(at place: Int) -> String { "\(endpoints[place])" }
}

/// The part of an ``EndpointPool`` that does not know the type of its endpoints. Code that is generic over that type,
/// but not specialized, spends ten thousand instructions per call to find the type.
@usableFromInline final class EndpointPoolCore: Sendable {
    let name: String
    let timeBase: any TimeBase
    let lazyObservers: LazyObservers
    private let generator: SplitMix64

    private struct State {
        var machine: EndpointPoolStateMachine
        /// The endpoints, in the order of the machine's members.
        var list: any AnyEndpointList
        /// The number of changes of the list.
        var version = 0
    }

    private let state: Locked<State>

    /// A call's endpoint.
    @usableFromInline struct Chosen: Sendable {
        /// The list that its place refers to.
        @usableFromInline let list: any AnyEndpointList
        @usableFromInline let pick: EndpointPick
    }

    /// The changes to report, and the list that their places refer to.
    struct Told: Sendable {
        let list: any AnyEndpointList
        let changes: [EndpointPoolStateMachine.Change]

        var events: [EndpointPoolEvent] {
            changes.map { change in
                switch change {
                case .ejected(let place, let reason, let time): .ejected(list.name(at: place), reason, for: time)
                case .kept(let place, let reason): .notEjected(list.name(at: place), reason)
                case .returned(let place): .returned(list.name(at: place))
                case .panicBegan(let left, let count): .panicBegan(left: left, of: count)
                case .panicEnded: .panicEnded
                }
            }
        }
    }

    init(
        _ name: String, _ settings: EndpointPoolStateMachine.Settings, _ list: any AnyEndpointList,
        generator: SplitMix64,
        timeBase: any TimeBase, observers: PolicyObservers?
    ) {
        self.name = name
        self.timeBase = timeBase
        self.generator = generator
        lazyObservers = LazyObservers(observers)
        state = Locked(State(machine: EndpointPoolStateMachine(settings, at: timeBase.now), list: list))
    }

    // MARK: The list

    /// The number of changes of the list, the list, and the numbers of its endpoints.
    var numbered: (version: Int, list: any AnyEndpointList, ids: [Int]) {
        let (version, list, machine) = state.withLock { ($0.version, $0.list, $0.machine) }
        return (version, list, machine.members.map(\.id))
    }

    /// - Returns: Whether the list was replaced; false if another change came first.
    func update(to members: [(id: Int?, weight: Double)], _ list: any AnyEndpointList, ifStill version: Int) -> Bool {
        let now = timeBase.now
        // The old list is released outside of the lock: a deinit may be user code.
        let done: (before: Told, told: Told)? = state.withLock { state in
            guard state.version == version else { return nil }
            var generator = generator
            let before = Told(list: state.list, changes: state.machine.advance(to: now, using: &generator))
            let changes = state.machine.update(to: members, at: now, using: &generator)
            state.list = list
            state.version += 1
            return (before, Told(list: list, changes: changes))
        }
        guard let done else { return false }
        tell(done.before, at: now)
        tell(done.told, at: now)
        return true
    }

    /// Changes the machine, and reports the changes.
    /// - Parameter version: The version of the list that the change is for; nil for any.
    /// - Returns: Whether the machine was changed; false if another change of the list came first.
    @discardableResult
    func change(
        ifStill version: Int? = nil,
        _ body: (inout EndpointPoolStateMachine, MonotonicInstant) -> [EndpointPoolStateMachine.Change]
    ) -> Bool {
        let now = timeBase.now
        let told: Told? = state.withLock { state in
            guard version == nil || version == state.version else { return nil }
            var generator = generator
            let before = state.machine.advance(to: now, using: &generator)
            return Told(list: state.list, changes: before + body(&state.machine, now))
        }
        guard let told else { return false }
        tell(told, at: now)
        return true
    }

    // MARK: Status

    var status: EndpointPoolStatus {
        let now = timeBase.now
        let (machine, list) = state.withLock { ($0.machine, $0.list) }
        let then = machine.advanced(to: now)
        let used = Set(then.usable)
        return EndpointPoolStatus(
            endpoints: then.members.enumerated().map { place, member in
                EndpointStatus(
                    endpoint: list.name(at: place), isUsed: used.contains(place),
                    isEjected: member.ejectedUntil != nil,
                    timeRemaining: member.ejectedUntil.flatMap { now.wait(until: $0) },
                    ejections: member.ejections, weight: then.weight(of: place, at: now), inFlight: member.inFlight,
                    calls: member.total.calls, failures: member.total.failures)
            },
            isPanicking: then.isPanicking)
    }

    var isAtRest: Bool {
        let now = timeBase.now
        return state.withLock { $0.machine }.advanced(to: now).isAtRest
    }

    var isIdle: Bool {
        let now = timeBase.now
        return state.withLock { $0.machine }.advanced(to: now).isIdle
    }

    var settings: EndpointPoolStateMachine.Settings { state.withLock { $0.machine.settings } }

    var description: String {
        let machine = state.withLock { $0.machine }
        let count = machine.members.count
        let choice = machine.settings.choice == .roundRobin ? "in turn" : "the less loaded of two"
        let ejects = machine.settings.ejection == nil ? ", none ejected" : ""
        return "\(name): \(count) endpoint\(count == 1 ? "" : "s"), \(choice)\(ejects)"
    }

    // MARK: Calls

    /// Chooses an endpoint.
    /// - Parameters:
    ///   - tried: The endpoints that the call has tried.
    ///   - inFlight: The endpoints with copies of the call in flight.
    ///   - rejected: The endpoints that rejected this attempt.
    /// - Returns: The endpoint, nil if there is none; and the news for observers, nil for none.
    func choose(
        _ tried: inout TriedEndpoints, inFlight: [Int] = [], rejected: [Int] = [], at now: MonotonicInstant
    ) -> (Chosen?, Told?) {
        state.withLock { state in
            var generator = generator
            let (pick, changes) = state.machine.choose(
                &tried, inFlight: inFlight, rejected: rejected, at: now, using: &generator)
            let told = changes.isEmpty ? nil : Told(list: state.list, changes: changes)
            return (pick.map { Chosen(list: state.list, pick: $0) }, told)
        }
    }

    /// A call has ended.
    /// - Parameter now: Returns the time; called only after a failure.
    /// - Returns: The news for observers; nil for none.
    func ended(_ pick: EndpointPick, _ verdict: Verdict, at now: () -> MonotonicInstant) -> Told? {
        let isFailure = state.withLock { state in
            switch state.machine.settings.evidence(of: verdict) {
            case .healthy: state.machine.succeeded(pick)
            case .nothing: state.machine.left(pick)
            case .failing: return true
            }
            return false
        }
        // The time is read outside of the lock.
        guard isFailure else { return nil }
        let now = now()
        return state.withLock { state in
            var generator = generator
            let changes = state.machine.failed(pick, at: now, using: &generator)
            return changes.isEmpty ? nil : Told(list: state.list, changes: changes)
        }
    }

    /// A call has ended.
    /// - Parameter core: Its pipeline; nil for none.
    func ended(_ pick: EndpointPick, _ verdict: Verdict, in core: PipelineCore? = nil) {
        if let told = ended(pick, verdict, at: { timeBase.now }) { tell(told, at: timeBase.now, in: core) }
    }

    /// The error if there is no endpoint.
    func noEndpoint(at now: MonotonicInstant) -> NoEndpoint {
        let machine = state.withLock { $0.machine }
        return NoEndpoint(
            policy: name, count: machine.members.count,
            retryAfter: machine.nextReturn.map { max(.zero, now.duration(to: $0)) })
    }

    func tell(_ told: Told, at time: MonotonicInstant, in core: PipelineCore? = nil) {
        let all = [lazyObservers.known, core?.observers].compactMap { $0 }.filter { !$0.isEmpty }
        guard !told.changes.isEmpty, !all.isEmpty else { return }
        for event in told.events {
            let event = PolicyEvent(policy: name, pipeline: core?.name, time: time, detail: event)
            for observers in all { observers.send(event) }
        }
    }
}
