import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// All events of a circuit. The expected state is recomputed from them each time.
private struct CircuitHistory {
    enum Event {
        /// A call ended while the circuit was closed.
        case ended(Verdict)
        case tripped(until: MonotonicInstant, after: Int64)
        /// The break, or a round of probes, was ended by hand: the next call is a probe.
        case endedByHand
        case probeBegan(ticket: UInt64, at: MonotonicInstant)
        case probeEnded(ticket: UInt64, Verdict, at: MonotonicInstant)
        /// Enough probes succeeded, or the ramp after the probes has ended.
        case recovered
        case rampBegan(at: MonotonicInstant)
        /// A call came during the ramp, this long after its beginning.
        case rampAsked(after: Int64)
        case rampEnded(Verdict)
        case reset(keepingGrowth: Bool)
    }

    let limit: Int
    let lease: Int64
    let ramp: Int64
    var events: [Event] = []

    var state: CircuitState {
        for event in events.reversed() {
            switch event {
            case .tripped: return .open
            case .probeBegan, .rampBegan, .endedByHand: return .halfOpen
            case .recovered, .reset: return .closed
            case .ended, .probeEnded, .rampAsked, .rampEnded: continue
            }
        }
        return .closed
    }

    /// When the current ramp began; nil outside of a ramp.
    var rampStart: MonotonicInstant? {
        for event in events.reversed() {
            switch event {
            case .rampBegan(let start): return start
            case .tripped, .recovered, .reset: return nil
            default: continue
            }
        }
        return nil
    }

    /// The ramp's credit: each call adds the share at its time, and each admitted call takes one away.
    var rampCredit: Int64 {
        let start = events.lastIndex { if case .rampBegan = $0 { true } else { false } } ?? 0
        var credit: Int64 = 0
        for case .rampAsked(let elapsed) in events[start...] {
            credit += max(ramp / 10, elapsed)
            if credit >= ramp { credit -= ramp }
        }
        return credit
    }

    /// Failures in a row, since the last healthy answer.
    var failures: Int {
        var count = 0
        for event in events.reversed() {
            switch event {
            case .ended(.transient), .ended(.uncertain), .rampEnded(.transient), .rampEnded(.uncertain): count += 1
            case .ended(.success), .ended(.permanent), .reset, .rampBegan, .rampEnded(.success), .rampEnded(.permanent):
                return count
            // Failures from the ramp still count after it.
            case .recovered where ramp == 0: return count
            default: continue
            }
        }
        return count
    }

    var trips: Int {
        var count = 0
        for event in events.reversed() {
            switch event {
            case .tripped: count += 1
            case .ended(.success), .ended(.permanent), .recovered, .reset(keepingGrowth: false): return count
            default: continue
            }
        }
        return count
    }

    var openUntil: MonotonicInstant {
        for case .tripped(let until, _) in events.reversed() { return until }
        return .distantPast
    }

    /// The events of the current half-open period.
    private var trial: ArraySlice<Event> {
        let start = events.lastIndex { event in
            switch event {
            case .tripped, .endedByHand: true
            default: false
            }
        }
        return events[(start ?? 0)...]
    }

    /// The successful probes of the current half-open period.
    var successes: Int {
        trial.count { event in
            switch event {
            case .probeEnded(_, .success, _), .probeEnded(_, .permanent, _): true
            default: false
            }
        }
    }

    var failedProbes: Int {
        trial.count { event in
            switch event {
            case .probeEnded(_, .transient, _), .probeEnded(_, .uncertain, _): true
            default: false
            }
        }
    }

    /// The expected duration of a probe: the last conclusive probe's duration, or the last break if shorter.
    var expected: Int64 {
        var (took, breakLasts): (Int64?, Int64?)
        for event in events {
            switch event {
            case .tripped(_, let length): breakLasts = length > 0 ? length : nil
            case .probeEnded(let ticket, let verdict, let end) where verdict != .throttled && !verdict.saysNothing:
                for case .probeBegan(ticket, let start) in events {
                    took = Int64(clamping: Int128(end.nanoseconds) - Int128(start.nanoseconds))
                }
            default: continue
            }
        }
        return max(1_000_000, min(1_000_000_000, took ?? .max, breakLasts ?? .max))
    }

