import Synchronization

/// Stops calling an endpoint that keeps failing, and finds out when it has recovered.
///
/// ```swift
/// let breaker = CircuitBreaker(
///     "activities", tripping: .consecutiveFailures(5), openFor: .seconds(60))
/// let page = try await breaker.run { try await client.activities() }
/// ```
///
/// A breaker is a reference, shared by all callers of an endpoint. A ``TripRule`` decides when to open; a
/// ``CircuitStateMachine`` decides what open and recovery mean. Both can be your own types.
///
/// By default, transient and uncertain failures count as failures; successes and permanent failures (a 404) show that
/// the endpoint is healthy; 429s, cancelled calls and rejected calls count neither way. A breaker outside a retry
/// counts a call once, after all its attempts; a breaker inside a retry counts every attempt.
///
/// See <doc:CircuitBreakerGuide>.
public final class CircuitBreaker: Policy, StatusReporting {
    public let name: String
    public var timeBase: (any TimeBase)? { ownCore.timeBase }
    /// The observers of this breaker's events, in every pipeline.
    public var observers: PolicyObservers { lazyObservers.made }
    private let lazyObservers: LazyObservers
    private var knownObservers: PolicyObservers? { lazyObservers.known }

    /// For calls without a pipeline.
    @usableFromInline let ownCore: PipelineCore
    private let boxedHealthCheck: HealthCheckBox?
    var healthCheck: CircuitHealthCheck? { boxedHealthCheck?.check }
    let inner: Locked<State>
    private let freePass: FreePass

    /// A reference, since few breakers have a check.
    private final class HealthCheckBox: Sendable {
        let check: CircuitHealthCheck

        init(_ check: CircuitHealthCheck) { self.check = check }
    }

    struct State {
        var circuit: Circuit
        /// nil until it is needed.
        private(set) var extras: Extras?

        init(circuit: Circuit) { self.circuit = circuit }

        /// The extras, made now if there are none.
        mutating func needExtras() -> Extras {
            if let extras { return extras }
            let made = Extras()
            extras = made
            return made
        }

        /// - Returns: Whether the state has changed.
        mutating func noteChange(from before: CircuitState) -> Bool {
            let after = circuit.state
            guard after != before else { return false }
            extras?.rejection = nil
            // `since` is unknown after a restore.
            extras?.watchers.note(CircuitTransition(from: before, to: after, time: circuit.since ?? circuit.latest))
            return true
        }
    }

    /// State that a breaker needs only after it has been open or watched. Sendable, because it is read and changed only
    /// under the breaker's lock.
    final class Extras: @unchecked Sendable {
        /// Calls that wait for the probes to end.
        var line = TicketLine<PolicyWaiter>()
        var watchers = Watchers()
        var plan = Plan()
        var check = Check()
        /// The last rejection: callers get the same error while it holds. Removed when anything changes.
        var rejection: StandingRejection?
    }

    struct StandingRejection {
        let until: MonotonicInstant?
        let reason: CircuitOpen.Reason
        let error: any Error
    }

    /// Creates a breaker with a circuit state machine of your choice.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - machine: Decides what open and recovery mean.
    ///   - healthCheck: Finds out whether the endpoint has recovered, in place of a caller's call; nil for none.
    ///   - timeBase: The time base of its measurements; it must be the pipeline's.
    ///   - observers: The observers of this breaker's events; nil for none at first.
    public init(
        _ name: String = "breaker", circuit machine: some CircuitStateMachine, healthCheck: CircuitHealthCheck? = nil,
        timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        self.name = name
        lazyObservers = LazyObservers(observers)
        boxedHealthCheck = healthCheck.map(HealthCheckBox.init)
        ownCore = .bare(on: timeBase)
        let circuit = Circuit(machine, checksHealth: healthCheck != nil)
        freePass = FreePass()
        freePass.update(circuit)
        inner = Locked(State(circuit: circuit))
    }

    /// Creates a breaker with three states; see ``ThreeStateCircuit``.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - rule: Decides when to open; by default at the 5th failure in a row.
    ///   - openFor: How long it stays open; by default 60 s.
    ///   - healthCheck: Finds out whether the endpoint has recovered, in place of a caller's call; nil for none.
    ///   - timeBase: The time base of its measurements; it must be the pipeline's.
    ///   - observers: The observers of this breaker's events; nil for none at first.
    public convenience init(
        _ name: String = "breaker", tripping rule: some TripRule = .standard,
        openFor: some BreakDuration = .standard, healthCheck: CircuitHealthCheck? = nil,
        timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        self.init(
            name, circuit: ThreeStateCircuit(tripping: rule, openFor: openFor), healthCheck: healthCheck,
            timeBase: timeBase, observers: observers)
    }

