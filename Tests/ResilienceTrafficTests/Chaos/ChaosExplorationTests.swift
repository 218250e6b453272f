import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// A `ChaosStateMachine` compared with a list of its whole history.
private struct ListedChaos: ExplorableMachine {
    enum Input: Hashable {
        /// A call comes, and this number is drawn.
        case call(UInt64, mayWait: Bool)
        /// The oldest delayed call continues.
        case woke
        /// The oldest call with a later injection returns.
        case left(succeeded: Bool)
        case stranger
        case wait(Int64)
        case turnOn(Int64)
        case turnOff
        case play
        case other
        case reset
    }

    /// Always draws the same number: never 0, for which `Int64.random` would draw again without end.
    private struct Drawn: RandomNumberGenerator {
        let number: UInt64

        func next() -> UInt64 { number }
    }

    private typealias Machine = ChaosStateMachine
    private typealias Plan = ChaosStateMachine.Plan

    private static let all: [Machine.Settings] = [
        Machine.Settings(
            plans: [
                Plan(kind: .fault, rate: 0.25), Plan(kind: .delay, rate: 0.25, delay: 5...9),
                Plan(kind: .lostAnswer, rate: 0.25),
            ],
            script: [Plan(kind: .lostAnswer, rate: 0), Plan(kind: .cancellation, rate: 0, delay: 1...1), nil], limit: 4,
            maxDelayed: 2),
        Machine.Settings(plans: [Plan(kind: .behavior, rate: 0.5)]),
    ]

    /// One time that chaos is on, and what has happened in it.
    private struct Run {
        let ends: Int64
        var touched: [Plan] = []
    }

    private struct Caller: Equatable {
        let ticket: UInt64
        let isDelayed: Bool
        let kind: ChaosInjection.Kind?
    }

    private var machine: Machine
    private var settings: Machine.Settings
    private var now: Int64
    private var run: Run?
    /// The rest of the script, with the steps' numbers.
    private var script: [(step: Int, plan: Plan?)]
    private var callers: [Caller] = []
    private var tickets: UInt64 = 0
    private var effects: [ChaosInjection.Kind: Int] = [:]
    private var leftOut = 0

    init(start: Int64) {
        settings = Self.all[0]
        machine = Machine(settings)
        now = start
        script = []
        script = numbered(settings.script)
    }

    let inputs: [Input] = [
        .call(1, mayWait: true), .call(1, mayWait: false), .call(3 << 51, mayWait: true), .call(5 << 50, mayWait: true),
        // The lower 53 bits choose the plan with the delay; the upper bits choose the middle of the delay's range.
        .call(3 << 50 | 1 << 63, mayWait: true), .woke, .left(succeeded: true), .left(succeeded: false), .stranger,
        .wait(7),
        .wait(-3), .turnOn(7), .turnOff, .play, .other, .reset,
    ]

    private func numbered(_ plans: [Plan?]) -> [(step: Int, plan: Plan?)] {
        plans.enumerated().map { (step: $0.offset, plan: $0.element) }
    }