    struct Probe {
        let ticket: UInt64
        let began: MonotonicInstant
        let leaseEnds: MonotonicInstant
    }

    /// The probes whose ends still count: not ended, and not replaced after their lease.
    var probes: [Probe] {
        if rampStart != nil { return [] }
        var probes: [Probe] = []
        for event in trial {
            switch event {
            case .probeBegan(let ticket, let start):
                probes.removeAll { $0.leaseEnds <= start }
                let end = Int128(start.nanoseconds) + Int128(lease)
                let leaseEnds = MonotonicInstant(nanoseconds: Int64(clamping: end))
                probes.append(Probe(ticket: ticket, began: start, leaseEnds: leaseEnds))
            case .probeEnded(let ticket, _, _):
                probes.removeAll { $0.ticket == ticket }
            default: continue
            }
        }
        return probes
    }
}

/// A circuit compared with its whole history. Like a breaker, it delivers no stale ends.
private struct RecordedCircuit: ExplorableMachine {
    enum Input: Hashable {
        case admit
        case end(Int, Verdict)
        /// A probe whose end is never reported.
        case lose(Int)
        case wait(Int64)
        case reset(keepingGrowth: Bool)
        case endBreak
    }

    private(set) var machine: ThreeStateCircuit
    private var history: CircuitHistory
    private let openFor: GrowingBreak
    private let maxProbes: Int
    private let closing: ProbeRule
    private let excess: ThreeStateCircuit.Excess
    private let ramp: Int64
    private let waits: [Int64]
    private let maxOutside: Int
    /// Calls in flight that were admitted since the last change of state.
    private var outside: [UInt64] = []
    private var now: MonotonicInstant
    private var lastTicket: UInt64 = 0

    init(
        limit: Int, base: Int64 = 1, cap: Int64 = 2, probes: Int, closing: ProbeRule, lease: Int64 = 2,
        excess: ThreeStateCircuit.Excess = .rejected, ramp: Int64 = 0, start: Int64 = 0, waits: [Int64] = [1],
        outside: Int = 2
    ) {
        openFor = .exponential(from: .nanoseconds(base), maxMultiplier: 4, cap: .nanoseconds(cap))
        machine = ThreeStateCircuit(
            tripping: .consecutiveFailures(limit), openFor: openFor, probes: probes, closing: closing,
            probeLease: .nanoseconds(lease), excess: excess, ramp: .nanoseconds(ramp))
        history = CircuitHistory(limit: limit, lease: lease, ramp: ramp)
        self.excess = excess
        self.ramp = ramp
        maxProbes = probes
        self.closing = closing
        self.waits = waits
        maxOutside = outside
        now = MonotonicInstant(nanoseconds: start)
    }

    var inputs: [Input] {
        var inputs: [Input] = waits.map { .wait($0) }
        inputs += [.reset(keepingGrowth: true), .reset(keepingGrowth: false), .endBreak]
        if outside.count < maxOutside { inputs.append(.admit) }
        for (index, ticket) in outside.enumerated() {
            inputs += [.end(index, .success), .end(index, .transient), .end(index, .throttled)]
            // A breaker delivers cancelled and rejected ends to its circuit only if they end probes.
            if ticket > 0 { inputs += [.end(index, .cancelled), .end(index, .rejected), .lose(index)] }
        }
        return inputs
    }

