import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// Everything a bucket gave out. What is in it is worked out from that anew each time, in whole nanoseconds: a call costs
/// as many as one interval has, and one nanosecond flows in each nanosecond.
private struct BucketHistory {
    enum Event {
        case taken(at: Instant, cost: Int)
        /// A good probe: one call's share is left, whatever there was.
        case emptied(at: Instant)

        var instant: Instant {
            switch self {
            case .taken(let instant, _), .emptied(let instant): instant
            }
        }
    }

    let interval: Int128
    let burst: Int
    var events: [Event] = []

    var capacity: Int128 { interval * Int128(burst) }

    func price(_ cost: Int) -> Int128 { interval * Int128(cost) }

    func level(at now: Instant) -> Int128 {
        var level = capacity
        var filledAt = (events.first?.instant ?? now).nanoseconds
        func fill(until instant: Instant) {
            level = min(capacity, level + Int128(instant.nanoseconds) - Int128(filledAt))
            filledAt = instant.nanoseconds
        }
        for event in events {
            fill(until: event.instant)
            switch event {
            case .taken(_, let cost): level -= price(cost)
            case .emptied: level = min(level, interval)
            }
        }
        fill(until: now)
        return level
    }

    /// When a call that asks at `since` may go, if nobody asks before it.
    func turn(of cost: Int, since: Instant) -> Int128 {
        let start = max(since, events.last?.instant ?? since)
        return Int128(start.nanoseconds) + max(0, price(cost) - level(at: start))
    }
}

/// A throttle beside its whole history: what its bucket gave out, and how its gate was shut and tried.
private struct RecordedThrottle: ExplorableMachine {
    enum Input: Hashable {
        case wait(Int64)
        case ask(cost: Int)
        /// A call that may not go gets in line, or one of the line gives up.
        case join(cost: Int)
        case leave(Int)
        /// Those of the line go who may.
        case admit
        /// A call that was let in asks for fewer calls, ends well, or nobody knows how. Or is never heard of again.
        case throttled(Int, hold: Int64)
        case ended(Int, decided: Bool)
        case lose(Int)
        case hold(Int64)
        case endHold
    }

    private enum GateEvent {
        case held(until: Instant)
        case endedHold(at: Instant)
        case probeBegan(Int, at: Instant)
        case probeEnded(Int, decided: Bool, at: Instant)
    }

    private struct Member {
        let ticket: UInt64
        let cost: Int
        let since: Instant
    }

    private struct Call {
        let epoch: UInt64
        /// 0 if it is no probe.
        let probe: Int
        /// How many events of the gate there had been.
        let since: Int
    }

    private(set) var machine: ThrottleStateMachine
    private let rate: Rate?
    private let waits: [Int64]
    private let costs: [Int]
    private let holds: [Int64]
    private let maxOutside: Int
    private let maxInLine: Int
    private var bucket: BucketHistory
    private var line: [Member] = []
    /// When the gate was opened last.
    private var opened = Instant.distantPast
    private var gateEvents: [GateEvent] = []
    private var calls: [Call] = []
    private var probes = 0
    private var now: Instant
    /// When each call that cost something may go at the earliest, in the order they were admitted.
    private var admitted: [(at: Int128, cost: Int)] = []

    init(
        rate: Rate?, burst: Int, costs: [Int] = [1], holds: [Int64] = [], start: Int64 = 0, waits: [Int64] = [1],
        outside: Int = 2, inLine: Int = 2
    ) {
        machine = ThrottleStateMachine(rate: rate, burst: burst)
        var interval: Int128 = 0
        if let rate {
            let period = Int128(rate.period.saturatedNanoseconds)
            interval = (period + Int128(rate.calls) - 1) / Int128(rate.calls)
        }
        bucket = BucketHistory(interval: min(interval, Int128(Int64.max / 2 / Int64(burst))), burst: burst)
        self.rate = rate
        self.costs = costs
        self.holds = holds
        self.waits = waits
        maxOutside = outside
        maxInLine = inLine
        now = Instant(nanoseconds: start)
    }

