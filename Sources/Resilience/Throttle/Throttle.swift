/// Keeps calls to a rate, and holds them all when the other side asks for silence.
///
/// ```swift
/// Throttle(.perSecond(10), burst: 20)                              // refuses what is too much
/// Throttle(.perSecond(10), burst: 20, maxWait: .seconds(5))        // lets it wait its turn
/// Throttle.gate(maxWait: .seconds(60))                             // no rate of its own; a 429 holds everybody
/// ```
///
/// A call is refused at once if its turn cannot come within `maxWait` or before its deadline. One that is cancelled while
/// it waits gives its share back.
public final class Throttle: Policy {
    public let name: String
    public var timeBase: (any TimeBase)? { base }
    /// Who is told what this throttle does, whichever pipeline it is in.
    public let observers: Observers

    private struct State {
        var machine: ThrottleStateMachine
        /// Calls that wait for the probe's end, by the order in which they came.
        var parked: [UInt64: Waiter] = [:]
        var lastParked: UInt64 = 0
        /// Calls that wait, for any reason.
        var waiting = 0
    }

    private let base: any TimeBase
    private let rate: Rate?
    private let burst: Int
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
    public convenience init(
        _ name: String, _ rate: Rate, burst: Int = 1, maxWait: Duration = .zero, maxWaiting: Int = 10_000,
        holdOnThrottled: Bool = false,
        holdBackoff: Backoff = .exponential(from: .seconds(1), cap: .seconds(60), jitter: .none),
        maxHold: Duration = .seconds(3600), timeBase: any TimeBase = .system, observers: Observers = Observers()
    ) {
        self.init(
            name, rate: rate, burst: burst, maxWait: maxWait, maxWaiting: maxWaiting,
            holdBackoff: holdOnThrottled ? holdBackoff : nil, maxHold: maxHold, timeBase: timeBase, observers: observers
        )
    }

    /// As the other, named "throttle".
    public convenience init(
        _ rate: Rate, burst: Int = 1, maxWait: Duration = .zero, maxWaiting: Int = 10_000,
        holdOnThrottled: Bool = false,
        holdBackoff: Backoff = .exponential(from: .seconds(1), cap: .seconds(60), jitter: .none),
        maxHold: Duration = .seconds(3600), timeBase: any TimeBase = .system, observers: Observers = Observers()
    ) {
        self.init(
            "throttle", rate, burst: burst, maxWait: maxWait, maxWaiting: maxWaiting, holdOnThrottled: holdOnThrottled,
            holdBackoff: holdBackoff, maxHold: maxHold, timeBase: timeBase, observers: observers)
    }

    /// A throttle with no rate of its own: it holds everybody when the other side asks for fewer calls, or ``hold(for:)``
    /// is called, then lets one call probe.
    public static func gate(
        _ name: String = "gate", maxWait: Duration = .zero, maxWaiting: Int = 10_000,
        holdBackoff: Backoff = .exponential(from: .seconds(1), cap: .seconds(60), jitter: .none),
        maxHold: Duration = .seconds(3600), timeBase: any TimeBase = .system, observers: Observers = Observers()
    ) -> Throttle {
        Throttle(
            name, rate: nil, burst: 1, maxWait: maxWait, maxWaiting: maxWaiting, holdBackoff: holdBackoff,
            maxHold: maxHold, timeBase: timeBase, observers: observers)
    }

    private init(
        _ name: String, rate: Rate?, burst: Int, maxWait: Duration, maxWaiting: Int, holdBackoff: Backoff?,
        maxHold: Duration, timeBase: any TimeBase, observers: Observers
    ) {
        precondition(maxWait >= .zero, "Throttle: maxWait is \(maxWait), and must not be negative")
        precondition(maxHold >= .zero, "Throttle: maxHold is \(maxHold), and must not be negative")
        precondition(
            holdBackoff?.isCustom != true,
            "Throttle: holdBackoff is custom, and would be asked under the throttle's lock")
        precondition(maxWaiting >= 0, "Throttle: maxWaiting is \(maxWaiting), and must not be negative")
        self.name = name
        self.rate = rate
        self.burst = burst
        self.maxWait = maxWait
        self.maxWaiting = maxWaiting
        self.holdBackoff = holdBackoff
        self.maxHold = maxHold
        self.observers = observers
        base = timeBase
        state = Locked(State(machine: ThrottleStateMachine(rate: rate, burst: burst)))
    }