    /// Runs an operation guarded by this breaker alone: a pipeline of one.
    ///
    /// Does the same as the `run` of every policy at half the cost, since it need not look up the time base.
    /// - Parameters:
    ///   - options: Options of this call, such as a deadline.
    ///   - judge: Returns what a result means, such as a response with status 503. By default each result is a success.
    ///   - operation: The work to run.
    /// - Returns: The operation's result, even if it means failure.
    /// - Throws: ``CircuitOpen`` if the call was rejected; the operation's error. With a deadline also ``TimedOut``
    ///   and ``DeadlinePassed``.
    @_alwaysEmitIntoClient @inline(__always) public nonisolated(nonsending) func run<R>(
        options: RunOptions = RunOptions(), judging judge: (R) -> Verdict = { _ in .success },
        _ operation: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        try await run(on: ownCore, options, judging: judge, operation)
    }

    /// The breaker's effects on calls.
    ///
    /// It can't nest in itself: a call that holds the place of a probe would ask for another one.
    public var traits: PolicyTraits {
        let machine = inner.withLock { $0.circuit.machine }
        return PolicyTraits(
            waits: machine.makesCallsWait, measuresDuration: machine.needs.contains(.calls), rejectsWhileFailing: true,
            canNestInItself: false)
    }

    // The compiler inlines this into the breaker's node.
    @inline(__always)
    public func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let generation = freePass.generation
        guard generation != 0 else { return enterAsking(&call, &slot) }
        slot = CircuitBreakerSlot.admitted(generation: generation).slot
        if isObserved(call, at: .trace) { tellAllowed(&call) }
        return .proceed
    }

    @inline(never) private func tellAllowed(_ call: inout PolicyCall) {
        // The state is not always closed: a disabled breaker admits calls in any state.
        call.emit(Event.allowed(inner.withLock { $0.circuit.state }), from: name, to: knownObservers)
    }

    @inline(never) private func enterAsking(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let generation = freePass.began(&call)
        guard generation != 0 else { return enterLocked(&call, &slot) }
        slot = CircuitBreakerSlot.admitted(generation: generation, began: call.now).slot
        if isObserved(call, at: .trace) { tellAllowed(&call) }
        return .proceed
    }

    @inline(never) private func enterLocked(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let (now, deadline) = (call.now, call.deadline)
        if !isObserved(call), let error = standingRejection(at: now) {
            slot = PolicySlot()
            return .reject(error)
        }
        let isObserved = isObserved(call)
        let own = CircuitBreakerSlot(slot)
        let answer = change(at: now) { state -> Answer in
            var patience = Circuit.Patience(deadline: deadline)
            if case .parked(let ticket, let latest) = own {
                state.extras?.line.leave(ticket)
                patience.latest = latest
            }
            patience.waiting = state.extras?.line.count ?? 0
            let admission = state.circuit.admit(at: now, patience)
            var parked: (ticket: UInt64, waiter: PolicyWaiter)?
            if case .wait = admission {
                let waiter = PolicyWaiter()
                parked = (state.needExtras().line.join(waiter), waiter)
            }
            return Answer(
                admission: admission, error: rejection(of: admission, at: now, &state), parked: parked,
                status: isObserved ? state.circuit.status(at: now) : nil)
        }
        switch answer.admission {
        case .allow(let generation, let ticket, let began, let wouldOpen, let transition):
            slot = CircuitBreakerSlot.admitted(generation: generation, ticket: ticket, began: began).slot
            guard let status = answer.status else { return .proceed }
            tell(transition, status, &call)
            if wouldOpen { call.emit(Event.wouldOpen, from: name, to: knownObservers) }
            call.emit(Event.allowed(status.state), from: name, to: knownObservers)
            return .proceed
        case .reject(let retryAfter, let transition):
            slot = PolicySlot()
            if let status = answer.status {
                tell(transition, status, &call)
                call.emit(Event.rejected(retryAfter: retryAfter), from: name, to: knownObservers)
            }
            // Never nil for a rejection.
            return .reject(answer.error!)
        case .wait(let latest, let leaseEnds):
            // Never nil for a call that waits.
            let (ticket, waiter) = answer.parked!
            slot = CircuitBreakerSlot.parked(ticket: ticket, latest: latest).slot
            call.emit(Event.waiting, from: name, to: knownObservers)
            return .park(waiter, until: min(latest, leaseEnds))
        }
    }

    @inline(__always) private func isObserved(
        _ call: borrowing PolicyCall, at severity: PolicyEventSeverity = .error
    ) -> Bool {
        lazyObservers.want(severity) || call.isObserved(at: severity)
    }

    private struct Answer {
        let admission: Circuit.Admission
        let error: (any Error)?
        let parked: (ticket: UInt64, waiter: PolicyWaiter)?
        /// nil if there are no observers.
        let status: CircuitBreakerStatus?
    }

    /// The last rejection, if the circuit has been open ever since and still is.
    private func standingRejection(at now: MonotonicInstant) -> (any Error)? {
        inner.withLock { state in
            guard let rejection = state.extras?.rejection, rejection.reason == .open, let until = rejection.until,
                now < until
            else {
                return nil
            }
            state.circuit.latest = max(state.circuit.latest, now)
            return rejection.error
        }
    }

    /// The error of a rejection. While a rejection holds, its error is reused, so that rejecting allocates nothing.
    private func rejection(
        of admission: Circuit.Admission, at now: MonotonicInstant, _ state: inout State
    ) -> (any Error)? {
        guard case .reject(let retryAfter, _) = admission else { return nil }
        let until = retryAfter.map { max(now, state.circuit.latest) + $0 }
        let reason: CircuitOpen.Reason =
            state.circuit.mode == .isolated ? .isolated : state.circuit.state == .open ? .open : .probing
        if let last = state.extras?.rejection, last.until == until, last.reason == reason { return last.error }
        let error = CircuitOpen(policy: name, reason: reason, until: until, on: ownCore.timeBase)
        state.needExtras().rejection = StandingRejection(until: until, reason: reason, error: error)
        return error
    }

    public func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        if outcome.verdict.kind == .success, freePass.succeeded(CircuitBreakerSlot.generation(of: slot), &call) {
            return .pass
        }
        record(outcome.verdict, &call, &slot)
        return .pass
    }

    @inline(never) private func record(_ verdict: Verdict, _ call: inout PolicyCall, _ slot: inout PolicySlot) {
        if verdict.kind == .success, let began = CircuitBreakerSlot.beginning(of: slot),
            freePass.succeeded(CircuitBreakerSlot.generation(of: slot), began: began, &call)
        {
            return
        }
        let own = CircuitBreakerSlot(slot)
        guard case .admitted(let generation, let ticket, let began) = own else {
            if case .parked(let ticket, _) = own { inner.withLock { _ = $0.extras?.line.leave(ticket) } }
            slot = PolicySlot()
            return
        }
        let now = call.now
        let isObserved = isObserved(call)
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
            call.emit(Event.late(verdict), from: name, to: knownObservers)
        case .recorded(let failure, let transition):
            if failure {
                call.emit(Event.failure(status.failureCount, of: status.failureLimit), from: name, to: knownObservers)
            }
            tell(transition, status, &call)
        case .wouldOpen:
            call.emit(Event.wouldOpen, from: name, to: knownObservers)
        }
    }

    private enum News {
        case none
        case state
        /// The state is the same, but its end has moved.
        case time
    }

    /// Changes the circuit, and reports the changes to its watchers.
    /// - Parameter afterTime: Whether to make automatic changes that are due before this one. They are reported as if
    ///   an alarm had made them in time.
    func change<R: Sendable>(at now: MonotonicInstant, afterTime: Bool = false, _ body: (inout State) -> R) -> R {
        let (result, ended, news) = inner.withLock { state -> (R, Event?, News) in
            state.circuit.take(freePass.takeTally())
            let plannedBefore = planned(state)
            var ended: Event?
            if afterTime {
                let before = state.circuit.state
                ended = state.circuit.timePassed(at: now).map { Event($0, state.circuit.status(at: now)) }
                _ = state.noteChange(from: before)
            }
            let before = state.circuit.state
            let result = body(&state)
            freePass.update(state.circuit)
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

    /// Lets the calls that wait for probes ask again.
    func resumeParked() {
        let waiters = inner.withLock { $0.extras?.line.leaveAll() ?? [] }
        for waiter in waiters { waiter.resume() }
    }

    private func tell(_ transition: Circuit.Transition?, _ status: CircuitBreakerStatus, _ call: inout PolicyCall) {
        guard let transition else { return }
        call.emit(Event(transition, status), from: name, to: knownObservers)
    }

    /// Sends an event outside of calls.
    func tell(_ event: @autoclosure () -> Event) {
        lazyObservers.send(event(), from: name, at: ownCore.timeBase.now)
    }

    /// The state and the counts that a call would find now.
    public var status: CircuitBreakerStatus {
        let now = ownCore.timeBase.now
        return change(at: now) { $0.circuit.status(at: now) }
    }

    public func forecast(_ call: inout PolicyCall) -> PolicyForecast {
        let (now, deadline) = (call.now, call.deadline)
        // On a copy, because the call is hypothetical.
        return inner.withLock { state in
            var circuit = state.circuit
            // Some of the counted calls that began may be slow by now. Counted successes alone decide nothing.
            let tally = freePass.presentTally
            if tally.began != nil { circuit.take(tally) }
            var patience = Circuit.Patience(deadline: deadline)
            patience.waiting = state.extras?.line.count ?? 0
            return switch circuit.admit(at: now, patience) {
            case .allow: .proceeds
            case .wait: .waits(nil)
            case .reject(let retryAfter, _):
                .rejects(retryAfter: circuit.mode == .isolated ? .infinite : retryAfter)
            }
        }
    }

    /// The present state, as in ``status``.
    ///
    /// An isolated circuit is open.
    public var state: CircuitState { status.state }

    /// Whether evicting the breaker would lose nothing but counted successes.
    public var isAtRest: Bool {
        let now = ownCore.timeBase.now
        return change(at: now) { $0.circuit.isAtRest(at: now) }
    }

    public var description: String { "\(name): \(inner.withLock { $0.circuit.machine.description })" }
}

extension CircuitBreaker: HomedPolicy {
    package func settle(in home: PolicyHome) { lazyObservers.settle(in: home) }
}
