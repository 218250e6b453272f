import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// A throttle compared with its whole history: the calls its bucket admitted, and its gate's holds and probes.
private struct RecordedThrottle: ExplorableMachine {
    enum Input: Hashable {
        case wait(Int64)
        case ask(cost: Int)
        /// A call that may not go joins the line, or a call in line gives up.
        case join(cost: Int)
        case leave(Int)
        /// A call in line asks again.
        case come(Int)
        /// An admitted call gets a 429, ends well, or ends inconclusively; or its end is never reported.
        case throttled(Int, hold: Int64)
        case ended(Int, decided: Bool)
        case lose(Int)
        case hold(Int64)
        case endHold
    }

    private enum GateEvent {
        case held(until: MonotonicInstant)
        case endedHold(at: MonotonicInstant)
        case probeBegan(Int, at: MonotonicInstant)
        case probeEnded(Int, decided: Bool, at: MonotonicInstant)
    }

    private struct Member {
        let ticket: UInt64
        let cost: Int
        /// Whether the line waited for the call at its turn, but the call did not come.
        var isAside = false
    }

    private struct Call {
        let generation: UInt64
        /// 0 if the call is not a probe.
        let probe: Int
        /// The number of gate events before the call.
        let since: Int
    }

    private(set) var machine: ThrottleStateMachine
    private let rate: ThrottleRate?
    private let waits: [Int64]
    private let costs: [Int]
    private let holds: [Int64]
    private let maxOutside: Int
    private let maxInLine: Int
    private var bucket: BucketHistory
    private var line: [Member] = []
    /// The call that did not come at its turn, and since when its absence is known.
    private var absent: (ticket: UInt64, since: MonotonicInstant)?
    private var gateEvents: [GateEvent] = []
    private var calls: [Call] = []
    private var probes = 0
    private var now: MonotonicInstant
    /// When each call with a cost went, in order.
    private var admitted: [(at: Int128, cost: Int)] = []

    init(
        rate: ThrottleRate?, burst: Int, costs: [Int] = [1], holds: [Int64] = [], start: Int64 = 0,
        waits: [Int64] = [1],
        outside: Int = 2, inLine: Int = 2
    ) {
        machine = ThrottleStateMachine(rate: rate, burst: burst)
        bucket = BucketHistory(rate, burst: burst)
        self.rate = rate
        self.costs = costs
        self.holds = holds
        self.waits = waits
        maxOutside = outside
        maxInLine = inLine
        now = MonotonicInstant(nanoseconds: start)
    }

    var inputs: [Input] {
        var inputs: [Input] = waits.map { .wait($0) }
        for cost in costs {
            // A call admitted through a gate is in flight until it ends.
            if holds.isEmpty || calls.count < maxOutside { inputs.append(.ask(cost: cost)) }
            if line.count < maxInLine, mayJoin(cost) { inputs.append(.join(cost: cost)) }
        }
        for index in line.indices {
            inputs.append(.leave(index))
            if holds.isEmpty || calls.count < maxOutside { inputs.append(.come(index)) }
        }
        for index in calls.indices {
            inputs += [.ended(index, decided: true), .ended(index, decided: false), .lose(index)]
            inputs += holds.map { .throttled(index, hold: $0) }
        }
        inputs += holds.map { .hold($0) }
        if !holds.isEmpty { inputs.append(.endHold) }
        return inputs
    }

    /// How long a bucket has been full does not matter; from the third hold on only the number differs.
    var identity: [Int64]? {
        var values = [Int64(machine.available(at: now)), Int64(bucket.level(at: now))]
        for member in line { values += [Int64(member.cost), member.isAside ? 1 : 0] }
        if let absent { values += [left(absent.since + ThrottleStateMachine.absence), place(of: absent.ticket)] }
        if let head = machine.head { values += [-6, place(of: head.ticket)] }
        values += [-7, Int64(min(machine.holds, 3)), Int64(min(holdsInARow, 3))]
        for gate in [machine.gate, gate] {
            switch gate {
            case .open: values.append(-1)
            case .held(let until): values += [-2, left(until)]
            case .probing(let leaseEnds): values += [-3, left(leaseEnds)]
            }
        }
        for call in calls {
            values += [call.generation == machine.generation ? 1 : 0, isCurrent(call) ? 1 : 0, call.probe > 0 ? 1 : 0]
        }
        return values
    }