    var inputs: [Input] {
        var inputs: [Input] = waits.map { .wait($0) }
        for cost in costs where isSettled {
            // What is let in through a gate is out until it ends.
            if holds.isEmpty || calls.count < maxOutside { inputs.append(.ask(cost: cost)) }
            if line.count < maxInLine, mayJoin(cost) { inputs.append(.join(cost: cost)) }
        }
        if !line.isEmpty, holds.isEmpty || calls.count < maxOutside { inputs.append(.admit) }
        for index in line.indices { inputs.append(.leave(index)) }
        for index in calls.indices {
            inputs += [.ended(index, decided: true), .ended(index, decided: false), .lose(index)]
            inputs += holds.map { .throttled(index, hold: $0) }
        }
        inputs += holds.map { .hold($0) }
        if !holds.isEmpty { inputs.append(.endHold) }
        return inputs
    }

    /// A bucket that has been full for long is as one that has just become so; from the third hold on only the number differs.
    var identity: [Int64]? {
        var values = [Int64(machine.available(at: now)), Int64(bucket.level(at: now))]
        for member in line { values += [Int64(member.cost), left(bucket.turn(of: member.cost, since: since(member)))] }
        if let head = machine.head { values.append(left(head.answer.instant)) }
        values += [-7, Int64(min(machine.holds, 3)), Int64(min(holdsInARow, 3))]
        for gate in [machine.gate, gate] {
            switch gate {
            case .open: values.append(-1)
            case .held(let until): values += [-2, left(until)]
            case .probing(let leaseEnds): values += [-3, left(leaseEnds)]
            }
        }
        for call in calls {
            values += [call.epoch == machine.epoch ? 1 : 0, isCurrent(call) ? 1 : 0, call.probe > 0 ? 1 : 0]
        }
        return values
    }

    private func since(_ member: Member) -> Instant { max(member.since, opened) }

    private func left(_ instant: Int128) -> Int64 { left(Instant(nanoseconds: Int64(clamping: instant))) }

    private func left(_ instant: Instant) -> Int64 {
        max(0, Int64(clamping: Int128(instant.nanoseconds) - Int128(now.nanoseconds)))
    }

    private func later(_ length: Int64) -> Instant {
        Instant(nanoseconds: Int64(clamping: Int128(now.nanoseconds) + Int128(length)))
    }

    // MARK: The gate's rules

    /// The events since the last good probe. None of them is a hold if the gate is open.
    private var trouble: ArraySlice<GateEvent> {
        let good = gateEvents.lastIndex { if case .probeEnded(_, decided: true, _) = $0 { true } else { false } }
        return gateEvents[(good.map { $0 + 1 } ?? 0)...]
    }

    /// The probe that is waited for: the last that began, unless it ended or a hold has come since.
    private var presentProbe: (number: Int, began: Instant)? {
        for event in trouble.reversed() {
            switch event {
            case .probeBegan(let number, let start): return (number, start)
            case .held, .probeEnded: return nil
            case .endedHold: continue
            }
        }
        return nil
    }

    private var gate: ThrottleStateMachine.Gate {
        if let presentProbe {
            return .probing(leaseEnds: presentProbe.began + ThrottleStateMachine.probeLease)
        }
        var heldUntil: Instant?
        for event in trouble {
            switch event {
            case .held(let until): heldUntil = max(heldUntil ?? until, until)
            case .endedHold(let end): heldUntil = heldUntil.map { min($0, end) }
            case .probeBegan: heldUntil = nil
            case .probeEnded(_, _, let end): heldUntil = end
            }
        }
        return heldUntil.map { .held(until: $0) } ?? .open
    }

    /// Where the gate was shut: by a hold that did not come while it was held already.
    private func shuttings(_ events: ArraySlice<GateEvent>) -> [Int] {
        var isHeld = false
        var shuttings: [Int] = []
        for index in events.indices {
            switch events[index] {
            case .held:
                if !isHeld { shuttings.append(index) }
                isHeld = true
            case .probeBegan, .probeEnded(_, decided: true, _): isHeld = false
            case .probeEnded(_, decided: false, _): isHeld = true
            case .endedHold: continue
            }
        }
        return shuttings
    }

    private var holdsInARow: Int { shuttings(trouble).count }