    private var instant: MonotonicInstant { MonotonicInstant(nanoseconds: now) }
    private var isOn: Bool { run.map { now < $0.ends } ?? false }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .call(let number, let mayWait):
            let expected = call(number, mayWait)
            var drawn = Drawn(number: number)
            let answer = machine.choose(at: instant, mayWait: mayWait, using: &drawn)
            try require(answer, is: expected)
        case .woke:
            guard let index = callers.firstIndex(where: \.isDelayed) else { return }
            let caller = callers.remove(at: index)
            let goesOn = machine.woke(caller.ticket, at: instant)
            try require(goesOn, is: isOn, "whether it goes on")
            if isOn, let kind = caller.kind, kind != .delay { effects[kind, default: 0] += 1 }
        case .left(let succeeded):
            guard !callers.isEmpty else { return }
            let caller = callers.removeFirst()
            let isLost = machine.left(caller.ticket, succeeded: succeeded, at: instant)
            let expected = !caller.isDelayed && succeeded && isOn
            if expected { effects[.lostAnswer, default: 0] += 1 }
            try require(isLost, is: expected, "whether its answer is lost")
        case .stranger:
            let (goesOn, isLost) = (
                machine.woke(tickets + 1, at: instant), machine.left(tickets + 1, succeeded: true, at: instant)
            )
            try require(!goesOn && !isLost, "a call that nobody knows is touched")
        case .wait(let length): now = now.saturatingAdding(length)
        case .turnOn(let length):
            let ends = now.saturatingAdding(length)
            let wasOff = machine.turnOn(until: MonotonicInstant(nanoseconds: ends), at: instant)
            try require(wasOff, is: !isOn, "whether it was off")
            if isOn {
                run = Run(ends: ends, touched: run?.touched ?? [])
            } else {
                run = Run(ends: ends)
                script = numbered(settings.script)
                callers = []
            }
        case .turnOff:
            let wasOn = machine.turnOff(at: instant)
            try require(wasOn, is: isOn, "whether it was on")
            (run, callers) = (nil, [])
        case .play:
            let plans = [Plan(kind: .lostAnswer, rate: 0), Plan(kind: .fault, rate: 0, delay: 6...6)]
            machine.play(plans)
            settings.script = plans
            script = numbered(plans)
        case .other:
            let next = Self.all[settings.plans == Self.all[0].plans ? 1 : 0]
            if next.script != settings.script { script = numbered(next.script) }
            settings = next
            machine.change(to: next)
        case .reset:
            machine.reset()
            (run, callers, effects, leftOut) = (nil, [], [:], 0)
            script = numbered(settings.script)
        }
        try require(machine.isOn(at: instant), is: isOn, "whether it is on")
        try require(machine.scriptLeft, is: script.count, "what is left of the script")
        try require(machine.delayed, is: callers.count(where: \.isDelayed), "how many are delayed")
        try require(Set(machine.pending.keys), is: Set(callers.map(\.ticket)), "who is to be touched later")
        let counts = Machine.Counts(
            faults: count(.fault), lostAnswers: count(.lostAnswer), delays: count(.delay), behaviors: count(.behavior),
            cancellations: count(.cancellation), leftOut: leftOut)
        try require(machine.counts, is: counts, "the counts")
    }

    private func count(_ kind: ChaosInjection.Kind) -> Int { effects[kind] ?? 0 }

    private mutating func call(_ number: UInt64, _ mayWait: Bool) -> Machine.Answer {
        guard let ends = run?.ends else { return .none }
        if now >= ends {
            (run, callers) = (nil, [])
            return .timeIsOver
        }
        guard let touched = run?.touched.count, touched < settings.limit else { return .none }
        let (plan, source): (Plan?, Machine.Source)
        if script.isEmpty {
            let chosen = byChance(number)
            (plan, source) = (chosen.map { settings.plans[$0] }, .chance(chosen ?? 0))
        } else {
            let step = script.removeFirst()
            (plan, source) = (step.plan, .script(step.step))
        }
        guard let plan else { return .none }
        var drawn = Drawn(number: number)
        let length =
            plan.delay.lowerBound == plan.delay.upperBound
            ? plan.delay.lowerBound : Int64.random(in: plan.delay, using: &drawn)
        let isDelayed = mayWait && length > 0
        if plan.kind == .delay, !isDelayed { return .none }
        if isDelayed, callers.count(where: \.isDelayed) >= settings.maxDelayed {
            leftOut += 1
            return .leftOut(source)
        }
        run?.touched.append(plan)
        if !isDelayed && plan.kind != .lostAnswer || plan.kind == .delay { effects[plan.kind, default: 0] += 1 }
        guard isDelayed || plan.kind == .lostAnswer else { return .now(source) }
        tickets += 1
        callers.append(Caller(ticket: tickets, isDelayed: isDelayed, kind: plan.kind))
        return isDelayed ? .after(length, source, ticket: tickets) : .onReturn(source, ticket: tickets)
    }

    /// The first plan at which the sum of shares exceeds the number.
    private func byChance(_ number: UInt64) -> Int? {
        var drawn = Drawn(number: number)
        let unit = Double.random(in: 0..<1, using: &drawn)
        return settings.plans.indices.first { index in
            unit < settings.plans[...index].reduce(0) { $0 + $1.rate }
        }
    }
}

@Suite(.heavy) struct ChaosExplorationTests {
    @Test(
        "as far as the effort allows, a ChaosStateMachine injects the same as a model that lists its whole history",
        arguments: [0, -1_005, Int64.max - 300, Int64.min])
    func listed(start: Int64) throws {
        let explorer = Explorer(ListedChaos(start: start), code: "ListedChaos(start: \(start))")
        try explorer.exploreAll(depth: 4)
        try explorer.exploreRandomly(length: 4_000, seed: 50)
    }
}