    /// Where a call stands; the low byte of the slot's first word. The epoch of its admission is above it. The second word
    /// is the receipt of a reservation or the key of a parked call, the third the last instant that a waiting call waits for.
    private enum Stage {
        static let outside: UInt64 = 0
        static let admitted: UInt64 = 1
        static let probe: UInt64 = 2
        static let reserved: UInt64 = 3
        static let waiting: UInt64 = 4

        static func of(_ slot: Slot) -> UInt64 { slot.first & 0xFF }
        static func epoch(_ slot: Slot) -> UInt64 { slot.first >> 8 }
        static func word(_ stage: UInt64, _ epoch: UInt64) -> UInt64 { epoch << 8 | stage }
    }

    public func enter(_ call: inout Call, _ slot: inout Slot) -> Entry {
        let now = call.now
        if Stage.of(slot) == Stage.outside {
            // The usual way in, without the means to wait. What is not let in asks again, and changes nothing by it.
            let (answer, epoch) = state.withLock { ($0.machine.ask(at: now), $0.machine.epoch) }
            if answer == .go || answer == .probe {
                slot.first = Stage.word(answer == .go ? Stage.admitted : Stage.probe, epoch)
                return .proceed
            }
        }
        return enterOrWait(&call, &slot, at: now)
    }

    @inline(never) private func enterOrWait(_ call: inout Call, _ slot: inout Slot, at now: Instant) -> Entry {
        let deadline = call.deadline
        let entry = state.withLock { state -> Result<Entry, Throttled> in
            if Stage.of(slot) == Stage.reserved || Stage.of(slot) == Stage.waiting { state.waiting -= 1 }
            if Stage.of(slot) == Stage.waiting { state.parked[slot.second] = nil }
            if Stage.of(slot) == Stage.reserved, state.machine.gate == .open, Stage.epoch(slot) == state.machine.epoch {
                slot.first = Stage.word(Stage.admitted, Stage.epoch(slot))
                return .success(.proceed)
            }
            return ask(&state, &slot, at: now, deadline: deadline)
        }
        switch entry {
        case .success(let entry):
            return entry
        case .failure(let refusal):
            slot = Slot()
            call.emit(Event.refused(retryAfter: refusal.retryAfter), from: name, to: observers)
            return .refuse(refusal)
        }
    }