    /// Whether nothing has become of the gate since the call was let in: for a probe, that it is the one waited for.
    private func isCurrent(_ call: Call) -> Bool {
        if call.probe > 0 { return presentProbe?.number == call.probe }
        return !shuttings(gateEvents[...]).contains { $0 >= call.since }
    }

    /// Whether a 429 of this call holds the gate.
    private func isMinded(_ call: Call) -> Bool {
        switch gate {
        case .held: true
        case .probing: call.probe > 0 && isCurrent(call)
        // A probe that ended well or was given up is news of an earlier state; one that was let in since is not.
        case .open: call.probe == 0 && isCurrent(call)
        }
    }

    // MARK: The bucket's rules

    private func expectedAnswer(_ cost: Int) -> ThrottleStateMachine.Answer {
        if bucket.price(cost) > bucket.capacity { return .never }
        switch gate {
        case .held(let until): return until <= now && line.isEmpty ? .probe : .held(until: until)
        case .probing(let leaseEnds): return leaseEnds <= now && line.isEmpty ? .probe : .probing(until: leaseEnds)
        case .open: break
        }
        if cost == 0 { return .go }
        // Behind the line it goes after all of it.
        var (behind, turn) = (bucket, bucket.turn(of: cost, since: now))
        if line.isEmpty, turn <= now.nanoseconds { return .go }
        for member in line {
            let turn = Instant(nanoseconds: Int64(clamping: behind.turn(of: member.cost, since: since(member))))
            behind.events.append(.taken(at: turn, cost: member.cost))
        }
        if !line.isEmpty { turn = behind.turn(of: cost, since: since(line[0])) }
        return .notBefore(Instant(nanoseconds: Int64(clamping: turn)))
    }

    /// What the first of the line is told.
    private func answer(to head: Member) -> ThrottleStateMachine.Answer {
        switch gate {
        case .held(let until): return until <= now ? .probe : .held(until: until)
        case .probing(let leaseEnds): return leaseEnds <= now ? .probe : .probing(until: leaseEnds)
        case .open: break
        }
        let turn = Instant(nanoseconds: Int64(clamping: bucket.turn(of: head.cost, since: since(head))))
        return head.cost == 0 || turn <= now ? .go : .notBefore(turn)
    }

    /// Whether nobody in line could have gone already. One that asks in between is told a turn that is too early by as
    /// much as those ahead of it are late.
    private var isSettled: Bool {
        switch line.first.map(answer(to:)) {
        case .go, .pace, .probe: false
        case .notBefore, .held, .probing, .never, nil: true
        }
    }

