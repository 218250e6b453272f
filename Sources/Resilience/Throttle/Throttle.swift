/// Keeps calls to a rate, and holds them all when the other side asks for silence.
///
/// ```swift
/// Throttle(.perSecond(10), burst: 20)                              // refuses what is too much
/// Throttle(.perSecond(10), burst: 20, maxWait: .seconds(5))        // lets it wait its turn
/// Throttle(.slidingWindow(100, per: .seconds(60)))                 // never more than 100 in any minute
/// Throttle(.fixedWindow(100, per: .seconds(60)))                   // as a server counts that starts anew each minute
/// Throttle.gate(maxWait: .seconds(60))                             // no rate of its own; a 429 holds everybody
/// ```
///
/// A call takes its ``CallOptions/cost``: one of cost 0 goes at once unless all are held, one that costs more than there
/// ever is to have is refused. A call is refused at once, too, if its turn can't come within `maxWait` or before its
/// deadline. Who waits goes first come, first served, whatever it costs; when one gives up, those behind it come sooner.
public final class Throttle: Policy {
    public let name: String
    public var timeBase: (any TimeBase)? { base }
    /// Who is told what this throttle does, whichever pipeline it is in.
    public let observers: Observers

    enum Limit: Equatable {
        case none
        case rate(Rate, burst: Int)
        case window(Window)
    }

    struct State {
        var limit: Limit
        /// What it was made with, or given by a registry since.
        var made: Limit
        var machine: ThrottleStateMachine
        /// The calls in the machine's line that sleep, by their tickets.
        var parked: [UInt64: (waiter: Waiter, until: Instant)] = [:]

        /// If the first in line, or the one behind it, sleeps for longer than it has to: takes it out, to be woken when the
        /// lock is free, so that it asks again.
        mutating func sleepers() -> (Waiter?, Waiter?) {
            guard let head = machine.head else { return (nil, nil) }
            let first = take(head.ticket, ifAsleepAfter: head.answer.instant)
            return (first, machine.second.flatMap { take($0.ticket, ifAsleepAfter: $0.until) })
        }

        private mutating func take(_ ticket: UInt64, ifAsleepAfter instant: Instant) -> Waiter? {
            guard let sleeper = parked[ticket], sleeper.until > instant else { return nil }
            parked[ticket] = nil
            return sleeper.waiter
        }
    }

    static let checks = SettingChecks("Throttle")

    private let base: any TimeBase
    private let maxWait: Duration
    private let maxWaiting: Int
    private let holdBackoff: Backoff?
    private let maxHold: Duration
    let state: Locked<State>

    /// - Parameters:
    ///   - rate: calls allowed in the long run.
    ///   - burst: calls allowed at once after a pause; 1 or more.
    ///   - maxWait: how long a call may wait for its turn; zero refuses what is too much.
    ///   - maxWaiting: how many calls may wait at the same time.
    ///   - holdOnThrottled: whether a ``Verdict/throttled(retryAfter:)`` holds everybody for as long as it says, or as
    ///     `holdBackoff` does if it says nothing.
    ///   - holdBackoff: how long to hold for the nth time in a row; not jittered, since one probe goes first.
    ///   - maxHold: the longest hold, whatever the other side asks for.
    ///   - ramp: how long after a hold the rate takes to grow from nothing to the whole, in proportion to the time; zero
    ///     for the whole at once.
    public convenience init(
        _ name: String, _ rate: Rate, burst: Int = 1, maxWait: Duration = .zero, maxWaiting: Int = 10_000,
        holdOnThrottled: Bool = false,
        holdBackoff: Backoff = .exponential(from: .seconds(1), cap: .seconds(60), jitter: .none),
        maxHold: Duration = .seconds(3600), ramp: Duration = .zero, timeBase: any TimeBase = .system,
        observers: Observers = Observers()
    ) {
        self.init(
            name, .rate(rate, burst: burst), Limiter(rate, burst: burst), maxWait: maxWait,
            maxWaiting: maxWaiting, holdBackoff: holdOnThrottled ? holdBackoff : nil, maxHold: maxHold, ramp: ramp,
            timeBase: timeBase, observers: observers)
    }

