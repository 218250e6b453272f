import Resilience

/// A circuit that decides for itself, and obeys the fleet: it is open while its own circuit or the fleet's circuit is
/// open.
///
/// While the fleet's circuit is open, calls are rejected, unless its break was ended here by hand. After the break, one
/// member probes with its own circuit, and its result decides for all.
struct FleetCircuit: SharedCircuit {
    /// The fleet's last order.
    enum Order: Sendable, Equatable {
        /// The circuit decides for itself.
        case none
        /// Open until this instant. Without news until `givesUp`, the circuit decides for itself again.
        case open(until: MonotonicInstant, givesUp: MonotonicInstant)
        /// This member probes. Its right ends at this instant, if no call has begun.
        case probe(until: MonotonicInstant)
    }

    enum Result: String, Sendable { case well, failing, unclear }

    /// The report to the fleet.
    struct Report: Sendable, Equatable {
        var calls = 0
        var failures = 0
        var result: Result?
        var wantsProbe = false
        var epoch: Int64 = 0
        /// How long a break would be if it began now.
        var openFor = Duration.zero
        /// Whether the fleet should learn of failures soon.
        var isFailing = false
        /// Whether the circuit is open by its own decision.
        var isOpen = false
        /// Whether an order must be renewed.
        var isOrdered = false
        /// Whether a call has begun since the last report.
        var isUsed = false
        /// Whether the next call must report.
        var isHeard = false

        /// Whether to ask soon. Without a new call, the other processes already know of the failures.
        var isBusy: Bool { isOrdered || isOpen || isFailing && isUsed }
    }

    private(set) var own: ThreeStateCircuit
    private let openFor: any BreakDuration
    private let rule: FleetTripRule
    private var window: any TripRule
    private(set) var order = Order.none
    private var epoch: Int64 = 0
    /// The epoch of the break that was ended here by hand.
    private var endedByHand: Int64?
    /// The epoch in which the order was given.
    private var orderEpoch: Int64 = 0
    /// Whether this circuit alone decides when it leaves the fleet's break.
    private var isAlone = false
    private var trips = 0
    private var result: Result?
    /// Whether a call was rejected after the break.
    private var wantsProbe = false
    private var isUsed = false
    /// The time of the last report; nil if the fleet has dropped this member since. Then the next call reports, because
    /// the fleet's rule depends on the number of calling processes.
    private var told: MonotonicInstant?
    /// Whether a probe of this member is in flight.
    private var isProbing = false
    private let grace: Duration
    /// Called when this circuit should report to the fleet soon. The closure does not call the circuit back.
    private let ring: @Sendable () -> Void

    init(
        _ own: ThreeStateCircuit, openFor: any BreakDuration, rule: FleetTripRule, grace: Duration,
        ring: @escaping @Sendable () -> Void
    ) {
        self.own = own
        self.openFor = openFor
        self.rule = rule
        self.grace = grace
        self.ring = ring
        window = Self.window(rule)
    }

    private static func window(_ rule: FleetTripRule) -> any TripRule {
        .failureRatio(rule.ratio, over: .time(rule.window), minimumCalls: 1)
    }

    // MARK: Calls

    var state: CircuitState { if case .open = order { .open } else { own.state } }

    var changesAt: MonotonicInstant? { if case .open(_, let givesUp) = order { givesUp } else { own.changesAt } }

    mutating func timePassed(at now: MonotonicInstant) {
        if case .open(_, let givesUp) = order {
            guard givesUp <= now else { return }
            decideAlone(at: now)
        }
        own.timePassed(at: now)
    }

    /// The fleet gives no order, or no call began after its break: the circuit decides alone, with its own probe. A
    /// process with few calls could never use a right to probe in time.
    private mutating func decideAlone(at now: MonotonicInstant) {
        (order, isAlone, wantsProbe) = (.none, true, false)
        beginProbing(at: now)
    }

    /// Begins to probe. The results of this circuit's own probes count, whichever member has the right to probe.
    private mutating func beginProbing(at now: MonotonicInstant) {
        if own.state != .halfOpen { _ = own.trip(for: .zero, at: now, using: .shared) }
        own.timePassed(at: now)
    }

