import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceFleet

/// A throttle and its `LeaseStateMachine`, with counted permits: while the engine is reachable, each permit is used,
/// left, or on its way back.
private struct CountedPermits: ExplorableMachine {
    enum Input: Hashable {
        case call(Int)
        /// An inner policy rejected the last admitted call.
        case rejectedInside
        case throttled
        case wait(milliseconds: Int64)
        /// The supply reports; if it asks, the question is in flight.
        case report
        /// The engine grants none, half, or all of the request.
        case answered(of: Int)
        case heldByOthers
        case mayProbe
        case notAnswered
    }

    private static let settings = Throttle.Settings(
        limit: .unlimited, maxWait: .zero, queue: 0, holdOnThrottled: true,
        holdBackoff: .constant(.milliseconds(300)), maxHold: .seconds(10), earlyProbe: .zero)
    private static let limit = ThrottleLimit.perSecond(100, burst: 10)

    private var throttle = ThrottleStateMachine(
        Limiter(LeasedPermits(largest: limit.most, patience: .milliseconds(100))))
    private var lease = LeaseStateMachine(lease: .milliseconds(100))
    private var now: MonotonicInstant
    private var asked: LeaseStateMachine.Ask?
    private var last: (slot: ThrottleSlot, cost: Int)?
    private var (granted, used, returned) = (0, 0, 0)
    private var notBefore = MonotonicInstant.distantPast

    init(start: Int64) { now = MonotonicInstant(nanoseconds: start) }

    var inputs: [Input] {
        var inputs: [Input] = [
            .call(1), .call(3), .wait(milliseconds: 7), .wait(milliseconds: 90), .wait(milliseconds: 400),
        ]
        if last != nil { inputs += [.rejectedInside, .throttled] }
        inputs +=
            asked == nil
            ? [.report]
            : [.answered(of: 0), .answered(of: 1), .answered(of: 2), .heldByOthers, .mayProbe, .notAnswered]
        return inputs
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .call(let cost):
            guard case .wait(let slot, _, let until) = admit(cost) else { break }
            try require(until > now, "a call waits until \(until), which is not after now")
            _ = throttle.end(slot, cost: cost, .cancelled, Self.settings, at: now)
        case .rejectedInside:
            guard let (slot, cost) = last.take() else { break }
            if slot.stage == .admitted, slot.generation == throttle.generation, throttle.limiter.leased != nil {
                used -= cost
            }
            _ = throttle.end(slot, cost: cost, .rejected, Self.settings, at: now)
        case .throttled:
            guard let (slot, cost) = last.take() else { break }
            _ = throttle.end(slot, cost: cost, .throttled(retryAfter: nil), Self.settings, at: now)
        case .wait(let length): now = now + .milliseconds(length)
        case .report:
            switch lease.step(throttle.takeReport(at: now), at: now) {
            case .ask(let ask):
                try require(ask.wanted == 0 || now >= notBefore, "it asks for more before \(notBefore)")
                try require(ask.wanted >= 0 && ask.returned >= 0, "\(ask)")
                asked = ask
            case .rest(let until): try require(until > now, "it rests until \(until), which is not after now")
            case .idle: break
            }
        case .answered(let part): try answer(granted: (asked?.wanted ?? 0) * part / 2, gate: 0)
        case .heldByOthers: try answer(granted: 0, gate: 1, wait: 250_000)
        case .mayProbe: try answer(granted: 0, gate: 2)
        case .notAnswered:
            guard let ask = asked.take() else { break }
            var random = SeededGenerator(seed: 1)
            lease.failed(ask, retryAfter: nil, at: now, using: &random)
            throttle.standAlone(Self.limit.share(of: 2), at: now)
            notBefore = lease.next
            // The leased permits are lost.
            (granted, used, returned, last) = (lease.untold?.returned ?? 0, 0, 0, nil)
        }
        let held = count
        try require(granted, is: used + returned + held, "the permits")
    }

    private mutating func admit(_ cost: Int) -> ThrottleStateMachine.Admission {
        let admission = throttle.admit(
            ThrottleSlot(PolicySlot()), cost: cost, deadline: .distantFuture, Self.settings, at: now)
        if case .enter(let slot) = admission {
            last = (slot, cost)
            if throttle.limiter.leased != nil, slot.stage == .admitted { used += cost }
        }
        return admission
    }

    private mutating func answer(granted count: Int, gate: Int64, wait: Int64 = 50_000) throws {
        guard let ask = asked.take(),
            let answer = LeaseAnswer([Int64(count), wait, 2, 0, 100_000, gate, gate == 0 ? 0 : 1, 1, 0], to: ask)
        else { throw BrokenInvariant("the answer is unreadable") }
        if throttle.limiter.leased == nil { last = nil }
        returned += ask.returned
        granted += count
        throttle.take(
            lease.answered(answer, to: ask, at: now),
            asLeased: LeasedPermits(largest: Self.limit.most, patience: .milliseconds(100)), at: now)
        notBefore = lease.next
    }

    /// The permits that are left here, or on their way back.
    private var count: Int {
        var throttle = throttle
        let report = throttle.takeReport(at: now)
        return report.left + report.unused + (lease.untold?.returned ?? 0) + (asked?.returned ?? 0)
    }
}