    /// As the other, named "throttle".
    public convenience init(
        _ rate: Rate, burst: Int = 1, maxWait: Duration = .zero, maxWaiting: Int = 10_000,
        holdOnThrottled: Bool = false,
        holdBackoff: Backoff = .exponential(from: .seconds(1), cap: .seconds(60), jitter: .none),
        maxHold: Duration = .seconds(3600), ramp: Duration = .zero, timeBase: any TimeBase = .system,
        observers: Observers = Observers()
    ) {
        self.init(
            "throttle", rate, burst: burst, maxWait: maxWait, maxWaiting: maxWaiting, holdOnThrottled: holdOnThrottled,
            holdBackoff: holdBackoff, maxHold: maxHold, ramp: ramp, timeBase: timeBase, observers: observers)
    }

    /// A throttle that counts calls in windows of time.
    /// - Parameters:
    ///   - window: how many in which time.
    ///   - ramp: how long after a hold calls come in slowly: two at first, and two more for each that ends; zero for all
    ///     at once.
    ///
    /// The others are as for a rate.
    public convenience init(
        _ name: String, _ window: Window, maxWait: Duration = .zero, maxWaiting: Int = 10_000,
        holdOnThrottled: Bool = false,
        holdBackoff: Backoff = .exponential(from: .seconds(1), cap: .seconds(60), jitter: .none),
        maxHold: Duration = .seconds(3600), ramp: Duration = .zero, timeBase: any TimeBase = .system,
        observers: Observers = Observers()
    ) {
        self.init(
            name, .window(window), Limiter(window), maxWait: maxWait, maxWaiting: maxWaiting,
            holdBackoff: holdOnThrottled ? holdBackoff : nil, maxHold: maxHold, ramp: ramp, timeBase: timeBase,
            observers: observers)
    }

    /// As the other, named "throttle".
    public convenience init(
        _ window: Window, maxWait: Duration = .zero, maxWaiting: Int = 10_000, holdOnThrottled: Bool = false,
        holdBackoff: Backoff = .exponential(from: .seconds(1), cap: .seconds(60), jitter: .none),
        maxHold: Duration = .seconds(3600), ramp: Duration = .zero, timeBase: any TimeBase = .system,
        observers: Observers = Observers()
    ) {
        self.init(
            "throttle", window, maxWait: maxWait, maxWaiting: maxWaiting, holdOnThrottled: holdOnThrottled,
            holdBackoff: holdBackoff, maxHold: maxHold, ramp: ramp, timeBase: timeBase, observers: observers)
    }

    /// A throttle with no rate of its own: it holds everybody when the other side asks for fewer calls, or ``hold(for:)``
    /// is called, then lets one call probe.
    /// - Parameter ramp: how long after a hold calls come in slowly: two at first, and two more for each that ends; zero
    ///   for all at once.
    public static func gate(
        _ name: String = "gate", maxWait: Duration = .zero, maxWaiting: Int = 10_000,
        holdBackoff: Backoff = .exponential(from: .seconds(1), cap: .seconds(60), jitter: .none),
        maxHold: Duration = .seconds(3600), ramp: Duration = .zero, timeBase: any TimeBase = .system,
        observers: Observers = Observers()
    ) -> Throttle {
        Throttle(
            name, .none, .unlimited, maxWait: maxWait, maxWaiting: maxWaiting, holdBackoff: holdBackoff,
            maxHold: maxHold, ramp: ramp, timeBase: timeBase, observers: observers)
    }