    private func ask(
        _ state: inout State, _ slot: inout Slot, at now: Instant, deadline: Instant
    ) -> Result<Entry, Throttled> {
        let latest = slot.third == 0 ? now + maxWait : Instant(nanoseconds: Int64(bitPattern: slot.third))
        func refusal(_ until: Instant?) -> Result<Entry, Throttled> {
            .failure(Throttled(throttle: name, retryAfter: until.map { now.duration(to: $0) }))
        }
        // Waiting makes sense only if the turn can come in time.
        func mayWait(until instant: Instant) -> Bool {
            instant <= latest && instant < deadline && state.waiting < maxWaiting
        }
        func wait(_ stage: UInt64, _ second: UInt64 = 0) {
            state.waiting += 1
            slot.second = second
            slot.first = Stage.word(stage, state.machine.epoch)
            slot.third = UInt64(bitPattern: latest.nanoseconds)
        }
        switch state.machine.ask(at: now) {
        case .go:
            slot.first = Stage.word(Stage.admitted, state.machine.epoch)
            return .success(.proceed)
        case .probe:
            slot.first = Stage.word(Stage.probe, state.machine.epoch)
            return .success(.proceed)
        case .notBefore(let instant):
            guard mayWait(until: instant) else { return refusal(instant) }
            wait(Stage.reserved, UInt64(bitPattern: state.machine.reserve(at: now)))
            return .success(.sleep(until: instant))
        case .held(let until):
            guard mayWait(until: until) else { return refusal(until) }
            wait(Stage.waiting)
            return .success(.sleep(until: until))
        case .probing(let until):
            guard mayWait(until: now), now < latest else { return refusal(until) }
            state.lastParked += 1
            wait(Stage.waiting, state.lastParked)
            let waiter = Waiter()
            state.parked[state.lastParked] = waiter
            return .success(.park(waiter, until: min(until, latest, deadline)))
        case .never:
            return refusal(nil)
        }
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
        let (parked, heldUntil) = state.withLock { state -> ([UInt64: Waiter], Instant?) in
            var heldUntil: Instant?
            let epoch = Stage.epoch(slot)
            switch Stage.of(slot) {
            case Stage.reserved:
                state.waiting -= 1
                if epoch == state.machine.epoch { state.machine.giveBack(Int64(bitPattern: slot.second)) }
            case Stage.waiting:
                state.waiting -= 1
                state.parked[slot.second] = nil
            case let stage:
                let wasProbe = stage == Stage.probe
                if case .throttled(let named) = verdict, let holdBackoff {
                    if state.machine.minds(throttledInEpoch: epoch, wasProbe: wasProbe) {
                        var chance = SplitMix64.shared
                        let delay = named ?? holdBackoff.delay(beforeRetry: state.machine.holdsBefore, using: &chance)
                        let until = now + min(max(delay, .zero), maxHold)
                        state.machine.hold(until: until)
                        heldUntil = until
                    }
                } else if wasProbe {
                    state.machine.probeEnded(decided: !verdict.saysNothing, inEpoch: epoch, at: now)
                }
            }
            if case .probing = state.machine.gate { return ([:], heldUntil) }
            let parked = state.parked
            state.parked = [:]
            return (parked, heldUntil)
        }
        for (_, waiter) in parked.sorted(by: { $0.key < $1.key }) { waiter.resume() }
        if let heldUntil {
            call.emit(Event.held(for: now.duration(to: heldUntil)), from: name, to: observers)
        }
    }

    /// Holds every call until `instant`, then lets one probe. A longer hold stays.
    public func hold(until instant: Instant) { state.withLock { $0.machine.hold(until: instant) } }

    /// Holds every call for this time from now, then lets one probe. A longer hold stays.
    public func hold(for duration: Duration) { hold(until: base.now + duration) }

    /// Ends a hold before its time: the next call is the probe. Calls that wait for its end already keep their instant.
    public func endHold() {
        let now = base.now
        state.withLock { $0.machine.endHold(at: now) }
    }

    /// When the gate lets the next call through; nil when it is open.
    public var heldUntil: Instant? {
        switch state.withLock({ $0.machine.gate }) {
        case .open: nil
        case .held(let until): until
        case .probing(let leaseEnds): leaseEnds
        }
    }

    /// Calls that wait for their turn now.
    public var waiting: Int { state.withLock { $0.waiting } }

    public var description: String {
        let limit = rate.map { "\($0), burst \(burst)" } ?? "no rate of its own"
        let wait = maxWait == .zero ? "refuses at once" : "waits up to \(maxWait)"
        return "\(name): \(limit), \(wait)\(holdBackoff == nil ? "" : ", held by 429")"
    }
}

extension Throttle {
    public enum Event: PolicyEvent, Equatable {
        case refused(retryAfter: Duration?)
        /// The other side asked for fewer calls: everybody waits.
        case held(for: Duration)

        public var description: String {
            switch self {
            case .refused(let retryAfter?): "refusing call (retry in \(retryAfter.wholeSecondsRoundedUp) s)"
            case .refused(nil): "refusing call"
            case .held(let length): "rate limited → holding all calls for \(length)"
            }
        }
    }
}

/// A throttle refused the call; it did not run.
public struct Throttled: Rejection, Hashable {
    /// The throttle's name.
    public let throttle: String
    public let retryAfter: Duration?

    public init(throttle: String, retryAfter: Duration?) {
        self.throttle = throttle
        self.retryAfter = retryAfter
    }

    public var description: String { "Too many calls (\(throttle)). \(retryAdvice)" }
}
