/// Keeps calls to a rate, and holds all of them when the other side answers 429.
///
/// ```swift
/// Throttle(limit: .perSecond(10, burst: 20))                                // rejects what is too much
/// Throttle(limit: .perSecond(10, burst: 20), maxWait: .seconds(5))          // makes it wait its turn
/// Throttle(limit: .slidingWindow(100, per: .seconds(60)))                   // at most 100 in any minute
/// Throttle(limit: .fixedWindow(100, per: .seconds(60)))                     // as a server counts that starts anew each minute
/// Throttle(limit: .unlimited, maxWait: .seconds(60), holdOnThrottled: true) // no rate of its own; a 429 holds everybody
/// ```
///
/// A call takes its ``RunOptions/cost`` of the rate. A call of cost 0 goes immediately unless all calls are held. A call whose
/// cost exceeds the burst or the window's limit is rejected, and so is one whose turn can't come within `maxWait` or before
/// its deadline. Waiting calls are served in order of arrival, whatever they cost; when one gives up, those behind it move up.
public final class Throttle: Policy {
    public let name: String
    public var timeBase: (any TimeBase)? { base }
    /// Who is told what this throttle does, whichever pipeline it is in.
    public let observers: PolicyObservers

    struct State {
        var limit: ThrottleLimit
        /// What it was made with, or given by a registry since.
        var made: ThrottleLimit
        var machine: ThrottleStateMachine
        /// The calls that sleep in the machine's line, by their tickets.
        var waiters: [UInt64: PolicyWaiter] = [:]

        /// Those that the machine has ask again, to be resumed when the lock is free.
        mutating func woken() -> (PolicyWaiter?, PolicyWaiter?) {
            let (first, second) = machine.wakes()
            return (
                first.flatMap { waiters.removeValue(forKey: $0) }, second.flatMap { waiters.removeValue(forKey: $0) }
            )
        }
    }

    static let checks = SettingChecks("Throttle")

    let base: any TimeBase
    let configuration: ThrottleConfiguration
    let state: Locked<State>

    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - limit: How many calls may go in which time.
    ///   - maxWait: How long a call may wait for its turn; zero, the default, rejects what is too much.
    ///   - maxWaiting: How many calls may wait at the same time; 0 or more.
    ///   - holdOnThrottled: Whether a ``Verdict/throttled(retryAfter:)`` holds all calls for as long as it says, or as
    ///     `holdBackoff` does if it says nothing. Then one call goes ahead as a probe.
    ///   - holdBackoff: How long to hold for the nth time in a row; not jittered by default, since one probe goes first. It must not
    ///     be custom.
    ///   - maxHold: The longest hold, whatever the other side asks for.
    ///   - ramp: How long the way back to the whole limit takes after a hold; zero, the default, allows it immediately. A rate grows
    ///     from nothing, in proportion to the time. Without a rate two calls go first, and two more for each one that ends.
    ///   - timeBase: The clock that the throttle counts and waits on.
    ///   - observers: Who is told what the throttle does, whichever pipeline it is in.
    public init(
        _ name: String = "throttle", limit: ThrottleLimit, maxWait: Duration = .zero, maxWaiting: Int = 10_000,
        holdOnThrottled: Bool = false,
        holdBackoff: Backoff = .exponential(from: .seconds(1), cap: .seconds(60), jitter: .none),
        maxHold: Duration = .seconds(3600), ramp: Duration = .zero, timeBase: any TimeBase = .system,
        observers: PolicyObservers = PolicyObservers()
    ) {
        let checks = Self.checks
        self.name = name
        configuration = ThrottleConfiguration(
            maxWait: checks.notNegative(maxWait, "maxWait"), maxWaiting: checks.atLeast(0, maxWaiting, "maxWaiting"),
            holdBackoff: holdOnThrottled
                ? checks.require(
                    !holdBackoff.isCustom, holdBackoff, "holdBackoff",
                    "must not be custom, since it is asked under the throttle's lock", else: .none) : nil,
            maxHold: checks.notNegative(maxHold, "maxHold"))
        self.observers = observers
        base = timeBase
        let machine = ThrottleStateMachine(Limiter(limit), ramp: checks.notNegative(ramp, "ramp"))
        state = Locked(State(limit: limit, made: limit, machine: machine))
    }

    /// It can't nest in itself: a call that is the gate's probe would wait for its own end.
    public var traits: PolicyTraits {
        PolicyTraits(waits: configuration.maxWait > .zero, limitsRate: true, canNestInItself: false)
    }