    private init(
        _ name: String, _ limit: Limit, _ limiter: Limiter, maxWait: Duration, maxWaiting: Int, holdBackoff: Backoff?,
        maxHold: Duration, ramp: Duration, timeBase: any TimeBase, observers: Observers
    ) {
        let checks = Self.checks
        self.name = name
        self.maxWait = checks.notNegative(maxWait, "maxWait")
        self.maxWaiting = checks.atLeast(0, maxWaiting, "maxWaiting")
        self.holdBackoff = holdBackoff.map {
            checks.require(
                !$0.isCustom, $0, "holdBackoff", "must not be custom, since it is asked under the throttle's lock",
                else: .none)
        }
        self.maxHold = checks.notNegative(maxHold, "maxHold")
        self.observers = observers
        base = timeBase
        let ramp = checks.notNegative(ramp, "ramp")
        state = Locked(State(limit: limit, made: limit, machine: ThrottleStateMachine(limiter, ramp: ramp)))
    }

    /// A call that is the gate's probe would wait for its own end.
    public var canNestInItself: Bool { false }

    public func enter(_ call: inout Call, _ slot: inout Slot) -> Entry {
        let now = call.now
        if slot.first == 0 {
            // The usual way in, without the means to wait. What is not let in asks again, and changes nothing by it.
            let cost = call.options.cost
            let place = state.withLock { state in
                state.machine.goAtOnce(cost: cost, at: now) ? ThrottlePlace(.go, of: state.machine) : nil
            }
            if let place {
                slot = place.slot
                return .proceed
            }
        }
        return enterOrWait(&call, &slot, at: now)
    }

    @inline(never) private func enterOrWait(_ call: inout Call, _ slot: inout Slot, at now: Instant) -> Entry {
        let (deadline, cost) = (call.deadline, call.options.cost)
        let place = ThrottlePlace(slot)
        let (entry, woken) = state.withLock {
            state -> (Result<(Entry, ThrottlePlace), Throttled>, (Waiter?, Waiter?)) in
            let entry =
                place.stage == .waiting
                ? askAgain(&state, place, at: now, deadline: deadline)
                : ask(&state, cost: cost, at: now, deadline: deadline)
            return (entry, state.sleepers())
        }
        wake(woken)
        switch entry {
        case .success(let (entry, place)):
            slot = place.slot
            return entry
        case .failure(let refusal):
            slot = Slot()
            call.emit(Event.refused(retryAfter: refusal.retryAfter), from: name, to: observers)
            return .refuse(refusal)
        }
    }

    /// A call in the line woke up, and keeps its place until it goes or gives up.
    private func askAgain(
        _ state: inout State, _ place: ThrottlePlace, at now: Instant, deadline: Instant
    ) -> Result<(Entry, ThrottlePlace), Throttled> {
        state.parked[place.ticket] = nil
        let answer = state.machine.askAgain(place.ticket, at: now)
        return follow(answer, &state, at: now, place.latest, deadline) { _ in
            place
        } orElse: { state in
            _ = state.machine.leave(place.ticket)
        }
    }

    private func ask(
        _ state: inout State, cost: Int, at now: Instant, deadline: Instant
    ) -> Result<(Entry, ThrottlePlace), Throttled> {
        let latest = now + maxWait
        let answer = state.machine.ask(cost: cost, at: now)
        guard answer.lets || state.machine.line.count < maxWaiting else {
            return .failure(refusal(answer, at: now))
        }
        return follow(answer, &state, at: now, latest, deadline) { state in
            ThrottlePlace(waiting: state.machine.join(cost: cost, at: now), until: latest)
        }
    }

    /// Does what the machine answered: lets the call go, has it wait, or refuses it.
    private func follow(
        _ answer: ThrottleStateMachine.Answer, _ state: inout State, at now: Instant, _ latest: Instant,
        _ deadline: Instant, waiting: (inout State) -> ThrottlePlace, orElse leave: (inout State) -> Void = { _ in }
    ) -> Result<(Entry, ThrottlePlace), Throttled> {
        if answer.lets { return .success((.proceed, ThrottlePlace(answer, of: state.machine))) }
        guard mayWait(for: answer, at: now, latest, deadline) else {
            leave(&state)
            return .failure(refusal(answer, at: now))
        }
        let place = waiting(&state)
        let until = min(state.machine.asksAgain(place.ticket, told: answer), latest, deadline)
        let turn: Instant? = if case .probing = answer { nil } else { max(now, answer.instant) }
        let waiter = Waiter(turn: turn)
        state.parked[place.ticket] = (waiter, until)
        return .success((.park(waiter, until: until), place))
    }

