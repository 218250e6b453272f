import Synchronization

/// Stops calling an endpoint that keeps failing, and finds out when it is well again.
///
/// ```swift
/// let breaker = CircuitBreaker("activities", tripping: .consecutiveFailures(5), openFor: .constant(.seconds(60)))
/// let page = try await breaker.run { try await client.activities() }
/// ```
///
/// It is a reference: everybody who calls the endpoint shares one. When to open is a ``TripRule``; what open and recovery
/// mean is a ``CircuitStateMachine``. Both can be your own types.
///
/// By default transient failures count, an answer of any other kind shows that the endpoint is well, and neither 429s nor
/// cancelled calls nor our own rejections count either way. Put it outside a retry and an exhausted retry counts once; put
/// it inside and every attempt counts.
public final class CircuitBreaker: Policy {
    public let name: String
    public var timeBase: (any TimeBase)? { ownCore.timeBase }
    /// Who is told what this breaker does, whichever pipeline it is in.
    public let observers: Observers

    /// For calls that come without a pipeline.
    @usableFromInline let ownCore: PipelineCore
    private let circuit: Locked<Circuit>
    /// A copy of ``Circuit/restingGeneration``: while it is not 0, calls that succeed take no lock.
    private let resting: Atomic<UInt64>

    /// A breaker with a circuit state machine of your choice.
    public init(
        _ name: String = "breaker", circuit machine: some CircuitStateMachine, timeBase: any TimeBase = .system,
        observers: Observers = Observers()
    ) {
        self.name = name
        self.observers = observers
        ownCore = .bare(on: timeBase)
        let circuit = Circuit(machine)
        resting = Atomic(circuit.restingGeneration)
        self.circuit = Locked(circuit)
    }

    /// A breaker with three states; see ``ThreeStateCircuit``. Opens on the 5th failure in a row, for 60 s, unless told
    /// otherwise.
    public convenience init(
        _ name: String = "breaker", tripping rule: some TripRule = .consecutiveFailures(5),
        openFor: some BreakDuration = .constant(.seconds(60)), timeBase: any TimeBase = .system,
        observers: Observers = Observers()
    ) {
        self.init(
            name, circuit: ThreeStateCircuit(tripping: rule, openFor: openFor), timeBase: timeBase,
            observers: observers)
    }

    /// Runs `operation` guarded by this breaker alone: a pipeline of one.
    ///
    /// As for any policy, and half the price: it need not look for the time base.
    @inlinable public nonisolated(nonsending) func run<R>(
        options: CallOptions = CallOptions(), _ operation: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        defer { withExtendedLifetime(self) {} }
        var call = Call(ownCore, options)
        return try await Lone(self).drive(&call, judging: { _ in .success }, { _ in try await operation() })
    }

    public func enter(_ call: inout Call, _ slot: inout Slot) -> Entry {
        let generation = resting.load(ordering: .acquiring)
        guard generation != 0, !call.isObserved(by: observers) else { return enterLocked(&call, &slot) }
        slot.first = generation
        slot.second = 0
        return .proceed
    }

    @inline(never) private func enterLocked(_ call: inout Call, _ slot: inout Slot) -> Entry {
        let now = call.now
        let (admission, state) = change { circuit in (circuit.admit(at: now), circuit.machine.state) }
        switch admission {
        case .allow(let generation, let ticket, let transition):
            slot.first = generation
            slot.second = ticket
            tell(transition, nil, &call)
            call.emit(Event.allowed(state), from: name, to: observers)
            return .proceed
        case .refuse(let retryAfter, let transition):
            tell(transition, nil, &call)
            call.emit(Event.refused(retryAfter: retryAfter), from: name, to: observers)
            return .refuse(CircuitOpen(breaker: name, retryAfter: retryAfter))
        }
    }

    public func exit(_ call: inout Call, _ slot: inout Slot, _ outcome: Outcome) -> Exit {
        if case .success = outcome.verdict, slot.first == resting.load(ordering: .acquiring) { return .pass }
        record(outcome.verdict, &call, slot)
        return .pass
    }

