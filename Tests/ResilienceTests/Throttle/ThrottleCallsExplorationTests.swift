import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// Calls that come, sleep in line, are woken and give up, compared with a list of when each sleeper wakes.
private struct SleepingCalls: ExplorableMachine {
    enum Input: Hashable {
        case wait(Int64)
        /// A call with this much time, in nanoseconds; nil for no limit.
        case come(cost: Int, within: Int64?)
        /// A call that was woken, or whose sleep is over, asks again.
        case ask(Int)
        case cancel(Int)
        case end(Int, Verdict)
    }

    private struct Sleeper {
        let slot: ThrottleSlot
        let cost: Int
        let deadline: MonotonicInstant
        let until: MonotonicInstant
        var isWoken = false
    }

    private let settings = Throttle.Settings(
        limit: .unlimited, maxWait: .nanoseconds(6), queue: 2, holdOnThrottled: true,
        holdBackoff: .constant(.nanoseconds(2), jitter: .none),
        maxHold: .nanoseconds(3), earlyProbe: .zero)
    private var machine: ThrottleStateMachine
    private var now = MonotonicInstant(nanoseconds: 0)
    private var sleepers: [Sleeper] = []
    private var inside: [(slot: ThrottleSlot, cost: Int)] = []

    init(rate: ThrottleRate?) { machine = ThrottleStateMachine(rate: rate, burst: 2) }

    var inputs: [Input] {
        var inputs: [Input] = [.wait(1), .wait(3)]
        if inside.count < 2 {
            for cost in [1, 2] { inputs += [.come(cost: cost, within: nil), .come(cost: cost, within: 2)] }
        }
        for index in sleepers.indices {
            inputs.append(.cancel(index))
            if sleepers[index].isWoken || sleepers[index].until <= now { inputs.append(.ask(index)) }
        }
        for index in inside.indices {
            inputs += [.end(index, .success), .end(index, .rejected), .end(index, .throttled(retryAfter: nil))]
        }
        return inputs
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .wait(let length):
            now = now + .nanoseconds(length)
        case .come(let cost, let within):
            let deadline = within.map { now + .nanoseconds($0) } ?? .distantFuture
            try went(in: ThrottleSlot(PolicySlot()), cost, deadline)
        case .ask(let index):
            let call = sleepers.remove(at: index)
            try went(in: call.slot, call.cost, call.deadline)
        case .cancel(let index):
            let call = sleepers.remove(at: index)
            try require(
                machine.end(call.slot, cost: call.cost, .cancelled, settings, at: now), is: nil,
                "what it holds by giving up")
        case .end(let index, let verdict):
            let call = inside.remove(at: index)
            let held = machine.end(call.slot, cost: call.cost, verdict, settings, at: now)
            if let held {
                try require(verdict != .success && verdict != .rejected, "held by \(verdict)")
                try require(held == now + .nanoseconds(2), "held until \(held)")
            }
        }
        let (first, second) = machine.wakes()
        for ticket in [first, second].compactMap(\.self) {
            guard let index = sleepers.firstIndex(where: { $0.slot.ticket == ticket }) else {
                throw BrokenInvariant("\(ticket) is woken, and does not sleep")
            }
            try require(!sleepers[index].isWoken, "\(ticket) is woken twice")
            sleepers[index].isWoken = true
        }
        try check()
    }

    private mutating func went(in slot: ThrottleSlot, _ cost: Int, _ deadline: MonotonicInstant) throws {
        let isNew = slot.stage == .outside
        switch machine.admit(slot, cost: cost, deadline: deadline, settings, at: now) {
        case .enter(let own):
            try require(own.stage != .waiting && own.stage != .outside, "let in as \(own.stage)")
            inside.append((own, cost))
        case .wait(let own, let turn, let until):
            try require(isNew || own == slot, "it has lost its place")
            try require(!isNew || sleepers.count < settings.queue, "too many wait")
            try require(own.latest == (isNew ? now + settings.maxWait : slot.latest), "how long it may wait")
            try require(now < until && until <= own.latest && until <= deadline, "it sleeps until \(until) at \(now)")
            if let turn { try require(turn <= own.latest && turn < deadline, "its turn comes too late") }
            sleepers.append(Sleeper(slot: own, cost: cost, deadline: deadline, until: until))
        case .reject(let retryAfter):
            try require((retryAfter ?? .zero) >= .zero, "to come back in the past")
        }
    }

    /// No call sleeps when it could go.
    private func check() throws {
        try require(machine.line.count, is: sleepers.count, "those in line")
        for sleeper in sleepers {
            try require(machine.line[sleeper.slot.ticket] != nil, "one that sleeps is not in line")
            let asleep = machine.line[sleeper.slot.ticket]?.sleepsUntil
            try require(asleep, is: sleeper.isWoken ? nil : sleeper.until, "until when it sleeps")
        }
        guard let head = machine.head, let first = sleepers.first(where: { $0.slot.ticket == head.ticket }) else {
            return
        }
        try require(
            first.isWoken || first.until <= max(now, head.answer.instant),
            "the first of the line sleeps until \(first.until), and could go at \(head.answer.instant)")
    }
}

@Suite(.heavy) struct ThrottleCallsExplorationTests {
    @Test("no call in line sleeps when it could go, or longer than it may", arguments: [true, false])
    func sleepers(hasRate: Bool) throws {
        let machine = SleepingCalls(rate: hasRate ? ThrottleRate(1, per: .nanoseconds(2)) : nil)
        let explorer = Explorer(machine, code: "SleepingCalls(rate: …)")
        let exploration = try explorer.exploreAll(depth: 5)
        #expect(exploration.transitions > 10_000)
        for seed in 1...20 as ClosedRange<UInt64> { try explorer.exploreRandomly(length: 500, seed: seed) }
    }
}