/// A `FleetCircuit` whose fleet may send orders at any time.
private struct OrderedCircuit: ExplorableMachine {
    enum Input: Hashable {
        case call
        case ended(isWell: Bool)
        case cancelled
        case wait(milliseconds: Int64)
        case report
        case told(BreakerAnswer.State, wait: Int64, epoch: Int64)
        case away
        case tripped, reset, endedByHand
    }

    private var circuit = FleetCircuit(
        ThreeStateCircuit(tripping: .consecutiveFailures(2), openFor: .constant(.seconds(1))),
        openFor: .constant(.seconds(1)), rule: FleetTripRule(), grace: .seconds(1), ring: {})
    private var now = MonotonicInstant(nanoseconds: 0)
    private var report: FleetCircuit.Report?
    private var ticket: UInt64?
    private var epoch: Int64 = 0
    private var wasOrderedToProbe = false
    /// Whether it was tripped by hand since the report.
    private var isTripped = false
    /// Whether a call ended here, or a trip happened, since the circuit reported a result.
    private var hasNews = false

    var inputs: [Input] {
        var inputs: [Input] = [
            .call, .wait(milliseconds: 100), .wait(milliseconds: 1_100), .wait(milliseconds: 2_500), .tripped, .reset,
            .endedByHand,
        ]
        if ticket != nil { inputs += [.ended(isWell: true), .ended(isWell: false), .cancelled] }
        inputs += report == nil ? [.report] : [.away]
        if report != nil {
            inputs += [
                .told(.closed, wait: 0, epoch: epoch), .told(.closed, wait: 0, epoch: epoch + 1),
                .told(.open, wait: 900_000, epoch: epoch + 1), .told(.open, wait: 0, epoch: epoch),
                .told(.probing, wait: 0, epoch: epoch), .told(.closed, wait: 0, epoch: 0),
            ]
        }
        return inputs
    }

    mutating func apply(_ input: Input) throws {
        let before = circuit.state
        switch input {
        case .call:
            let isOrderedOpen = if case .open(_, let givesUp) = circuit.order { now < givesUp } else { false }
            switch circuit.admit(at: now, using: SplitMix64(seed: 1)) {
            case .allow(let ticket):
                try require(!isOrderedOpen, "a call goes although the fleet's circuit is open")
                self.ticket = ticket
            case .reject(let retryAfter):
                try require(retryAfter.map { $0 > .zero } ?? true, "come back at once")
            case .wait: throw BrokenInvariant("it waits")
            }
        case .ended(let isWell): record(isWell ? .success : .transient)
        case .cancelled: record(.cancelled)
        case .wait(let length): now = now + .milliseconds(length)
        case .report:
            let taken = circuit.takeReport(at: now)
            try require(taken.result == nil || wasOrderedToProbe, "a result of no probe")
            try require(
                taken.result == nil || taken.result == .unclear || hasNews, "the result of an earlier probe")
            report = taken
            isTripped = false
        case .told(let state, let wait, let epoch):
            guard let asked = report.take() else { break }
            let answer = BreakerAnswer([state.rawValue, wait, epoch, 1, 3])
            circuit.obey(answer!, to: asked, lease: .milliseconds(100), at: now)
            if asked.result != nil { hasNews = false }
            self.epoch = epoch
            if state != .closed { wasOrderedToProbe = true }
            if case .open = circuit.order { try require(circuit.state == .open, "it does not obey") }
            if state == .probing, asked.result == nil, !isTripped {
                try require(circuit.state != .open || circuit.order == .none, "it can't probe")
            }
        case .away:
            report = nil
            circuit.engineIsAway()
        case .tripped:
            isTripped = circuit.trip(for: nil, at: now, using: SplitMix64(seed: 1))
            if isTripped { hasNews = true }
        case .reset: circuit.reset(keepingGrowth: false)
        case .endedByHand:
            let isDone = circuit.endBreak(at: now)
            try require(isDone == false || circuit.state == .halfOpen, "a break that was ended lets no call probe")
            if isDone { ticket = nil }
        }
        // As in the breaker, calls of an earlier state do not count.
        if circuit.state != before { ticket = nil }
        let status = circuit.status(at: now)
        var later = circuit
        later.timePassed(at: now)
        try require(status.state, is: later.state, "the state that is shown")
        if let changesAt = circuit.changesAt {
            later.timePassed(at: changesAt)
            try require(later.state != .open, "a break without an end")
        }
    }

