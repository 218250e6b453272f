/// Limits the rate of calls, and holds all of them when the other side asks for fewer calls.
///
/// ```swift
/// // Rejects calls above the limit.
/// Throttle(limit: .perSecond(10, burst: 20))
/// // Makes them wait for their turn.
/// Throttle(limit: .perSecond(10, burst: 20), maxWait: .seconds(5))
/// // At most 100 in any minute.
/// Throttle(limit: .slidingWindow(100, per: .seconds(60)))
/// // At most 100 in each window of a minute, as many servers count.
/// Throttle(limit: .fixedWindow(100, per: .seconds(60)))
/// // No rate of its own; a 429 holds all calls.
/// Throttle(limit: .unlimited, maxWait: .seconds(60), holdOnThrottled: true)
/// ```
///
/// A call uses as much of the rate as its ``RunOptions/cost``. A call of cost 0 goes immediately unless all calls are
/// held. A call is rejected if its cost exceeds the burst or the window's limit, or if its turn can't come within
/// `maxWait` and before its deadline. Waiting calls go in order of arrival, whatever they cost; when one gives up, the
/// calls behind it move up.
///
/// See <doc:ThrottleGuide>.
public final class Throttle: Policy, StatusReporting {
    public let name: String
    public var timeBase: (any TimeBase)? { base }
    /// The observers of this throttle's events, in every pipeline.
    public var observers: PolicyObservers { lazyObservers.made }
    private let lazyObservers: LazyObservers

    struct State {
        var limit: ThrottleLimit
        /// The original limit, or the latest one applied.
        var made: ThrottleLimit
        var machine: ThrottleStateMachine
        /// The waiters of the calls that sleep in the machine's line, by ticket.
        var waiters: [UInt64: PolicyWaiter] = [:]
        /// The shut gate's answer to calls; nil if no call was rejected since the last change.
        var rejection: StandingRejection?

        /// Returns the last rejection, if nothing has changed since then and the rejection also applies to this call.
        mutating func standingRejection(cost: Int, at now: MonotonicInstant) -> (any Error)? {
            guard let rejection, rejection.cost == cost, max(machine.latest, now) < rejection.until else { return nil }
            machine.latest = max(machine.latest, now)
            return rejection.error
        }

        /// The waiters of calls that must ask again. Resume them outside the lock.
        mutating func woken() -> (PolicyWaiter?, PolicyWaiter?) {
            let (first, second) = machine.wakes()
            return (
                first.flatMap { waiters.removeValue(forKey: $0) }, second.flatMap { waiters.removeValue(forKey: $0) }
            )
        }
    }

    /// The rejection of calls at a shut gate, made once for all calls that it applies to. A reference, since few
    /// throttles are held.
    final class StandingRejection: Sendable {
        let cost: Int
        let until: MonotonicInstant
        let error: any Error

        init(cost: Int, until: MonotonicInstant, error: any Error) {
            (self.cost, self.until, self.error) = (cost, until, error)
        }
    }

    let base: any TimeBase
    /// The original settings: only the limit can change later.
    let terms: Settings
    /// The original settings, or the latest ones applied.
    ///
    /// For a rate that was set by hand, see ``status``.
    public var settings: Settings {
        var settings = terms
        settings.limit = state.withLock { $0.made }
        return settings
    }
    let state: Locked<State>
    /// The source of shared permits; nil if the throttle counts its own calls.
    let supply: (any PermitSupply)?