    mutating func admit(at now: MonotonicInstant, using generator: SplitMix64) -> CircuitAdmission {
        isUsed = true
        if told == nil {
            told = now
            ring()
        }
        timePassed(at: now)
        if case .open(let until, _) = order {
            if until <= now, !wantsProbe {
                wantsProbe = true
                ring()
            }
            let wait = until <= now ? grace / 10 : now.duration(to: until)
            // After the break, some member probes. The length of its right to probe does not show how long the probe
            // takes.
            return .reject(retryAfter: wantsProbe ? min(wait, ProbeWait.longest) : wait)
        }
        let admission = own.admit(at: now, using: generator)
        if case .probe = order, case .allow = admission { isProbing = true }
        return admission
    }

    mutating func record(_ end: CallEnd, ticket: UInt64, using generator: SplitMix64) -> Bool {
        isUsed = true
        let isFailing = window.evidence(of: end) == .failing
        if ticket == 0 { window.ended(end) }
        let before = own.state
        let counted = own.record(end, ticket: ticket, using: generator)
        if case .probe = order {
            switch own.state {
            case .closed: result = .well
            case .open: result = .failing
            case .halfOpen: if end.verdict.kind == .cancelled || end.verdict.kind == .rejected { result = .unclear }
            }
            isProbing = false
            if result != nil { ring() }
        } else if isFailing || own.state != before {
            if isAlone, own.state != before {
                (result, isAlone) = (own.state == .closed ? .well : .failing, false)
            }
            ring()
        }
        return counted
    }

    mutating func succeeded(_ count: Int, at now: MonotonicInstant) {
        isUsed = true
        window.succeeded(count, at: now)
        own.succeeded(count, at: now)
    }

    func tallyEnds(after now: MonotonicInstant) -> MonotonicInstant {
        let end = min(window.tallyEnds(after: now), own.tallyEnds(after: now))
        return own.needs.contains(.successes) ? end : window.tallyEnds(after: now)
    }

    var needs: CircuitNeeds {
        if case .none = order, told != nil {
            own.needs.union(.successes)
        } else {
            own.needs.union([.admissions, .successes])
        }
    }

    // MARK: The fleet

    /// The events since the last report.
    mutating func takeReport(at now: MonotonicInstant) -> Report {
        timePassed(at: now)
        if case .probe(let until) = order, result == nil {
            if own.state == .open {
                // The circuit was opened by hand.
                result = .failing
            } else if until <= now, !isProbing {
                result = .unclear
            }
        }
        let counts = window.counts(at: now)
        var report = Report()
        (report.calls, report.failures) = (counts.callCount ?? 0, counts.failureCount)
        (report.result, report.wantsProbe, report.epoch) = (result, wantsProbe, epoch)
        report.openFor = openFor.duration(of: CircuitTrip(earlier: trips), using: .shared)
        report.isOpen = order == .none && own.state == .open
        report.isFailing = counts.failureCount > 0 || report.isOpen
        report.isOrdered = order != .none
        report.isUsed = isUsed
        if isUsed { told = now } else if let last = told, last + rule.window / 2 <= now { told = nil }
        isUsed = false
        report.isHeard = told == nil
        return report
    }

    /// Obeys the fleet's order.
    mutating func obey(_ answer: BreakerAnswer, to report: Report, lease: Duration, at now: MonotonicInstant) {
        if report.result != nil { result = nil }
        if answer.epoch != epoch {
            window = Self.window(rule)
            // Results of probes before another break no longer count.
            if answer.state != .closed, own.state == .halfOpen { _ = own.trip(for: .zero, at: now, using: .shared) }
        }
        (epoch, trips) = (answer.epoch, answer.trips)
        if answer.epoch != endedByHand { endedByHand = nil }
        switch answer.state {
        case .closed:
            // An engine that has lost its state must not end a break.
            if answer.epoch <= orderEpoch, case .open = order { return }
            guard order != .none || isAlone && answer.epoch > orderEpoch else { return }
            (order, isAlone) = (.none, false)
            (wantsProbe, isProbing) = (false, false)
            own.reset(keepingGrowth: false)
        case .open:
            let until = now + answer.wait
            let isOver = answer.wait <= lease
            orderEpoch = answer.epoch
            // The circuit is probing alone, and its probes in flight must count.
            if isOver && isAlone || answer.epoch == endedByHand { return }
            (isProbing, isAlone) = (false, false)
            if isOver, case .probe = order {
                // The right to probe has ended without a call.
                decideAlone(at: now)
            } else if isOver, case .open(let before, let givesUp) = order, before <= now {
                // Another member probes, or no member. Without a call here the order lapses.
                if wantsProbe { order = .open(until: until, givesUp: max(givesUp, until + grace)) }
            } else {
                wantsProbe = false
                order = .open(until: until, givesUp: until + grace)
            }
        case .probing:
            (wantsProbe, isAlone, orderEpoch) = (false, false, answer.epoch)
            if case .probe = order {
                if isProbing { order = .probe(until: now + grace) }
                return
            }
            order = .probe(until: now + grace)
            // The circuit is half-open: its next calls are the probes.
            beginProbing(at: now)
        }
    }