    /// Trips beyond the sixth change nothing: the break has its longest duration.
    var identity: [Int64]? {
        let outsideNow: [Int64] = outside.map { ticket in
            ticket == 0 ? -1 : left(history.probes.first { $0.ticket == ticket }?.leaseEnds)
        }
        let probes: [Int64] = history.probes.flatMap { [place($0.ticket), left($0.leaseEnds)] }
        let inRamp: [Int64] = history.rampStart.map { start in [since(start), history.rampCredit] } ?? [-1]
        var model = [Int64(history.failures), Int64(min(history.trips, 6)), Int64(history.successes)]
        model.append(Int64(history.failedProbes))
        model += [history.state == .open ? left(history.openUntil) : -1, Int64(history.probes.count)]
        return [snapshot, model, inRamp, probes, outsideNow].reduce([]) { $0 + [-7] + $1 }
    }

    /// All of the machine's state, with times relative to now and tickets by their place among the calls in flight.
    private var snapshot: [Int64] {
        var values = [Int64(machine.status(at: now).failureCount), Int64(min(machine.trips, 6))]
        switch machine.phase {
        case .closed: values.append(-1)
        case .ramp(let start, let credit): values += [-4, since(start), credit]
        case .open(let until): values += [-2, left(until)]
        case .halfOpen(let round):
            values += [-3, Int64(round.successes), Int64(round.failures)]
            for probe in round.probes { values += [place(probe.ticket), left(probe.leaseEnds)] }
        }
        return values
    }

    private func left(_ instant: MonotonicInstant?) -> Int64 {
        guard let instant else { return -2 }
        return max(0, Int64(clamping: Int128(instant.nanoseconds) - Int128(now.nanoseconds)))
    }

    /// After the ramp's end it does not matter when it began.
    private func since(_ start: MonotonicInstant) -> Int64 {
        Int64(min(Int128(ramp), Int128(now.nanoseconds) - Int128(start.nanoseconds)))
    }

    private func place(_ ticket: UInt64) -> Int64 { Int64(outside.firstIndex(of: ticket) ?? -1) }

    mutating func apply(_ input: Input) throws {
        let before = history.state
        switch input {
        case .wait(let length):
            now = MonotonicInstant(nanoseconds: Int64(clamping: Int128(now.nanoseconds) + Int128(length)))
        case .reset(let keepingGrowth):
            machine.reset(keepingGrowth: keepingGrowth)
            history.events.append(.reset(keepingGrowth: keepingGrowth))
            outside = []
        case .endBreak:
            if let start = history.rampStart, since(start) >= ramp { history.events.append(.recovered) }
            let isShut = history.state == .open || history.state == .halfOpen && history.rampStart == nil
            try require(machine.endBreak(at: now), is: isShut, "whether a break was ended")
            if isShut {
                history.events.append(.endedByHand)
                outside = []
            }
        case .lose(let index):
            outside.remove(at: index)
        case .admit:
            let expected = expectedAdmission()
            try require(machine.admit(at: now), is: expected, "the admission")
            if case .allow(let ticket) = expected { outside.append(ticket) }
        case .end(let index, let verdict):
            let ticket = outside.remove(at: index)
            machine.record(verdict, ticket: ticket, at: now)
            ended(ticket, verdict)
        }
        // Calls admitted before a change of state are stale; the call that caused it is not.
        if history.state != before { outside = input == .admit ? outside.suffix(1) : [] }
        try check()
    }

    private mutating func expectedAdmission() -> CircuitAdmission {
        switch history.state {
        case .closed: return .allow(ticket: 0)
        case .open where now < history.openUntil: return .reject(retryAfter: .nanoseconds(left(history.openUntil)))
        case .open: break
        case .halfOpen:
            if let start = history.rampStart {
                guard since(start) < ramp else {
                    history.events.append(.recovered)
                    return .allow(ticket: 0)
                }
                let before = history.rampCredit
                history.events.append(.rampAsked(after: since(start)))
                let rest = Duration.nanoseconds(min(1_000_000_000, ramp - since(start)))
                return before + max(ramp / 10, since(start)) >= ramp ? .allow(ticket: 0) : .reject(retryAfter: rest)
            }
            let alive = history.probes.filter { now < $0.leaseEnds }
            let room = self.room
            if let next = alive.map(\.leaseEnds).min(), alive.count >= room {
                return switch excess {
                case .rejected: .reject(retryAfter: .nanoseconds(min(left(next), untilProbeEnds(alive[0]))))
                case .waits(let limit): .wait(upTo: limit, leaseEnds: next)
                }
            }
        }
        lastTicket += 1
        history.events.append(.probeBegan(ticket: lastTicket, at: now))
        return .allow(ticket: lastTicket)
    }