    private func place(of ticket: UInt64) -> Int64 { Int64(line.firstIndex { $0.ticket == ticket } ?? -1) }

    private func left(_ instant: Int128) -> Int64 { left(MonotonicInstant(nanoseconds: Int64(clamping: instant))) }

    private func left(_ instant: MonotonicInstant) -> Int64 {
        max(0, Int64(clamping: Int128(instant.nanoseconds) - Int128(now.nanoseconds)))
    }

    private func later(_ length: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: Int64(clamping: Int128(now.nanoseconds) + Int128(length)))
    }

    // MARK: The gate's rules

    /// The events since the last good probe. If the gate is open, none of them is a hold.
    private var trouble: ArraySlice<GateEvent> {
        let good = gateEvents.lastIndex { if case .probeEnded(_, decided: true, _) = $0 { true } else { false } }
        return gateEvents[(good.map { $0 + 1 } ?? 0)...]
    }

    /// The probe in flight: the last that began, unless it has ended or a hold has come since.
    private var presentProbe: (number: Int, began: MonotonicInstant)? {
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
        var heldUntil: MonotonicInstant?
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

    /// The holds that shut the gate, without holds during a hold.
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

    /// Whether the gate has not changed since the call was admitted; for a probe, whether it is the probe in flight.
    private func isCurrent(_ call: Call) -> Bool {
        if call.probe > 0 { return presentProbe?.number == call.probe }
        return !shuttings(gateEvents[...]).contains { $0 >= call.since }
    }

    /// Whether a 429 of this call holds the gate.
    private func isMinded(_ call: Call) -> Bool {
        switch gate {
        case .held: true
        case .probing: call.probe > 0 && isCurrent(call)
        // A probe that ended well or lost its place belongs to an earlier state; a call admitted since then does not.
        case .open: call.probe == 0 && isCurrent(call)
        }
    }

    // MARK: The bucket's rules

    /// The calls that the line waits for.
    private var present: [Member] { line.filter { !$0.isAside } }

    private func expectedAnswer(_ cost: Int) -> ThrottleStateMachine.Answer {
        let isFree = present.isEmpty
        if bucket.price(cost) > bucket.capacity { return .never }
        switch gate {
        case .held(let until): return until <= now && isFree ? .probe : .held(until: until)
        case .probing(let leaseEnds): return leaseEnds <= now && isFree ? .probe : .probing(until: leaseEnds)
        case .open: break
        }
        if cost == 0 { return .go }
        if isFree, bucket.turn(of: cost, at: now) <= now.nanoseconds { return .go }
        return .notBefore(turn(of: cost, behind: present.map(\.cost)))
    }

    /// The turn if each call ahead goes as soon as it can.
    private func turn(of cost: Int, behind: [Int]) -> MonotonicInstant {
        let all = behind.reduce(cost, +)
        let missing = max(0, bucket.price(all) - bucket.level(at: now))
        return MonotonicInstant(nanoseconds: Int64(clamping: bucket.turn(missing, from: now)))
    }

    /// The answer to a call in line that is the head.
    private func answer(to head: Member) -> ThrottleStateMachine.Answer {
        switch gate {
        case .held(let until): return until <= now ? .probe : .held(until: until)
        case .probing(let leaseEnds): return leaseEnds <= now ? .probe : .probing(until: leaseEnds)
        case .open: break
        }
        let turn = MonotonicInstant(nanoseconds: Int64(clamping: bucket.turn(of: head.cost, at: now)))
        return head.cost == 0 || turn <= now ? .go : .notBefore(turn)
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
            line.append(Member(ticket: machine.join(cost: cost, at: now), cost: cost))
        case .leave(let index):
            try require(machine.leave(line.remove(at: index).ticket), "one of the line is not in it")
        case .come(let index):
            try come(index)
        case .lose(let index):
            calls.remove(at: index)
        case .hold(let length):
            hold(length)
        case .endHold:
            machine.endHold(at: now)
            if case .held = gate { gateEvents.append(.endedHold(at: now)) }
        case .throttled(let index, let length):
            let call = calls.remove(at: index)
            let minds = machine.minds(throttledInGeneration: call.generation, wasProbe: call.probe > 0)
            try require(minds, is: isMinded(call), "whether a 429 is minded")
            if minds { hold(length) }
        case .ended(let index, let decided):
            let call = calls.remove(at: index)
            guard call.probe > 0 else { return }
            machine.probeEnded(decided: decided, inGeneration: call.generation, at: now)
            guard isCurrent(call) else { break }
            gateEvents.append(.probeEnded(call.probe, decided: decided, at: now))
            if decided {
                bucket.events.append(.emptied(at: now))
            }
        }
        try check()
    }

    private mutating func ask(_ cost: Int) throws {
        if bucket.price(cost) <= bucket.capacity { passAbsent(before: line.count) }
        let answer = expectedAnswer(cost)
        try require(machine.ask(cost: cost, at: now), is: answer)
        try went(answer, cost)
    }

    private mutating func went(_ answer: ThrottleStateMachine.Answer, _ cost: Int) throws {
        switch answer {
        case .go:
            take(cost, at: now)
        case .probe:
            probes += 1
            gateEvents.append(.probeBegan(probes, at: now))
        case .pace:
            throw BrokenInvariant("a slow start without a ramp")
        case .notBefore, .held, .probing, .never:
            return
        }
        if !holds.isEmpty {
            calls.append(
                Call(generation: machine.generation, probe: answer == .probe ? probes : 0, since: gateEvents.count))
        }
    }

    private mutating func take(_ cost: Int, at instant: MonotonicInstant) {
        guard cost > 0 else { return }
        bucket.events.append(.taken(at: instant, cost: cost))
        admitted.append((Int128(instant.nanoseconds), cost))
    }

    /// A call in line asks again: it goes if all calls ahead are known to be absent for long enough.
    private mutating func come(_ index: Int) throws {
        line[index].isAside = false
        if absent?.ticket == line[index].ticket { absent = nil }
        passAbsent(before: index)
        let isFirst = line.firstIndex { !$0.isAside } == index
        let member = line[index]
        let answer = machine.askAgain(member.ticket, at: now)
        guard isFirst else {
            try require(!answer.lets, "it goes though one ahead of it is waited for")
            let again = machine.asksAgain(member.ticket, told: answer)
            return try require(again > now || now == .distantFuture, "it is to ask again at once")
        }
        try require(answer, is: self.answer(to: member), "what the first of those who are here is told")
        if answer.lets {
            line.remove(at: index)
            try went(answer, member.cost)
        }
    }

    /// A call absent for 100 ms is passed over; the wait for a newly absent call begins now.
    private mutating func passAbsent(before index: Int) {
        while let first = line.firstIndex(where: { !$0.isAside }), first < index {
            guard isDue(line[first]) else {
                absent = nil
                return
            }
            let known = absent.flatMap { $0.ticket == line[first].ticket ? $0.since : nil }
            absent = (line[first].ticket, known ?? now)
            guard let known, Int128(now.nanoseconds) - Int128(known.nanoseconds) >= 100_000_000 else { return }
            line[first].isAside = true
        }
    }

    private func isDue(_ member: Member) -> Bool {
        switch gate {
        case .held(let until): until <= now
        case .probing(let leaseEnds): leaseEnds <= now
        case .open: member.cost == 0 || bucket.turn(of: member.cost, at: now) <= now.nanoseconds
        }
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
        try require(machine.line.cost, is: present.map(\.cost).reduce(0, +), "what those who wait cost")

        try require(machine.head?.ticket, is: present.first?.ticket, "the first of those who are here")
        try require(machine.second?.ticket, is: present.dropFirst().first?.ticket, "the second of them")

        // A new call goes at the named instant, and not a nanosecond before, if each waiting call has gone as soon as
        // it could. A bucket of one call keeps no part of a nanosecond for the next call.
        for cost in costs where !line.contains(where: \.isAside) {
            var asked = machine
            guard case .notBefore(let named) = asked.ask(cost: cost, at: now), named < .distantFuture else { continue }
            let ticket = asked.join(cost: cost, at: now)
            var (last, time): (UInt64?, MonotonicInstant) = (nil, now)
            while let head = asked.head {
                time = max(time, head.answer.instant)
                if time == .distantFuture { return }
                try require(asked.askAgain(head.ticket, at: time).lets, "not let in at the instant that was named")
                last = head.ticket
            }
            let late = time.nanoseconds - named.nanoseconds
            try require(
                last == ticket && late >= 0 && late <= Int64(line.count), "let in \(late) ns after what was named")
        }
    }

    /// No window that ends with the last admitted call has more calls than the burst plus the rate allows. Exact: in
    /// calls times nanoseconds, at the times they went.
    private func checkWindows(of rate: ThrottleRate) throws {
        guard let last = admitted.last, bucket.step == 1 else { return }
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

@Suite(.heavy) struct ThrottleExplorationTests {
    @Test(
        "in every reachable state, a rate matches an exact bucket, and names the exact instant (P42)",
        arguments: [(1, 1, 1), (1, 4, 2), (3, 7, 2), (2, 5, 2), (3, 10, 1)])
    func rate(calls: Int, period: Int64, burst: Int) throws {
        // Half of the time that the line waits for an absent head.
        let tick: Int64 = 50_000_000
        let rate = ThrottleRate(calls, per: .nanoseconds(period * tick))
        let explorer = Explorer(
            RecordedThrottle(rate: rate, burst: burst, costs: Array(0...(burst + 1)), waits: [tick]),
            code: "RecordedThrottle(rate: \(rate), burst: \(burst), costs: Array(0...\(burst + 1)), waits: [\(tick)])")
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && exploration.transitions >= 30, "\(exploration)")
    }

    @Test("in every reachable state, a gate matches its whole history: one probe at a time, and no late end counts")
    func gate() throws {
        let tick: Int64 = 30_000_000_000
        for rate in [nil, ThrottleRate(1, per: .nanoseconds(tick))] {
            let explorer = Explorer(
                RecordedThrottle(rate: rate, burst: 2, holds: [0, tick], waits: [tick], inLine: 1),
                code: "RecordedThrottle(rate: \(rate.debugDescription), burst: 2, holds: [0, tick], waits: [tick])")
            let exploration = try explorer.explore()
            #expect(exploration.isComplete && exploration.transitions > 900, "\(exploration)")
        }
    }

    @Test("as far as the effort allows, larger rates and gates match their whole history")
    func far() throws {
        let rate = Explorer(
            RecordedThrottle(
                rate: ThrottleRate(3, per: .nanoseconds(100)), burst: 9, costs: [0, 1, 2, 9], waits: [1, 8], inLine: 3),
            code: "RecordedThrottle(rate: 3 per 100 ns, burst: 9, costs: [0, 1, 2, 9], waits: [1, 8], inLine: 3)")
        #expect(try rate.explore(transitionsPerEffort: 8_000).transitions >= 8_000)
        let tick: Int64 = 10_000_000_000
        let gate = Explorer(
            RecordedThrottle(
                rate: ThrottleRate(3, per: .nanoseconds(tick)), burst: 4, holds: [0, 2 * tick, -1], waits: [tick],
                outside: 4),
            code: "RecordedThrottle(rate: 3 per tick, burst: 4, holds: [0, 2 * tick, -1], waits: [tick], outside: 4)")
        #expect(try gate.explore(transitionsPerEffort: 8_000).transitions >= 8_000)
    }

    /// At a rate of once in an eternity, calls in line would go beyond the end of time.
    @Test(
        "over thousands of calls a rate of any size matches an exact bucket",
        arguments: [
            (.perSecond(3), 9), (.perSecond(999), 9), (.perMinute(7), 9), (ThrottleRate(.max, per: .nanoseconds(1)), 9),
            (ThrottleRate(1, per: .seconds(Int64.max)), 0),
        ] as [(ThrottleRate, Int)])
    func rates(rate: ThrottleRate, outside: Int) throws {
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
        "over thousands of inputs, and at the ends of time, a gate matches its whole history",
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