    private mutating func record(_ verdict: Verdict) {
        guard let ticket = ticket.take() else { return }
        hasNews = true
        _ = circuit.record(CallEnd(verdict, at: now), ticket: ticket, using: SplitMix64(seed: 1))
    }
}

/// `LeasedTokens`, compared with the sum of the tokens.
private struct CountedTokens: ExplorableMachine {
    enum Input: Hashable {
        case succeeded, retrySucceeded, withdraw, withdrawThrottled, giveBack
        case report
        case granted(Int, full: Bool)
        case dropped
        case alone(Int)
    }

    private var machine = LeasedTokens(capacity: 20, cost: 5, throttledCost: 2)
    private var tokens = 0
    private var share: Int?
    private var isFull = false
    private let now = MonotonicInstant(nanoseconds: 0)

    let inputs: [Input] = [
        .succeeded, .retrySucceeded, .withdraw, .withdrawThrottled, .giveBack, .report, .granted(5, full: false),
        .granted(3, full: true), .granted(40, full: false), .dropped, .alone(10), .alone(0),
    ]

    mutating func apply(_ input: Input) throws {
        switch input {
        case .succeeded: earn(1, .none)
        case .retrySucceeded: earn(5, .usual)
        case .withdraw: try withdraw(5, .usual)
        case .withdrawThrottled: try withdraw(2, .throttled)
        case .giveBack:
            machine.giveBack(.usual)
            tokens = min(20, tokens + 5)
        case .report:
            let report = machine.takeReport()
            try require(report.tokens, is: tokens, "what is reported")
            let next = machine.takeReport()
            try require(next.earned == 0 && next.missed == 0 && !next.hasSpent, "what was reported is reported again")
        case .granted(let count, let full):
            machine.grant(count, areAllFull: full)
            (tokens, share) = (min(20, tokens + count), nil)
        case .dropped:
            machine.drop(4)
            tokens -= min(4, tokens)
        case .alone(let count):
            machine.standAlone(share: count)
            share = max(count, 5)
        }
        try require(machine.tokens, is: tokens, "the tokens")
        try require(machine.retriesLeft(at: now), is: tokens / 5, "the retries left")
        try require(machine.isExhausted(at: now), is: tokens < 5, "whether it is exhausted")
    }

    private mutating func earn(_ amount: Int, _ last: Withdrawal) {
        machine.succeeded(after: last, at: now)
        if let share { tokens = max(tokens, min(share, tokens + amount)) }
    }

    private mutating func withdraw(_ price: Int, _ withdrawal: Withdrawal) throws {
        try require(machine.withdraw(withdrawal, at: now), is: tokens >= price, "whether a retry is allowed")
        if tokens >= price { tokens -= price }
    }
}

@Suite(.heavy) struct FleetExplorationTests {
    @Test(
        "as far as the effort allows, no permit of a lease is used or returned twice, and no wait ends in the past",
        arguments: [0, 3_600_000_000_000])
    func permits(start: Int64) throws {
        let explorer = Explorer(CountedPermits(start: start), code: "leases from \(start)")
        try explorer.exploreAll(depth: 5)
        try explorer.exploreRandomly(length: 20_000, seed: 3)
    }

    @Test("as far as the effort allows, a circuit obeys its fleet, and every break ends")
    func circuit() throws {
        let explorer = Explorer(OrderedCircuit(), code: "a fleet's circuit")
        try explorer.exploreAll(depth: 4)
        try explorer.exploreRandomly(length: 20_000, seed: 4)
    }

    @Test("as far as the effort allows, the tokens at hand equal the tokens granted and not spent")
    func tokens() throws {
        let explorer = Explorer(CountedTokens(), code: "leased tokens")
        try explorer.exploreAll(depth: 4)
        try explorer.exploreRandomly(length: 20_000, seed: 5)
    }
}
