import Synchronization

/// Stops calling an endpoint that keeps failing, and finds out when it is well again.
///
/// ```swift
/// let breaker = CircuitBreaker("activities", tripping: .consecutiveFailures(5), openFor: .seconds(60))
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
    public let observers: PolicyObservers

    /// For calls that come without a pipeline.
    @usableFromInline let ownCore: PipelineCore
    let healthCheck: CircuitHealthCheck?
    let inner: Locked<State>
    private let freePass: FreePass

    struct State {
        var circuit: Circuit
        /// Calls that wait for the probes' end.
        var line = TicketLine<PolicyWaiter>()
        var watchers = Watchers()
        var plan = Plan()
        var check = Check()
        /// The last refusal, made once for all callers that it holds for. Gone when anything changes.
        var refusal: Refusal?

        /// - Returns: whether the state is another now.
        mutating func noteChange(from before: CircuitState) -> Bool {
            let after = circuit.state
            guard after != before else { return false }
            refusal = nil
            // Unknown after a restore.
            watchers.note(CircuitTransition(from: before, to: after, time: circuit.since ?? circuit.latest))
            return true
        }
    }

    struct Refusal {
        let until: MonotonicInstant?
        let reason: CircuitOpen.Reason
        let error: any Error
    }

    /// A breaker with a circuit state machine of your choice.
    /// - Parameters:
    ///   - name: names it in events and errors.
    ///   - machine: what open and recovery mean.
    ///   - healthCheck: who finds out whether the endpoint is well again, instead of callers.
    ///   - timeBase: where it lives.
    ///   - observers: who is told what it does.
    public init(
        _ name: String = "breaker", circuit machine: some CircuitStateMachine, healthCheck: CircuitHealthCheck? = nil,
        timeBase: any TimeBase = .system, observers: PolicyObservers = PolicyObservers()
    ) {
        self.name = name
        self.observers = observers
        self.healthCheck = healthCheck
        ownCore = .bare(on: timeBase)
        let circuit = Circuit(machine, checksHealth: healthCheck != nil)
        freePass = FreePass()
        freePass.update(circuit.generation, needs: circuit.needs, tallyEnds: circuit.tallyEnds)
        inner = Locked(State(circuit: circuit))
    }

    /// A breaker with three states; see ``ThreeStateCircuit``.
    /// - Parameters:
    ///   - name: in events and errors.
    ///   - rule: when to open; at the 5th failure in a row if not told otherwise.
    ///   - openFor: for how long; 60 s if not told otherwise.
    ///   - healthCheck: finds out whether the endpoint is well, instead of a caller's call.
    ///   - timeBase: where it lives.
    ///   - observers: who is told what it does.
    public convenience init(
        _ name: String = "breaker", tripping rule: some TripRule = .standard,
        openFor: some BreakDuration = .standard, healthCheck: CircuitHealthCheck? = nil,
        timeBase: any TimeBase = .system, observers: PolicyObservers = PolicyObservers()
    ) {
        self.init(
            name, circuit: ThreeStateCircuit(tripping: rule, openFor: openFor), healthCheck: healthCheck,
            timeBase: timeBase, observers: observers)
    }

    /// Runs `operation` guarded by this breaker alone: a pipeline of one.
    ///
    /// As for any policy, and half the price: it need not look for the time base.
    @inlinable public nonisolated(nonsending) func run<R>(
        options: RunOptions = RunOptions(), _ operation: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        try await run(on: ownCore, options, judging: { _ in .success }, operation)
    }

    /// Runs `operation` in the same way, for results that may mean failure, such as a response with status 503.
    /// - Parameter judge: what a result means.
    @inlinable public nonisolated(nonsending) func run<R>(
        options: RunOptions = RunOptions(), judging judge: (R) -> Verdict,
        _ operation: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        try await run(on: ownCore, options, judging: judge, operation)
    }

    /// It can't nest in itself: a call that holds the probe's place would ask for another.
    public var traits: PolicyTraits {
        let machine = inner.withLock { $0.circuit.machine }
        return PolicyTraits(
            waits: machine.makesCallsWait, measuresDuration: machine.needs.contains(.calls), rejectsWhileFailing: true,
            canNestInItself: false)
    }

    public func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let generation = freePass.generation
        guard generation != 0, !call.isObserved(by: observers) else {
            return enterLocked(&call, &slot)
        }
        slot = CircuitBreakerSlot.admitted(generation: generation).slot
        return .proceed
    }

    @inline(never) private func enterLocked(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let (now, deadline) = (call.now, call.deadline)
        if !call.isObserved(by: observers), let error = standingRefusal(at: now) {
            slot = PolicySlot()
            return .refuse(error)
        }
        let isObserved = call.isObserved(by: observers)
        let own = CircuitBreakerSlot(slot)
        let answer = change(at: now) { state -> Answer in
            var patience = Circuit.Patience(deadline: deadline)
            if case .parked(let ticket, let latest) = own {
                state.line.leave(ticket)
                patience.latest = latest
            }
            patience.waiting = state.line.count
            let admission = state.circuit.admit(at: now, patience)
            var parked: (ticket: UInt64, waiter: PolicyWaiter)?
            if case .wait = admission {
                let waiter = PolicyWaiter()
                parked = (state.line.join(waiter), waiter)
            }
            return Answer(
                admission: admission, error: refusal(of: admission, at: now, &state), parked: parked,
                status: isObserved ? state.circuit.status(at: now) : nil)
        }
        switch answer.admission {
        case .allow(let generation, let ticket, let began, let wouldOpen, let transition):
            slot = CircuitBreakerSlot.admitted(generation: generation, ticket: ticket, began: began).slot
            guard let status = answer.status else { return .proceed }
            tell(transition, status, &call)
            if wouldOpen { call.emit(Event.wouldOpen, from: name, to: observers) }
            call.emit(Event.allowed(status.state), from: name, to: observers)
            return .proceed
        case .refuse(let retryAfter, let transition):
            slot = PolicySlot()
            if let status = answer.status {
                tell(transition, status, &call)
                call.emit(Event.refused(retryAfter: retryAfter), from: name, to: observers)
            }
            // Present with every refusal.
            return .refuse(answer.error!)
        case .wait(let latest, let leaseEnds):
            // Present with every wait.
            let (ticket, waiter) = answer.parked!
            slot = CircuitBreakerSlot.parked(ticket: ticket, latest: latest).slot
            call.emit(Event.waiting, from: name, to: observers)
            return .park(waiter, until: min(latest, leaseEnds))
        }
    }

    private struct Answer {
        let admission: Circuit.Admission
        let error: (any Error)?
        let parked: (ticket: UInt64, waiter: PolicyWaiter)?
        /// If somebody listens.
        let status: CircuitBreakerStatus?
    }

    /// The last refusal, if the circuit has been open ever since and still is.
    private func standingRefusal(at now: MonotonicInstant) -> (any Error)? {
        inner.withLock { state in
            guard let refusal = state.refusal, refusal.reason == .open, let until = refusal.until, now < until else {
                return nil
            }
            state.circuit.latest = max(state.circuit.latest, now)
            return refusal.error
        }
    }

    /// The error of a refusal: the same one for as long as it is true, so that refusing allocates nothing.
    private func refusal(
        of admission: Circuit.Admission, at now: MonotonicInstant, _ state: inout State
    ) -> (any Error)? {
        guard case .refuse(let retryAfter, _) = admission else { return nil }
        let until = retryAfter.map { max(now, state.circuit.latest) + $0 }
        let reason: CircuitOpen.Reason =
            state.circuit.mode == .isolated ? .isolated : state.circuit.state == .open ? .open : .probing
        if let last = state.refusal, last.until == until, last.reason == reason { return last.error }
        let error = CircuitOpen(breaker: name, reason: reason, until: until, on: ownCore.timeBase)
        state.refusal = Refusal(until: until, reason: reason, error: error)
        return error
    }

    public func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        if case .success = outcome.verdict, freePass.succeeded(CircuitBreakerSlot.generation(of: slot), &call) {
            return .pass
        }
        record(outcome.verdict, &call, &slot)
        return .pass
    }

    @inline(never) private func record(_ verdict: Verdict, _ call: inout PolicyCall, _ slot: inout PolicySlot) {
        let own = CircuitBreakerSlot(slot)
        guard case .admitted(let generation, let ticket, let began) = own else {
            if case .parked(let ticket, _) = own { _ = inner.withLock { $0.line.leave(ticket) } }
            slot = PolicySlot()
            return
        }
        let now = call.now
        let isObserved = call.isObserved(by: observers)
        let (recording, status) = change(at: now) { state in
            let recording = state.circuit.record(
                verdict, generation: generation, ticket: ticket, began: began, at: now)
            return (recording, isObserved ? state.circuit.status(at: now) : nil)
        }
        if ticket > 0 { resumeParked() }
        guard let status else { return }
        switch recording {
        case .late(let transition):
            tell(transition, status, &call)
            call.emit(Event.late(verdict), from: name, to: observers)
        case .recorded(let failure, let transition):
            if failure {
                call.emit(Event.failure(status.failureCount, of: status.failureLimit), from: name, to: observers)
            }
            tell(transition, status, &call)
        case .wouldOpen:
            call.emit(Event.wouldOpen, from: name, to: observers)
        }
    }

    private enum News {
        case none
        case state
        /// The same state ends at another time.
        case time
    }

    /// Changes the circuit, and says to whoever watches what became of it.
    /// - Parameter afterTime: what it has become by itself comes first, and is told as if an alarm had come in time.
    func change<R: Sendable>(at now: MonotonicInstant, afterTime: Bool = false, _ body: (inout State) -> R) -> R {
        let (result, ended, news) = inner.withLock { state -> (R, Event?, News) in
            state.circuit.succeeded(freePass.takeTally())
            let plannedBefore = planned(state)
            var ended: Event?
            if afterTime {
                let before = state.circuit.state
                ended = state.circuit.timePassed(at: now).map { Event($0, state.circuit.status(at: now)) }
                _ = state.noteChange(from: before)
            }
            let before = state.circuit.state
            let result = body(&state)
            freePass.update(
                state.circuit.generation, needs: state.circuit.needs, tallyEnds: state.circuit.tallyEnds)
            if state.noteChange(from: before) || ended != nil { return (result, ended, .state) }
            return (result, nil, planned(state) == plannedBefore ? .none : .time)
        }
        if let ended { tell(ended) }
        guard news != .none else { return result }
        if news == .state {
            deliverTransitions()
            resumeParked()
        }
        plan(at: now)
        return result
    }

    /// Whoever waits for the probes asks again.
    func resumeParked() {
        let waiters = inner.withLock { $0.line.leaveAll() }
        for waiter in waiters { waiter.resume() }
    }

    private func tell(_ transition: Circuit.Transition?, _ status: CircuitBreakerStatus, _ call: inout PolicyCall) {
        guard let transition else { return }
        call.emit(Event(transition, status), from: name, to: observers)
    }

    /// Tells the breaker's own observers of something that no call did.
    func tell(_ event: @autoclosure () -> Event) {
        observers.send(event(), from: name, at: ownCore.timeBase.now)
    }

    /// What a call would find now.
    public var status: CircuitBreakerStatus {
        let now = ownCore.timeBase.now
        return change(at: now) { $0.circuit.status(at: now) }
    }

    /// The state that a call would find now: the one of ``status``.
    public var state: CircuitState { status.state }

    /// Whether forgetting it would lose nothing but successes.
    public var isAtRest: Bool {
        let now = ownCore.timeBase.now
        return change(at: now) { $0.circuit.isAtRest(at: now) }
    }

    public var description: String { "\(name): \(inner.withLock { $0.circuit.machine.description })" }
}