    /// If the probe is late, the wait for its end begins again.
    private func untilProbeEnds(_ probe: CircuitHistory.Probe) -> Int64 {
        let elapsed = Int128(now.nanoseconds) - Int128(probe.began.nanoseconds)
        return Int64(Int128(history.expected) - elapsed % Int128(history.expected))
    }

    private mutating func ended(_ ticket: UInt64, _ verdict: Verdict) {
        switch history.state {
        case .closed:
            history.events.append(.ended(verdict))
            if history.failures >= history.limit { trip() }
        case .open: break
        case .halfOpen where history.rampStart != nil:
            guard ticket == 0 else { return }
            history.events.append(.rampEnded(verdict))
            if verdict == .transient, history.failures >= history.limit { trip() }
        case .halfOpen:
            guard history.probes.contains(where: { $0.ticket == ticket }) else { return }
            history.events.append(.probeEnded(ticket: ticket, verdict, at: now))
            if history.failedProbes > closing.probes - closing.successes {
                trip()
            } else if history.successes >= closing.successes {
                history.events.append(ramp > 0 ? .rampBegan(at: now) : .recovered)
            }
        }
    }

    /// How many probes may be in flight, so that conclusive ends never exceed the round.
    private var room: Int { min(maxProbes, closing.probes - history.successes - history.failedProbes) }

    private mutating func trip() {
        var length = Int128(openFor.base.saturatedNanoseconds)
        for _ in 0..<min(history.trips, 2) { length *= 2 }
        length = min(length, Int128(openFor.cap.saturatedNanoseconds))
        history.events.append(
            .tripped(
                until: MonotonicInstant(nanoseconds: Int64(clamping: Int128(now.nanoseconds) + length)),
                after: Int64(length)))
    }

    private func check() throws {
        try require(machine.state, is: history.state, "the state")
        let isOver = history.state == .open && history.openUntil <= now
        let alive = history.probes.count { now < $0.leaseEnds }
        try require(alive <= maxProbes, "\(alive) probes are out")
        let inRamp = history.rampStart != nil
        let isAllowed = history.state == .open ? isOver : history.state == .closed || inRamp || alive < room
        let rampIsOver = history.rampStart.map { since($0) >= ramp } ?? false
        let isRound = isOver || history.state == .halfOpen && !inRamp
        let expected = CircuitBreakerStatus(
            state: isOver ? .halfOpen : rampIsOver ? .closed : history.state,
            failureCount: isRound ? isOver ? 0 : history.failedProbes : history.failures,
            failureLimit: isRound ? closing.failures : history.limit,
            callCount: isRound ? isOver ? 0 : history.failedProbes + history.successes : nil,
            timeRemaining: history.state == .open && !isOver ? .nanoseconds(left(history.openUntil)) : nil,
            isAllowed: isAllowed)
        try require(machine.status(at: now), is: expected, "the status")

        // The next call must get the answer that the status shows.
        var asked = machine
        switch asked.admit(at: now) {
        case .allow(let ticket):
            try require(isAllowed && (ticket == 0 || ticket > lastTicket), "let in, or under a ticket used before")
        case .reject(let retryAfter):
            try require(
                (inRamp || !isAllowed) && (retryAfter ?? .zero) > .zero,
                "rejected, to come back after \(retryAfter ?? .zero)")
            try require(history.state != .open || retryAfter == expected.timeRemaining, "the rejection's wait")
        case .wait(_, let leaseEnds):
            try require(!isAllowed && leaseEnds > now, "to wait for a probe until \(leaseEnds)")
        }

        // A closed circuit is at rest only if a success would change nothing.
        try require(
            machine.isAtRest, is: history.state == .closed && history.failures == 0 && history.trips == 0, "at rest")
        if history.state == .closed {
            var well = self
            _ = well.machine.admit(at: now)
            well.machine.record(.success, ticket: 0, at: now)
            try require(
                (well.snapshot == snapshot) == machine.isAtRest, "a success at rest changes something, or nothing else")
        }
    }
}