    /// Creates a throttle.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - limit: How many calls may go in a period, and how they are counted.
    ///   - maxWait: How long a call may wait for its turn; 0 or more. With 0, a call that can't go at once is rejected.
    ///   - queue: How many calls may wait at the same time; 0 or more.
    ///   - holdOnThrottled: Whether a ``Verdict/throttled(retryAfter:)`` holds all calls for the wait that it names; if
    ///     it names none or 0, `holdBackoff` decides the duration. After a hold one call goes ahead as a probe.
    ///   - holdBackoff: How long the nth hold in a row lasts if the other side names no wait; not `custom`. By default
    ///     without jitter, since one probe goes first.
    ///   - maxHold: The longest hold, even if the other side asks for a longer one; 0 or more.
    ///   - earlyProbe: The time from the start of a hold with a named wait to its first early probe, which finds out
    ///     whether the hold is over sooner, or was a mistake; 0 or more, 0 for never. 5 minutes by default, so shorter
    ///     waits are kept exactly. Further probes follow at intervals that double, up to four times the first: after 5,
    ///     15, 35 and 55 minutes. There are no early probes during holds by hand or for a quota, and none in a fleet.
    ///   - ramp: How long calls are admitted slowly after a hold; 0 or more. With 0, all calls may go at once. A rate
    ///     grows from zero to the full rate, in proportion to the time. A window, or a throttle without a limit, lets
    ///     two calls go at first, and two more for each call that ends.
    ///   - timeBase: The time base of its measurements; it must be the pipeline's.
    ///   - observers: The observers of this throttle's events; nil for none at first.
    public convenience init(
        _ name: String = "throttle", limit: ThrottleLimit, maxWait: Duration = .zero, queue: Int = 10_000,
        holdOnThrottled: Bool = false,
        holdBackoff: Backoff = .exponential(from: .seconds(1), cap: .seconds(60), jitter: .none),
        maxHold: Duration = .seconds(3600), earlyProbe: Duration = .seconds(300), ramp: Duration = .zero,
        timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        let settings = Settings(
            limit: limit, maxWait: maxWait, queue: queue, holdOnThrottled: holdOnThrottled, holdBackoff: holdBackoff,
            maxHold: maxHold, earlyProbe: earlyProbe, ramp: ramp)
        self.init(name, settings: settings, timeBase: timeBase, observers: observers)
    }

    /// Creates a throttle.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - settings: The settings.
    ///   - timeBase: The time base of its measurements; it must be the pipeline's.
    ///   - observers: The observers of this throttle's events; nil for none at first.
    public convenience init(
        _ name: String = "throttle", settings: Settings, timeBase: any TimeBase = .system,
        observers: PolicyObservers? = nil
    ) {
        self.init(name, settings: settings, supply: nil, timeBase: timeBase, observers: observers)
    }

    /// Creates a throttle whose permits may come from a supply.
    /// - Parameter supply: The source of the permits, and how long a call waits to learn whether there are any; nil if
    ///   the throttle counts its own calls.
    package init(
        _ name: String, settings: Settings, supply: (supply: any PermitSupply, patience: Duration)?,
        timeBase: any TimeBase, observers: PolicyObservers?
    ) {
        self.name = name
        let terms = settings.valid()
        self.terms = terms
        lazyObservers = LazyObservers(observers)
        base = timeBase
        let limit = terms.limit
        let limiter =
            supply.map { Limiter(LeasedPermits(largest: limit.most, patience: $0.patience)) } ?? Limiter(limit)
        let machine = ThrottleStateMachine(limiter, ramp: terms.ramp)
        self.supply = supply?.supply
        state = Locked(State(limit: limit, made: limit, machine: machine))
    }

    /// The throttle's effects on calls.
    ///
    /// It can't nest in itself: inside, a call that is the gate's probe would wait for its own end.
    public var traits: PolicyTraits {
        PolicyTraits(waits: terms.maxWait > .zero || supply != nil, limitsRate: true, canNestInItself: false)
    }