    private func wake(_ sleepers: (Waiter?, Waiter?)) {
        sleepers.0?.resume()
        sleepers.1?.resume()
    }

    private func refusal(_ answer: ThrottleStateMachine.Answer, at now: Instant) -> Throttled {
        Throttled(throttle: name, retryAfter: answer == .never ? nil : now.duration(to: max(now, answer.instant)))
    }

    /// Waiting makes sense only if the turn can come in time.
    private func mayWait(
        for answer: ThrottleStateMachine.Answer, at now: Instant, _ latest: Instant, _ deadline: Instant
    ) -> Bool {
        guard now < latest, now < deadline else { return false }
        return switch answer {
        case .notBefore(let instant), .held(until: let instant): instant <= latest && instant < deadline
        case .probing: true
        case .go, .pace, .probe, .never: false
        }
    }

    public func exit(_ call: inout Call, _ slot: inout Slot, _ outcome: Outcome) -> Exit {
        if slot.first & 0xFF == UInt64(ThrottlePlace.Stage.admitted.rawValue) {
            switch outcome.verdict {
            case .rejected: break
            case .throttled where holdBackoff != nil: break
            default:
                slot = Slot()
                return .pass
            }
        }
        ended(&call, ThrottlePlace(slot), outcome.verdict)
        slot = Slot()
        return .pass
    }

    @inline(never) private func ended(_ call: inout Call, _ place: ThrottlePlace, _ verdict: Verdict) {
        let (now, cost) = (call.now, call.options.cost)
        let (woken, heldUntil) = state.withLock { state -> ((Waiter?, Waiter?), Instant?) in
            var heldUntil: Instant?
            if place.stage == .waiting {
                state.parked[place.ticket] = nil
                _ = state.machine.leave(place.ticket)
            } else {
                heldUntil = ended(&state.machine, place, cost: cost, verdict, at: now)
            }
            return (state.sleepers(), heldUntil)
        }
        wake(woken)
        if let heldUntil {
            call.emit(Event.held(for: now.duration(to: heldUntil)), from: name, to: observers)
        }
    }

    /// - Returns: until when all are held because of it, if they are.
    private func ended(
        _ machine: inout ThrottleStateMachine, _ place: ThrottlePlace, cost: Int, _ verdict: Verdict, at now: Instant
    ) -> Instant? {
        if case .throttled = verdict, let holdBackoff {
            guard machine.minds(throttledInEpoch: place.epoch, wasProbe: place.stage == .probe) else { return nil }
            var chance = SplitMix64.shared
            let delay = verdict.namedWait ?? holdBackoff.delay(beforeRetry: machine.holdsBefore, using: &chance)
            let until = now + min(max(delay, .zero), maxHold)
            machine.hold(until: until)
            return until
        }
        switch place.stage {
        case .probe: machine.probeEnded(decided: !verdict.saysNothing, inEpoch: place.epoch, at: now)
        case .pace: machine.paceEnded(decided: !verdict.saysNothing, inEpoch: place.epoch)
        case .outside, .waiting, .admitted: break
        }
        if verdict == .rejected, place.stage != .probe, cost > 0 {
            machine.giveBack(cost, place.receipt, inEpoch: place.epoch, at: now)
        }
        return nil
    }

    /// Changes the machine by hand.
    private func change(_ body: (inout State, Instant) -> Void) {
        let now = base.now
        let woken = state.withLock { state in
            body(&state, now)
            return state.sleepers()
        }
        wake(woken)
    }