@Suite(.heavy) struct ThreeStateCircuitExplorationTests {
    @Test(
        "in every reachable state, a circuit matches its whole history",
        arguments: [
            (1, 1, .successes(1)), (2, 1, .successes(1)), (1, 1, .successes(2)), (1, 2, .successes(1, of: 2)),
            (1, 1, .successes(2, of: 3)), (1, 2, .failureRatio(0.5, of: 2)),
        ] as [(Int, Int, ProbeRule)])
    func complete(limit: Int, probes: Int, closing: ProbeRule) throws {
        let explorer = Explorer(
            RecordedCircuit(limit: limit, probes: probes, closing: closing),
            code: "RecordedCircuit(limit: \(limit), probes: \(probes), closing: \(closing))")
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && exploration.transitions > 1_000, "\(exploration)")
    }

    @Test("in every reachable state, a circuit with a ramp matches its whole history", arguments: [1, 2])
    func ramp(limit: Int) throws {
        let explorer = Explorer(
            RecordedCircuit(limit: limit, probes: 1, closing: .successes(1), ramp: 3),
            code: "RecordedCircuit(limit: \(limit), probes: 1, closing: .successes(1), ramp: 3)")
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && exploration.transitions > 1_000, "\(exploration)")
        let long = Explorer(
            RecordedCircuit(limit: 2, probes: 2, closing: .successes(2), ramp: 25, waits: [1, 7], outside: 4),
            code: "RecordedCircuit(limit: 2, probes: 2, closing: .successes(2), ramp: 25, waits: [1, 7], outside: 4)")
        #expect(try long.explore(transitionsPerEffort: 10_000).transitions >= 10_000)
        try long.exploreRandomly(length: 2_000, seed: 8)
    }

    @Test("in every reachable state, a circuit whose excess calls wait matches its whole history")
    func waits() throws {
        let explorer = Explorer(
            RecordedCircuit(limit: 1, probes: 2, closing: .successes(1, of: 2), excess: .waits(upTo: .seconds(1))),
            code:
                "RecordedCircuit(limit: 1, probes: 2, closing: .successes(1, of: 2), excess: .waits(upTo: .seconds(1)))"
        )
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && exploration.transitions > 1_000, "\(exploration)")
    }

    @Test("as far as the effort allows, a circuit with several probes and longer times matches its whole history")
    func far() throws {
        let explorer = Explorer(
            RecordedCircuit(limit: 3, base: 3, cap: 11, probes: 3, closing: .successes(3, of: 4), lease: 5, outside: 5),
            code:
                "RecordedCircuit(limit: 3, base: 3, cap: 11, probes: 3, closing: .successes(3, of: 4), lease: 5, outside: 5)"
        )
        #expect(try explorer.explore(transitionsPerEffort: 10_000).transitions >= 10_000)
    }

    @Test(
        "over thousands of inputs, and at the ends of time, a circuit matches its whole history",
        arguments: [(0, 1_000), (.min, .max / 4), (.max - 50, 7), (.max, 1)] as [(Int64, Int64)])
    func walks(start: Int64, wait: Int64) throws {
        let explorer = Explorer(
            RecordedCircuit(
                limit: 2, base: wait, cap: .max, probes: 2, closing: .successes(2), lease: 1 + wait / 2, start: start,
                waits: [0, 1, wait], outside: 9),
            code: "RecordedCircuit(start: \(start), wait: \(wait))")
        try explorer.exploreRandomly(length: 3_000, seed: 2)
    }
}