    private func mayJoin(_ cost: Int) -> Bool {
        switch expectedAnswer(cost) {
        case .notBefore, .held, .probing: true
        case .go, .pace, .probe, .never: false
        }
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .wait(let length):
            now = later(length)
        case .ask(let cost):
            try ask(cost)
        case .join(let cost):
            line.append(Member(ticket: machine.join(cost: cost, at: now), cost: cost, since: now))
        case .leave(let index):
            try require(machine.leave(line.remove(at: index).ticket), "one of the line is not in it")
        case .admit:
            try admit()
        case .lose(let index):
            calls.remove(at: index)
        case .hold(let length):
            hold(length)
        case .endHold:
            machine.endHold(at: now)
            if case .held = gate { gateEvents.append(.endedHold(at: now)) }
        case .throttled(let index, let length):
            let call = calls.remove(at: index)
            let minds = machine.minds(throttledInEpoch: call.epoch, wasProbe: call.probe > 0)
            try require(minds, is: isMinded(call), "whether a 429 is minded")
            if minds { hold(length) }
        case .ended(let index, let decided):
            let call = calls.remove(at: index)
            guard call.probe > 0 else { return }
            machine.probeEnded(decided: decided, inEpoch: call.epoch, at: now)
            guard isCurrent(call) else { break }
            gateEvents.append(.probeEnded(call.probe, decided: decided, at: now))
            if decided {
                bucket.events.append(.emptied(at: now))
                opened = now
            }
        }
        try check()
    }

    private mutating func ask(_ cost: Int) throws {
        let answer = expectedAnswer(cost)
        let before = machine
        try require(machine.ask(cost: cost, at: now), is: answer)
        switch answer {
        case .go:
            take(cost, at: now)
        case .probe:
            probes += 1
            gateEvents.append(.probeBegan(probes, at: now))
        case .pace:
            throw BrokenInvariant("a slow start without a ramp")
        case .notBefore, .held, .probing, .never:
            try require(machine.available(at: now), is: before.available(at: now), "what is free after a refusal")
            return
        }
        if !holds.isEmpty {
            calls.append(
                Call(epoch: machine.epoch, probe: answer == .probe ? probes : 0, since: gateEvents.count))
        }
    }

    private mutating func take(_ cost: Int, at instant: Instant) {
        guard cost > 0 else { return }
        bucket.events.append(.taken(at: instant, cost: cost))
        admitted.append((Int128(instant.nanoseconds), cost))
    }

    /// One after the other, in the order they came, each as of its turn.
    private mutating func admit() throws {
        while let head = line.first {
            let answer = answer(to: head)
            if answer == .go {
                let turn = Instant(nanoseconds: Int64(clamping: bucket.turn(of: head.cost, since: since(head))))
                take(head.cost, at: turn)
            }
            let next = machine.admitNext(at: now)
            guard answer == .go || answer == .probe else {
                try require(next == nil, "let in before its turn")
                try require(machine.head?.answer, is: answer, "what the first of the line is told")
                return
            }
            line.removeFirst()
            try require(next?.answer, is: answer, "how the first of the line is let in")
            try require(next?.ticket, is: head.ticket, "who is let in")
            if answer == .probe {
                probes += 1
                gateEvents.append(.probeBegan(probes, at: now))
            }
            if !holds.isEmpty {
                calls.append(
                    Call(epoch: machine.epoch, probe: answer == .probe ? probes : 0, since: gateEvents.count))
            }
        }
        try require(machine.admitNext(at: now) == nil, "somebody let in who is not in line")
    }

    private mutating func hold(_ length: Int64) {
        machine.hold(until: later(length))
        gateEvents.append(.held(until: later(length)))
    }

    private func check() throws {
        try require(machine.gate, is: gate, "the gate")
        try require(machine.holds, is: holdsInARow, "the holds in a row")
        let isHeld = if case .held = gate { true } else { false }
        try require(machine.holdsBefore, is: max(0, holdsInARow - (isHeld ? 1 : 0)), "the holds before")
        if let rate, gateEvents.isEmpty { try checkWindows(of: rate) }

        try require(machine.line.count, is: line.count, "who waits")
        try require(machine.line.cost, is: line.map(\.cost).reduce(0, +), "what those who wait cost")

        guard isSettled else { return }
        // At the instant that an answer names the call is let in, behind all that wait now, and not a nanosecond before.
        for cost in costs {
            var asked = machine
            guard case .notBefore(let instant) = asked.ask(cost: cost, at: now), instant < .distantFuture else {
                continue
            }
            let ticket = asked.join(cost: cost, at: now)
            var early = asked
            if instant > now {
                while let next = early.admitNext(at: Instant(nanoseconds: instant.nanoseconds - 1)) {
                    try require(next.ticket != ticket, "let in before the instant that was named")
                }
            }
            var last: UInt64?
            while let next = asked.admitNext(at: instant) { last = next.ticket }
            try require(last, is: ticket, "who is let in last at the instant that was named")
        }
    }

    /// In no window that ends with the last call admitted were there more than the burst and what the rate allows in it.
    /// Exact: in calls times nanoseconds, the interval's rounding left out.
    private func checkWindows(of rate: Rate) throws {
        // An interval of centuries is cut short.
        guard let last = admitted.last, bucket.interval * Int128(rate.calls) >= Int128(rate.period.saturatedNanoseconds)
        else { return }
        let (calls, period) = (Int128(rate.calls), Int128(rate.period.saturatedNanoseconds))
        var count: Int128 = 0
        for (instant, cost) in admitted.reversed() {
            count += Int128(cost)
            let (allowed, overflows) = (last.at - instant).multipliedReportingOverflow(by: calls)
            if overflows { return }
            try require((count - Int128(bucket.burst)) * period <= allowed, "\(count) calls in \(last.at - instant) ns")
        }
    }
}