    /// Holds every call until `instant`, then lets one probe. A longer hold stays.
    public func hold(until instant: Instant) { change { state, _ in state.machine.hold(until: instant) } }

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
    public func setRate(_ rate: Rate, burst: Int? = nil) {
        let hasRate = state.withLock { if case .rate = $0.limit { true } else { false } }
        guard Self.checks.allows(hasRate, rate, "rate", "can be set only where there is one: \(name) counts no rate"),
            burst.map({ Self.checks.isAtLeast(1, $0, "burst") }) ?? true,
            SettingChecks.mayChange
        else { return }
        change { state, now in
            guard case .rate(_, let present) = state.limit else { return }
            state.limit = .rate(rate, burst: burst ?? present)
            state.machine.setRate(rate, burst: burst ?? present, at: now)
        }
    }

    /// As when it was made: nothing used, the gate open, no hold remembered. Calls that wait go on, as far as there is
    /// room. The end of a call that was let in before holds nobody.
    public func reset() { change { state, now in state.machine.reset(at: now) } }

    /// Whether forgetting it would lose nothing: it would let through what a new one does, and nobody waits.
    public var isAtRest: Bool { isAtRest(at: base.now) }

    func isAtRest(at now: Instant) -> Bool {
        state.withLock { $0.machine.isAtRest(at: now) && $0.limit == $0.made }
    }

    /// What it would say to a call now.
    public var status: ThrottleStatus {
        let now = base.now
        return state.withLock { $0.machine.status(at: now) }
    }

    /// When the gate lets the next call through; nil when it is open.
    public var heldUntil: Instant? { state.withLock { $0.machine.heldUntil } }

    /// Calls that wait for their turn now.
    public var waiting: Int { state.withLock { $0.machine.line.count } }

    /// Whether it has calls wait.
    var waits: Bool { maxWait > .zero }

    public var description: String {
        let limit =
            switch state.withLock({ $0.limit }) {
            case .none: "no rate of its own"
            case .rate(let rate, let burst): "\(rate), burst \(burst)"
            case .window(let window): "\(window)"
            }
        let wait = maxWait == .zero ? "refuses at once" : "waits up to \(maxWait.text)"
        return "\(name): \(limit), \(wait)\(holdBackoff == nil ? "" : ", held by 429")"
    }
}
extension Throttle: RegistryEntry {
    /// If all it remembers is that it was held, by a hold that was over this long ago, and nobody came to probe; or if calls
    /// used it meanwhile, which have come by another key that shares it.
    public func canBeEvicted(unusedFor time: Duration) -> Bool {
        let now = base.now
        return state.withLock { state in
            state.machine.latest + time > now
                || state.machine.isAtRest(at: now, forgettingHoldsOverFor: time) && state.limit == state.made
        }
    }

    /// Whether the two differ in no more than their rate and burst.
    public func canBeReconfigured(like other: Throttle) -> Bool {
        let (own, ramp) = state.withLock { ($0.made, $0.machine.ramp) }
        let (made, otherRamp) = other.state.withLock { ($0.made, $0.machine.ramp) }
        guard
            (maxWait, maxWaiting, maxHold, ramp) == (other.maxWait, other.maxWaiting, other.maxHold, otherRamp),
            holdBackoff == other.holdBackoff
        else { return false }
        if case (.rate, .rate) = (own, made) { return true }
        return own == made
    }

    /// With the other's rate and burst, as by ``setRate(_:burst:)``; nil if the two differ in more than these.
    public func reconfigured(like other: Throttle) -> Self? {
        guard other !== self else { return self }
        guard SettingChecks.mayChange, canBeReconfigured(like: other) else { return nil }
        let made = other.state.withLock { $0.made }
        if case .rate(let rate, let burst) = made {
            setRate(rate, burst: burst)
            state.withLock { $0.made = made }
        }
        return self
    }
}