    /// The engine is unavailable. A probe then decides for this circuit alone.
    mutating func engineIsAway() {
        if case .probe = order { order = .none }
        (result, isProbing) = (nil, false)
    }

    // MARK: By hand, and the rest

    mutating func trip(for length: Duration?, at now: MonotonicInstant, using generator: SplitMix64) -> Bool {
        own.trip(for: length, at: now, using: generator)
    }

    mutating func endBreak(at now: MonotonicInstant) -> Bool {
        guard case .open = order else { return own.endBreak(at: now) }
        endedByHand = orderEpoch
        decideAlone(at: now)
        return true
    }

    mutating func reset(keepingGrowth: Bool) {
        (order, isAlone) = (.none, false)
        (wantsProbe, isProbing, result) = (false, false, nil)
        window = Self.window(rule)
        own.reset(keepingGrowth: keepingGrowth)
    }

    mutating func forgetCalls() {
        isProbing = false
        own.forgetCalls()
    }

    mutating func takeCalls(from other: any CircuitStateMachine) -> Bool {
        own.takeCalls(from: (other as? FleetCircuit)?.own ?? other)
    }

    func status(at now: MonotonicInstant) -> CircuitBreakerStatus {
        var then = self
        then.timePassed(at: now)
        guard case .open(let until, _) = then.order else { return then.own.status(at: now) }
        let counts = window.counts(at: now)
        return CircuitBreakerStatus(
            state: .open, failureCount: counts.failureCount, callCount: counts.callCount,
            timeRemaining: max(.zero, now.duration(to: until)), isAllowed: false)
    }

    func isAtRest(at now: MonotonicInstant) -> Bool { order == .none && own.isAtRest(at: now) }
    func wantsProbe(at now: MonotonicInstant) -> Bool {
        if case .open = order { false } else { own.wantsProbe(at: now) }
    }
    func probesDecide(at now: MonotonicInstant) -> MonotonicInstant? { own.probesDecide(at: now) }
    var makesCallsWait: Bool { own.makesCallsWait }
    mutating func observe(_ end: CallEnd) -> Bool { own.observe(end) }
    mutating func observe(beginAt now: MonotonicInstant) -> Bool { own.observe(beginAt: now) }
    var longestBreak: Duration? { own.longestBreak }
    func memory(at now: MonotonicInstant) -> CircuitMemory? { own.memory(at: now) }
    mutating func restore(_ memory: CircuitMemory, takenAt instant: MonotonicInstant) -> Bool {
        own.restore(memory, takenAt: instant)
    }

    var description: String { "\(own); \(rule)" }
}

/// The answer of a breaker's script.
struct BreakerAnswer: Sendable, Equatable {
    enum State: Int64 { case closed, open, probing }

    var state: State
    var wait: Duration
    var epoch: Int64
    var trips: Int
    var members: Int

    /// - Returns: nil if the answer is invalid.
    init?(_ words: [Int64]) {
        guard words.count == 5, let state = State(rawValue: words[0]), words[1] >= 0, words[2] >= 0, words[3] >= 0,
            words[4] >= 1
        else { return nil }
        self.state = state
        wait = .microseconds(words[1])
        (epoch, trips, members) = (words[2], Int(clamping: words[3]), Int(clamping: words[4]))
    }
}