    @inline(never) private func record(_ verdict: Verdict, _ call: inout Call, _ slot: Slot) {
        let now = call.now
        let (recording, failures, status) = change { circuit in
            let before = circuit.status(at: now).failureCount
            let recording = circuit.record(verdict, generation: slot.first, ticket: slot.second, at: now)
            let status = circuit.status(at: now)
            return (recording, status.failureCount > before, status)
        }
        switch recording {
        case .late:
            call.emit(Event.late(verdict), from: name, to: observers)
        case .recorded(let transition):
            if failures {
                call.emit(
                    Event.failure(status.failureCount, of: status.failureLimit), from: name, to: observers)
            }
            tell(transition, status.timeRemaining, &call)
        }
    }

    /// Back to closed with nothing counted, whatever the state. Calls under way no longer count.
    /// - Parameter keepingGrowth: whether a next break is as long as if this reset had not been.
    public func reset(keepingGrowth: Bool = false) {
        let transition = change { $0.reset(keepingGrowth: keepingGrowth) }
        guard transition != nil, !observers.isEmpty else { return }
        observers.send(
            Resilience.Event(policy: name, pipeline: nil, time: ownCore.timeBase.now, detail: Event.reset))
    }

    /// What a call would find now.
    public var status: CircuitStatus {
        let now = ownCore.timeBase.now
        return circuit.withLock { $0.status(at: now) }
    }

    /// Whether a call would be let through now.
    public var isAllowed: Bool { status.isAllowed }
    /// Whether calls are refused now. Turns false by itself when the break is over.
    public var isTripped: Bool { status.state == .open }
    public var state: CircuitState { status.state }
    public var failureCount: Int { status.failureCount }
    /// How long until it may be tested; nil when it is not open.
    public var timeRemaining: Duration? { status.timeRemaining }

    /// Whether the machine is closed with nothing counted: forgetting it would lose nothing.
    var isAtRest: Bool { resting.load(ordering: .acquiring) != 0 }

    private func change<R: Sendable>(_ body: (inout Circuit) -> R) -> R {
        circuit.withLock { circuit in
            let result = body(&circuit)
            resting.store(circuit.restingGeneration, ordering: .releasing)
            return result
        }
    }

    private func tell(_ transition: Circuit.Transition?, _ remaining: Duration?, _ call: inout Call) {
        guard let transition else { return }
        call.emit(Event(transition, remaining), from: name, to: observers)
    }

    public var description: String { "\(name): \(circuit.withLock { $0.machine.description })" }
}

extension CircuitBreaker {
    public enum Event: PolicyEvent, Equatable {
        case allowed(CircuitState)
        case failure(Int, of: Int?)
        case opened(for: Duration?)
        case refused(retryAfter: Duration?)
        case halfOpened
        case recovered
        case reopened(for: Duration?)
        /// The break is over, and no probe is asked for.
        case breakEnded
        case reset
        /// A result came from a call admitted in an earlier state, and was not counted.
        case late(Verdict)

        init(_ transition: Circuit.Transition, _ remaining: Duration?) {
            self =
                switch (transition.from, transition.to) {
                case (.closed, .open): .opened(for: remaining)
                case (.halfOpen, .open): .reopened(for: remaining)
                case (_, .halfOpen): .halfOpened
                case (.halfOpen, .closed): .recovered
                case (.open, .closed), (.closed, .closed): .breakEnded
                case (.open, .open): .reopened(for: remaining)
                }
        }

        public var description: String {
            switch self {
            case .allowed(.halfOpen): "half-open, allowing a probe"
            case .allowed(let state): "\(state), allowing call"
            case .failure(let count, let limit?): "failure \(count)/\(limit)"
            case .failure(let count, nil): "failure \(count)"
            case .opened(let length): "threshold reached → open\(Self.lasting(length))"
            case .refused(let retryAfter?): "open, refusing call (retry in \(retryAfter.wholeSecondsRoundedUp) s)"
            case .refused(nil): "open, refusing call"
            case .halfOpened: "break over → half-open"
            case .recovered: "probe succeeded → closed (recovered)"
            case .reopened(let length): "probe failed → open\(Self.lasting(length))"
            case .breakEnded: "break over → closed"
            case .reset: "reset → closed"
            case .late(let verdict): "late \(verdict) from an earlier state, not counted"
            }
        }

        private static func lasting(_ length: Duration?) -> String {
            length.map { " for \($0.wholeSecondsRoundedUp) s" } ?? ""
        }
    }
}