@Suite struct ThrottleExplorationTests {
    @Test(
        "in every state it can be in, a rate lets in what an exact bucket does, and names the very instant",
        arguments: [(1, 1, 1), (1, 4, 2), (3, 7, 2), (2, 5, 2), (3, 10, 1)])
    func rate(calls: Int, period: Int64, burst: Int) throws {
        let rate = Rate(calls, per: .nanoseconds(period))
        let explorer = Explorer(
            RecordedThrottle(rate: rate, burst: burst, costs: Array(0...(burst + 1))),
            code: "RecordedThrottle(rate: \(rate), burst: \(burst), costs: Array(0...\(burst + 1)))")
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && exploration.transitions >= 30, "\(exploration)")
    }

    @Test(
        "in every state it can be in, a gate does what its whole history says: one probe at a time, nothing late counts"
    )
    func gate() throws {
        let tick: Int64 = 30_000_000_000
        for rate in [nil, Rate(1, per: .nanoseconds(tick))] {
            let explorer = Explorer(
                RecordedThrottle(rate: rate, burst: 2, holds: [0, tick], waits: [tick], inLine: 1),
                code: "RecordedThrottle(rate: \(rate.debugDescription), burst: 2, holds: [0, tick], waits: [tick])")
            let exploration = try explorer.explore()
            #expect(exploration.isComplete && exploration.transitions > 900, "\(exploration)")
        }
    }

    @Test("as far as the effort goes, larger rates and gates do what their whole history says")
    func far() throws {
        let rate = Explorer(
            RecordedThrottle(
                rate: Rate(3, per: .nanoseconds(100)), burst: 9, costs: [0, 1, 2, 9], waits: [1, 8], inLine: 3),
            code: "RecordedThrottle(rate: 3 per 100 ns, burst: 9, costs: [0, 1, 2, 9], waits: [1, 8], inLine: 3)")
        #expect(try rate.explore(transitionsPerEffort: 8_000).transitions >= 8_000)
        let tick: Int64 = 10_000_000_000
        let gate = Explorer(
            RecordedThrottle(
                rate: Rate(3, per: .nanoseconds(tick)), burst: 4, holds: [0, 2 * tick, -1], waits: [tick], outside: 4),
            code: "RecordedThrottle(rate: 3 per tick, burst: 4, holds: [0, 2 * tick, -1], waits: [tick], outside: 4)")
        #expect(try gate.explore(transitionsPerEffort: 8_000).transitions >= 8_000)
    }

    /// Those in line for a rate of once in an eternity would go beyond the end of time.
    @Test(
        "through thousands of calls a rate lets in what an exact bucket does, whatever its size",
        arguments: [
            (.perSecond(3), 9), (.perSecond(999), 9), (.perMinute(7), 9), (Rate(.max, per: .nanoseconds(1)), 9),
            (Rate(1, per: .seconds(Int64.max)), 0),
        ] as [(Rate, Int)])
    func rates(rate: Rate, outside: Int) throws {
        let step = min(rate.period.saturatedNanoseconds / Int64(rate.calls), 1 << 50)
        for start in [0, Int64.min] {
            let explorer = Explorer(
                RecordedThrottle(
                    rate: rate, burst: 5, costs: [0, 1, 3, 6], start: start, waits: [0, 1, step], inLine: outside),
                code:
                    "RecordedThrottle(rate: \(rate), burst: 5, costs: [0, 1, 3, 6], start: \(start), inLine: \(outside))"
            )
            try explorer.exploreRandomly(length: 500, seed: 6)
        }
    }

    @Test(
        "through thousands of inputs, and at the ends of time, a gate does what its whole history says",
        arguments: [(0, 7_000_000_000), (.min, .max / 4), (.max - 50, 7), (.max, 1)] as [(Int64, Int64)])
    func gates(start: Int64, wait: Int64) throws {
        let explorer = Explorer(
            RecordedThrottle(
                rate: nil, burst: 1, holds: [.min, 0, 1, wait], start: start, waits: [0, 1, wait], outside: 5),
            code:
                "RecordedThrottle(rate: nil, burst: 1, holds: [.min, 0, 1, \(wait)], start: \(start), waits: [0, 1, \(wait)])"
        )
        try explorer.exploreRandomly(length: 1_500, seed: 7)
    }
}