    public func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let now = call.now
        if slot.first == 0 {
            // The usual way in, without the means to wait. What is not let in asks again, and changes nothing by it.
            let cost = call.options.cost
            let own = state.withLock { state in
                state.machine.goAtOnce(cost: cost, at: now) ? ThrottleSlot(.go, of: state.machine) : nil
            }
            if let own {
                slot = own.slot
                return .proceed
            }
        }
        return enterOrWait(&call, &slot, at: now)
    }

    @inline(never) private func enterOrWait(
        _ call: inout PolicyCall, _ slot: inout PolicySlot, at now: MonotonicInstant
    ) -> PolicyEntry {
        let (deadline, cost) = (call.deadline, call.options.cost)
        let own = ThrottleSlot(slot)
        let (admission, waiter, woken) = state.withLock {
            state -> (ThrottleStateMachine.Admission, PolicyWaiter?, (PolicyWaiter?, PolicyWaiter?)) in
            if own.stage == .waiting { state.waiters[own.ticket] = nil }
            let admission = state.machine.admit(own, cost: cost, deadline: deadline, configuration, at: now)
            var waiter: PolicyWaiter?
            if case .wait(let own, let turn, _) = admission {
                waiter = PolicyWaiter(turn: turn)
                state.waiters[own.ticket] = waiter
            }
            return (admission, waiter, state.woken())
        }
        resume(woken)
        switch admission {
        case .enter(let own):
            slot = own.slot
            return .proceed
        case .wait(let own, _, let until):
            slot = own.slot
            // Present with every wait.
            return .park(waiter!, until: until)
        case .reject(let retryAfter):
            slot = PolicySlot()
            call.emit(Event.refused(retryAfter: retryAfter), from: name, to: observers)
            return .refuse(Throttled(throttle: name, retryAfter: retryAfter))
        }
    }

    private func resume(_ woken: (PolicyWaiter?, PolicyWaiter?)) {
        woken.0?.resume()
        woken.1?.resume()
    }

    public func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        if ThrottleSlot.isAdmitted(slot) {
            switch outcome.verdict {
            case .rejected: break
            case .throttled where configuration.holdBackoff != nil: break
            default:
                slot = PolicySlot()
                return .pass
            }
        }
        ended(&call, ThrottleSlot(slot), outcome.verdict)
        slot = PolicySlot()
        return .pass
    }

    @inline(never) private func ended(_ call: inout PolicyCall, _ own: ThrottleSlot, _ verdict: Verdict) {
        let (now, cost) = (call.now, call.options.cost)
        let (heldUntil, woken) = state.withLock { state in
            if own.stage == .waiting { state.waiters[own.ticket] = nil }
            let heldUntil = state.machine.end(own, cost: cost, verdict, configuration, at: now)
            return (heldUntil, state.woken())
        }
        resume(woken)
        if let heldUntil {
            call.emit(Event.held(for: now.duration(to: heldUntil)), from: name, to: observers)
        }
    }

    /// Changes the machine by hand.
    private func change(_ body: (inout State, MonotonicInstant) -> Void) {
        let now = base.now
        let woken = state.withLock { state in
            body(&state, now)
            return state.woken()
        }
        resume(woken)
    }

    /// Holds every call until `instant`, then lets one probe. A longer hold stays.
    public func hold(until instant: MonotonicInstant) { change { state, _ in state.machine.hold(until: instant) } }

    /// Holds every call for this time from now, then lets one probe. A longer hold stays.
    public func hold(for duration: Duration) { change { state, now in state.machine.hold(until: now + duration) } }

    /// Ends a hold before its time: the first of those that wait, or else the next call, is the probe.
    public func endHold() { change { state, now in state.machine.endHold(at: now) } }

    /// Changes the rate of a throttle that was made with one, while calls go and wait. No call gets through that neither
    /// rate would let through.
    ///
    /// What is left of the burst stays, cut to the new burst; a larger burst fills up at the new rate. Calls that wait keep
    /// their places, and their turns move with the rate: one 10 s away is 5 s away at twice the rate, and they wake the
    /// sooner. At a lower rate a turn may come too late for what a call waits at most: then it is refused, when it would
    /// have gone or when it is the first in line.
    /// - Parameter burst: 1 or more; as it was if nil.
    public func setRate(_ rate: ThrottleRate, burst: Int? = nil) {
        let hasRate = state.withLock { if case .rate = $0.limit.kind { true } else { false } }
        guard Self.checks.allows(hasRate, rate, "rate", "can be set only where there is one: \(name) counts no rate"),
            burst.map({ Self.checks.isAtLeast(1, $0, "burst") }) ?? true,
            SettingChecks.mayChange
        else { return }
        change { state, now in
            guard case .rate(_, let present) = state.limit.kind else { return }
            state.limit = .rate(rate, burst: burst ?? present)
            state.machine.setRate(rate, burst: burst ?? present, at: now)
        }
    }

    /// As when it was made: nothing used, the gate open, no hold remembered. Calls that wait go on, as far as there is
    /// room. The end of a call that was let in before holds nobody.
    public func reset() { change { state, now in state.machine.reset(at: now) } }

    /// Whether forgetting it would lose nothing: it would let through what a new one does, and nobody waits.
    public var isAtRest: Bool { isAtRest(at: base.now) }

    func isAtRest(at now: MonotonicInstant) -> Bool {
        state.withLock { $0.machine.isAtRest(at: now) && $0.limit == $0.made }
    }

    /// What it would say to a call now.
    public var status: ThrottleStatus {
        let now = base.now
        return state.withLock { $0.machine.status(at: now) }
    }

    /// When the gate lets the next call through; nil when it is open.
    public var heldUntil: MonotonicInstant? { state.withLock { $0.machine.heldUntil } }

    /// Calls that wait for their turn now.
    public var waiting: Int { state.withLock { $0.machine.line.count } }

    public var description: String {
        let limit = state.withLock { $0.limit }
        let maxWait = configuration.maxWait
        let wait = maxWait == .zero ? "refuses at once" : "waits up to \(maxWait.text)"
        return "\(name): \(limit), \(wait)\(configuration.holdBackoff == nil ? "" : ", held by 429")"
    }
}
