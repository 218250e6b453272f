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

    private enum Limit: Equatable {
        case none
        case rate(Rate, burst: Int)
        case window(Window)
    }

    private struct State {
        var limit: Limit
        /// What it was made with, or given by a registry since.
        var made: Limit
        var machine: ThrottleStateMachine
        /// The calls in the machine's line that sleep, by their tickets.
        var parked: [UInt64: (waiter: Waiter, until: Instant)] = [:]
        /// Those let in from the line that have not woken yet.
        var admitted: [UInt64: (answer: ThrottleStateMachine.Answer, epoch: UInt64)] = [:]

        /// Lets in whoever may go.
        /// - Returns: those to wake when the lock is free.
        mutating func admit(at now: Instant) -> [Waiter] {
            guard !machine.line.isEmpty else { return [] }
            var woken: [Waiter] = []
            while let (ticket, answer) = machine.admitNext(at: now) {
                admitted[ticket] = (answer, machine.epoch)
                if let waiter = parked.removeValue(forKey: ticket)?.waiter { woken.append(waiter) }
            }
            // The first sleeps for longer than it has to: woken, it asks again, and learns of its turn.
            if let head = machine.head, let sleeper = parked[head.ticket], sleeper.until > head.answer.instant {
                parked[head.ticket]?.until = head.answer.instant
                woken.append(sleeper.waiter)
            }
            return woken
        }
    }

    static let checks = SettingChecks("Throttle")

    private let base: any TimeBase
    private let maxWait: Duration
    private let maxWaiting: Int
    private let holdBackoff: Backoff?
    private let maxHold: Duration
    private let state: Locked<State>

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

    /// Where a call stands; the low byte of the slot's first word. The epoch of its admission is above it. The second word
    /// is its ticket in the line, the third the last instant that it waits for.
    private enum Stage {
        static let outside: UInt64 = 0
        static let admitted: UInt64 = 1
        static let probe: UInt64 = 2
        static let pace: UInt64 = 3
        static let waiting: UInt64 = 4

        static func of(_ slot: Slot) -> UInt64 { slot.first & 0xFF }
        static func word(_ stage: UInt64, _ epoch: UInt64) -> UInt64 { epoch << 8 | stage }

        /// Of a call that goes; nil of one that does not.
        static func word(_ answer: ThrottleStateMachine.Answer, _ epoch: UInt64) -> UInt64? {
            switch answer {
            case .go: word(admitted, epoch)
            case .pace: word(pace, epoch)
            case .probe: word(probe, epoch)
            case .notBefore, .held, .probing, .never: nil
            }
        }
    }

    /// A call that is the gate's probe would wait for its own end.
    public var canNestInItself: Bool { false }

    public func enter(_ call: inout Call, _ slot: inout Slot) -> Entry {
        let now = call.now
        if Stage.of(slot) == Stage.outside {
            // The usual way in, without the means to wait. What is not let in asks again, and changes nothing by it.
            let cost = call.options.cost
            let word = state.withLock { state in
                state.machine.goAtOnce(cost: cost, at: now) ? Stage.word(Stage.admitted, state.machine.epoch) : 0
            }
            if word != 0 {
                slot.first = word
                return .proceed
            }
        }
        return enterOrWait(&call, &slot, at: now)
    }

    @inline(never) private func enterOrWait(_ call: inout Call, _ slot: inout Slot, at now: Instant) -> Entry {
        let (deadline, cost) = (call.deadline, call.options.cost)
        let entry =
            Stage.of(slot) == Stage.waiting
            ? wake(&slot, cost: cost, at: now, deadline: deadline)
            : state.withLock { ask(&$0, &slot, cost: cost, at: now, deadline: deadline) }
        switch entry {
        case .success(let entry):
            return entry
        case .failure(let refusal):
            slot = Slot()
            call.emit(Event.refused(retryAfter: refusal.retryAfter), from: name, to: observers)
            return .refuse(refusal)
        }
    }

    private func wake(
        _ slot: inout Slot, cost: Int, at now: Instant, deadline: Instant
    ) -> Result<Entry, Throttled> {
        let (entry, woken) = state.withLock { state -> (Result<Entry, Throttled>, [Waiter]) in
            var woken = state.admit(at: now)
            if let entry = askAgain(&state, &slot, at: now, deadline: deadline) { return (entry, woken) }
            // It is in the line no longer, which may have made room for those behind.
            woken += state.admit(at: now)
            return (ask(&state, &slot, cost: cost, at: now, deadline: deadline), woken)
        }
        for waiter in woken { waiter.resume() }
        return entry
    }

    /// A call in the line woke up.
    /// - Returns: nil if it is in it no longer and has to ask anew.
    private func askAgain(
        _ state: inout State, _ slot: inout Slot, at now: Instant, deadline: Instant
    ) -> Result<Entry, Throttled>? {
        let ticket = slot.second
        if let (answer, epoch) = state.admitted.removeValue(forKey: ticket) {
            if answer == .never { return .failure(Throttled(throttle: name, retryAfter: nil)) }
            // A hold since then is for this call, too.
            guard epoch == state.machine.epoch, let word = Stage.word(answer, epoch) else { return nil }
            slot.first = word
            return .success(.proceed)
        }
        let latest = Instant(nanoseconds: Int64(bitPattern: slot.third))
        let answer = state.machine.answer(to: ticket)
        guard mayWait(for: answer, at: now, latest, deadline) else {
            state.parked[ticket] = nil
            _ = state.machine.leave(ticket)
            return nil
        }
        return .success(park(&state, ticket, for: answer, at: now, until: min(latest, deadline)))
    }

    private func ask(
        _ state: inout State, _ slot: inout Slot, cost: Int, at now: Instant, deadline: Instant
    ) -> Result<Entry, Throttled> {
        let latest = slot.third == 0 ? now + maxWait : Instant(nanoseconds: Int64(bitPattern: slot.third))
        let answer = state.machine.ask(cost: cost, at: now)
        if let word = Stage.word(answer, state.machine.epoch) {
            slot.first = word
            return .success(.proceed)
        }
        guard mayWait(for: answer, at: now, latest, deadline), state.machine.line.count < maxWaiting else {
            let retryAfter = answer == .never ? nil : now.duration(to: max(now, answer.instant))
            return .failure(Throttled(throttle: name, retryAfter: retryAfter))
        }
        slot.first = Stage.word(Stage.waiting, state.machine.epoch)
        slot.second = state.machine.join(cost: cost, at: now)
        slot.third = UInt64(bitPattern: latest.nanoseconds)
        return .success(park(&state, slot.second, for: answer, at: now, until: min(latest, deadline)))
    }

    /// Waiting makes sense only if the turn can come in time.
    private func mayWait(
        for answer: ThrottleStateMachine.Answer, at now: Instant, _ latest: Instant, _ deadline: Instant
    ) -> Bool {
        switch answer {
        case .notBefore(let instant), .held(until: let instant): instant <= latest && instant < deadline
        case .probing: now < latest && now < deadline
        case .go, .pace, .probe, .never: false
        }
    }

    private func park(
        _ state: inout State, _ ticket: UInt64, for answer: ThrottleStateMachine.Answer, at now: Instant,
        until latest: Instant
    ) -> Entry {
        // Of those that wait for the gate only the first need wake when its time is over.
        let isForGate = if case .notBefore = answer { false } else { true }
        let until = isForGate && state.machine.head?.ticket != ticket ? latest : min(answer.instant, latest)
        let turn: Instant? = if case .probing = answer { nil } else { max(now, answer.instant) }
        let waiter = Waiter(turn: turn)
        state.parked[ticket] = (waiter, until)
        return .park(waiter, until: until)
    }

    public func exit(_ call: inout Call, _ slot: inout Slot, _ outcome: Outcome) -> Exit {
        let stage = Stage.of(slot)
        if stage == Stage.admitted {
            guard holdBackoff != nil, case .throttled = outcome.verdict else {
                slot = Slot()
                return .pass
            }
        }
        ended(&call, slot, outcome.verdict)
        slot = Slot()
        return .pass
    }

    @inline(never) private func ended(_ call: inout Call, _ slot: Slot, _ verdict: Verdict) {
        let now = call.now
        let (woken, heldUntil) = state.withLock { state -> ([Waiter], Instant?) in
            var word: UInt64? = slot.first
            if Stage.of(slot) == Stage.waiting {
                state.parked[slot.second] = nil
                _ = state.machine.leave(slot.second)
                word = state.admitted.removeValue(forKey: slot.second).flatMap { Stage.word($0.answer, $0.epoch) }
            }
            let heldUntil = word.flatMap { ended(&state, stage: $0 & 0xFF, epoch: $0 >> 8, verdict, at: now) }
            return (state.admit(at: now), heldUntil)
        }
        for waiter in woken { waiter.resume() }
        if let heldUntil {
            call.emit(Event.held(for: now.duration(to: heldUntil)), from: name, to: observers)
        }
    }

    /// - Returns: until when all are held because of it, if they are.
    private func ended(
        _ state: inout State, stage: UInt64, epoch: UInt64, _ verdict: Verdict, at now: Instant
    ) -> Instant? {
        if case .throttled(let named) = verdict, let holdBackoff {
            guard state.machine.minds(throttledInEpoch: epoch, wasProbe: stage == Stage.probe) else { return nil }
            var chance = SplitMix64.shared
            let delay = named ?? holdBackoff.delay(beforeRetry: state.machine.holdsBefore, using: &chance)
            let until = now + min(max(delay, .zero), maxHold)
            state.machine.hold(until: until)
            return until
        }
        if stage == Stage.probe {
            state.machine.probeEnded(decided: !verdict.saysNothing, inEpoch: epoch, at: now)
        } else if stage == Stage.pace {
            state.machine.paceEnded(decided: !verdict.saysNothing, inEpoch: epoch)
        }
        return nil
    }

    /// Changes the machine by hand.
    private func change(_ body: (inout State, Instant) -> Void) {
        let now = base.now
        let woken = state.withLock { state in
            body(&state, now)
            return state.admit(at: now)
        }
        for waiter in woken { waiter.resume() }
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
        change { state, now in
            guard case .rate(_, let present) = state.limit else {
                preconditionFailure("Throttle: \(name) counts no rate; setRate is for one that was made with a rate")
            }
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
        state.withLock { $0.machine.isAtRest(at: now) && $0.admitted.isEmpty && $0.limit == $0.made }
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
    /// With the other's rate and burst, as by ``setRate(_:burst:)``; nil if the two differ in more than these.
    public func reconfigured(like other: Throttle) -> Self? {
        let (made, ramp) = other.state.withLock { ($0.made, $0.machine.ramp) }
        let (own, ownRamp) = state.withLock { ($0.made, $0.machine.ramp) }
        guard
            (maxWait, maxWaiting, maxHold, ramp) == (other.maxWait, other.maxWaiting, other.maxHold, ownRamp),
            holdBackoff == other.holdBackoff
        else { return nil }
        switch (own, made) {
        case (.rate, .rate(let rate, let burst)):
            setRate(rate, burst: burst)
            state.withLock { $0.made = made }
            return self
        default:
            return own == made ? self : nil
        }
    }
}