    // The compiler inlines this into the throttle's node.
    @inline(__always)
    public func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let now = call.now
        if slot.first == 0 {
            // The fast path, without a waiter. A call that can't go at once asks again below; until then it has changed
            // nothing.
            let cost = call.options.cost
            var rejection: (any Error)?
            let own = state.withLock { state -> ThrottleSlot? in
                if state.machine.goAtOnce(cost: cost, at: now) { return ThrottleSlot(.go, of: state.machine) }
                rejection = state.standingRejection(cost: cost, at: now)
                return nil
            }
            if let own {
                slot = own.slot
                return .proceed
            }
            if let rejection { return reject(rejection, &call) }
        }
        return enterOrWait(&call, &slot, at: now)
    }

    @inline(never) private func enterOrWait(
        _ call: inout PolicyCall, _ slot: inout PolicySlot, at now: MonotonicInstant
    ) -> PolicyEntry {
        let (deadline, cost) = (call.deadline, call.options.cost)
        let own = ThrottleSlot(slot)
        var waiter: PolicyWaiter?
        var rejection: (any Error)?
        let (admission, isUrgent) = change { state in
            if own.stage == .waiting { state.waiters[own.ticket] = nil }
            let admission = state.machine.admit(own, cost: cost, deadline: deadline, terms, at: now)
            if case .reject(let retryAfter) = admission { rejection = error(retryAfter, cost: cost, at: now, &state) }
            if case .wait(let own, let turn, _) = admission {
                waiter = PolicyWaiter(turn: turn)
                state.waiters[own.ticket] = waiter
            }
            return admission
        }
        supply?.isWanted(isUrgent: isUrgent)
        switch admission {
        case .enter(let own):
            slot = own.slot
            return .proceed
        case .wait(let own, _, let until):
            slot = own.slot
            // Never nil for a call that waits.
            return .park(waiter!, until: until)
        case .reject:
            slot = PolicySlot()
            // Never nil for a rejection.
            return reject(rejection!, &call)
        }
    }

    /// Returns the error of a rejection, which may also apply to later calls.
    private func error(
        _ retryAfter: Duration?, cost: Int, at now: MonotonicInstant, _ state: inout State
    ) -> any Error {
        guard terms.maxWait == .zero, let until = state.machine.holdStands, retryAfter == now.wait(until: until) else {
            return ThrottleExceeded(policy: name, retryAfter: retryAfter)
        }
        let error = ThrottleExceeded(policy: name, until: until, on: base)
        state.rejection = StandingRejection(cost: cost, until: until, error: error)
        return error
    }

    private func reject(_ error: any Error, _ call: inout PolicyCall) -> PolicyEntry {
        call.emit(
            Event.rejected(retryAfter: (error as? ThrottleExceeded)?.retryAfter), from: name, to: lazyObservers.known)
        return .reject(error)
    }

    /// Changes the state, and resumes the calls that must ask again.
    /// - Returns: The result of the change, and whether the supply must learn something at once.
    func change<R: Sendable>(_ body: (inout State) -> R) -> (result: R, isUrgent: Bool) {
        let (result, woken, isUrgent) = state.withLock { state in
            state.rejection = nil
            let result = body(&state)
            return (result, state.woken(), state.machine.limiter.isUrgent)
        }
        woken.0?.resume()
        woken.1?.resume()
        return (result, isUrgent)
    }

    public func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        if ThrottleSlot.isAdmitted(slot) {
            switch outcome.verdict.kind {
            case .rejected: break
            case .throttled where terms.holdOnThrottled: break
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
        let (heldUntil, isUrgent) = change { state in
            if own.stage == .waiting { state.waiters[own.ticket] = nil }
            return state.machine.end(own, cost: cost, verdict, terms, at: now)
        }
        if isUrgent { supply?.isWanted(isUrgent: true) }
        if let heldUntil {
            call.emit(Event.held(for: now.duration(to: heldUntil)), from: name, to: lazyObservers.known)
        }
    }

    /// Changes the machine by hand, and resumes the calls that must ask again.
    private func changeByHand(_ body: (inout State, MonotonicInstant) -> Void) {
        let now = base.now
        _ = change { body(&$0, now) }
        supply?.isWanted(isUrgent: true)
    }

    /// Holds all calls until an instant, then lets one call probe.
    ///
    /// A hold that already lasts longer stays.
    ///
    /// - Parameter instant: When the hold ends, on the throttle's time base.
    public func hold(until instant: MonotonicInstant) {
        changeByHand { state, _ in state.machine.hold(until: instant, counts: false) }
    }

    /// Holds all calls for a time, then lets one call probe.
    ///
    /// A hold that already lasts longer stays.
    ///
    /// - Parameter duration: How long from now.
    public func hold(for duration: Duration) {
        changeByHand { state, now in state.machine.hold(until: now + duration, counts: false) }
    }

    /// Ends a hold early: the first waiting call, or else the next call, becomes the probe, and all others follow if it
    /// succeeds.
    ///
    /// For an operator who knows that the other side takes calls again.
    ///
    /// - Returns: false if nothing has changed, because no hold was keeping calls out.
    @discardableResult
    public func endHold() -> Bool {
        let now = base.now
        var isDone = false
        changeByHand { state, now in isDone = state.machine.endHold(at: now) }
        if isDone { lazyObservers.send(Event.holdEnded, from: name, at: now) }
        return isDone
    }

    /// Changes the rate while calls go and wait.
    ///
    /// Traps if the throttle was made without a rate.
    ///
    /// A call gets through only if at least one of the two rates allows it. The unused part of the burst remains, at
    /// most the new burst; a larger burst fills up at the new rate. Waiting calls keep their places, and their turns
    /// move with the rate: at twice the rate, a turn that is 10 s away is 5 s away. At a lower rate, a turn may come
    /// after the call's longest wait. Then the call is rejected, at its earlier turn or when it becomes the first in
    /// line.
    /// - Parameters:
    ///   - rate: The new rate of calls in the long run.
    ///   - burst: How many calls may go at once after a pause; 1 or more. nil keeps the present one.
    public func setRate(_ rate: ThrottleRate, burst: Int? = nil) {
        let hasRate = state.withLock { if case .rate = $0.limit.kind { true } else { false } }
        guard
            SettingChecks("Throttle")
                .allows(hasRate, rate, "rate", "can be set only if there is one: \"\(name)\" has none"),
            Settings(limit: ThrottleLimit(.rate(rate, burst: burst ?? 1))).allowed() != nil
        else { return }
        changeByHand { state, now in
            guard case .rate(_, let present) = state.limit.kind else { return }
            state.limit = .rate(rate.calls, per: rate.period, burst: burst ?? present)
            state.machine.setRate(rate, burst: burst ?? present, at: now)
        }
    }

    /// Removes all state: nothing is used, the gate is open, and holds in a row are counted from zero.
    ///
    /// A rate that was set stays.
    ///
    /// Waiting calls go if there is room. A 429 of a call that was admitted before the reset holds no calls. A limit
    /// that several processes share is reset for all of them, except for permits that other processes have at hand.
    public func reset() { changeByHand { state, now in state.machine.reset(at: now) } }

    /// Whether evicting the throttle would lose nothing: no call waits, the limit is the original one, and a new
    /// throttle would admit the same calls.
    public var isAtRest: Bool { isAtRest(at: base.now) }

    func isAtRest(at now: MonotonicInstant) -> Bool {
        state.withLock { $0.machine.isAtRest(at: now) && $0.limit == $0.made }
    }

    public func forecast(_ call: inout PolicyCall) -> PolicyForecast {
        let (now, deadline, cost) = (call.now, call.deadline, call.options.cost)
        // On a copy: the call is hypothetical.
        var machine = state.withLock { $0.machine }
        let slot = ThrottleSlot(PolicySlot())
        return switch machine.admit(slot, cost: cost, deadline: deadline, terms, at: now) {
        case .enter: .proceeds
        case .wait(_, let turn, _): .waits(turn.map { now.duration(to: $0) })
        case .reject(let retryAfter): .rejects(retryAfter: machine.limiter.allows(cost) ? retryAfter : .infinite)
        }
    }

    /// The throttle's state now, as a call would find it.
    public var status: ThrottleStatus {
        let now = base.now
        return state.withLock { $0.machine.status(at: now) }
    }

    /// The latest time at which the gate admits the next call; nil if it is open.
    package var heldUntil: MonotonicInstant? { state.withLock { $0.machine.heldUntil } }

    /// The number of calls that wait for their turn now.
    package var queued: Int { state.withLock { $0.machine.line.count } }

    public var description: String {
        let limit = state.withLock { $0.limit }
        let maxWait = terms.maxWait
        let wait = maxWait == .zero ? "rejects at once" : "waits up to \(maxWait.text)"
        return "\(name): \(limit), \(wait)\(terms.holdOnThrottled ? ", held by 429" : "")"
    }
}

extension Throttle: HomedPolicy {
    package func settle(in home: PolicyHome) { lazyObservers.settle(in: home) }
}
