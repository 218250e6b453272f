import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// A window compared with a list of all admitted calls.
private struct RecordedWindow: ExplorableMachine {
    enum Input: Hashable {
        case wait(Int64)
        case ask(cost: Int)
        case join
        case leave(Int)
        case admit
        case reset
    }

    let window: ThrottleLimit
    let costs: [Int]
    private(set) var machine: ThrottleStateMachine
    private var now: Int64 = 0
    private var line: [UInt64] = []
    private var went: [Int64] = []
    /// When the current fixed window began.
    private var start: Int64?

    init(_ window: ThrottleLimit, costs: [Int]) {
        (self.window, self.costs) = (window, costs)
        machine = ThrottleStateMachine(window)
    }

    private var period: Int64 { window.period.saturatedNanoseconds }
    private var instant: MonotonicInstant { MonotonicInstant(nanoseconds: now) }

    var inputs: [Input] {
        var inputs: [Input] = [.wait(1), .wait(3), .admit, .reset] + line.indices.map { .leave($0) }
        if !line.isEmpty && mayGo(1, at: now) { return inputs }
        inputs += costs.map { .ask(cost: $0) }
        if line.count < 2, !(line.isEmpty && mayGo(1, at: now)) { inputs.append(.join) }
        return inputs
    }

    var identity: [Int64]? {
        var phase: Int64 = 0
        if let anchor = window.anchor { phase = (now - anchor.nanoseconds) % period }
        return [phase, Int64(line.count), Int64(machine.available(at: instant))]
            + counted(at: now).map { $0 - now } + (start.map { [-100, max(-period, $0 - now)] } ?? [])
    }

    /// The calls counted in the window at this time.
    private func counted(at now: Int64) -> [Int64] {
        let first = window.isSliding ? now - period + 1 : windowStart(at: now)
        return went.filter { $0 >= first }
    }

    private func windowStart(at now: Int64) -> Int64 {
        if let start, now < start + period { return start }
        guard let anchor = window.anchor else { return now }
        return (-200...200).map { anchor.nanoseconds + $0 * period }.last { $0 <= now } ?? now
    }

    private func mayGo(_ cost: Int, at now: Int64) -> Bool { counted(at: now).count + cost <= window.calls }

    private mutating func go(_ cost: Int) {
        guard cost > 0 else { return }
        start = windowStart(at: now)
        went += Array(repeating: now, count: cost)
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .wait(let length): now += length
        case .ask(let cost):
            let answer = machine.ask(cost: cost, at: instant)
            if cost > window.calls {
                try require(answer, is: .never)
            } else if cost == 0 || (line.isEmpty && mayGo(cost, at: now)) {
                try require(answer, is: .go)
                go(cost)
            } else if line.isEmpty {
                // Tries each instant until there is room.
                let turn = (now...(now + period)).first { mayGo(cost, at: $0) }
                try require(answer, is: .notBefore(MonotonicInstant(nanoseconds: turn ?? -1)))
            }
        case .join: line.append(machine.join(at: instant))
        case .leave(let index): try require(machine.leave(line.remove(at: index)), "one of the line is not in it")
        case .admit:
            while !line.isEmpty, mayGo(1, at: now) {
                try require(machine.admitNext(at: instant)?.ticket, is: line.removeFirst(), "who is let in")
                go(1)
            }
            try require(machine.admitNext(at: instant) == nil, "let in without room")
        case .reset:
            machine.reset(at: instant)
            (went, start) = ([], nil)
        }
        try require(
            machine.isAtRest(at: instant), is: line.isEmpty && counted(at: now).isEmpty, "whether it is at rest")
        try require(machine.available(at: instant), is: line.isEmpty ? room : 0, "the room there is")
        if let head = machine.head, !mayGo(1, at: now) {
            let turn = (now...(now + period)).first { mayGo(1, at: $0) }
            try require(
                head.answer, is: .notBefore(MonotonicInstant(nanoseconds: turn ?? -1)), "the turn of the first in line")
        }
    }

    private var room: Int { window.calls - counted(at: now).count }
}

/// A bucket whose rate grows and changes, compared with a bucket that fills nanosecond by nanosecond.
private struct RecordedRamp: ExplorableMachine {
    enum Input: Hashable {
        case wait(Int)
        case ask(cost: Int)
        case recover
        case setRate(interval: Int64, burst: Int)
    }

    let ramp: Int64
    private(set) var machine: ThrottleStateMachine
    private var now: Int64 = 0
    private var began: Int64?
    private var interval: Int64
    private var burst: Int
    private var level: Int64

    init(interval: Int64, burst: Int, ramp: Int64) {
        (self.ramp, self.interval, self.burst) = (ramp, interval, burst)
        level = interval * Int64(burst)
        let rate = ThrottleRate(1, per: .nanoseconds(interval))
        machine = ThrottleStateMachine(rate: rate, burst: burst, ramp: .nanoseconds(ramp))
    }

    var inputs: [Input] {
        [.wait(1), .wait(4), .ask(cost: 1), .ask(cost: 2), .recover]
            + [(3, 1), (3, 4), (7, 2)].map { .setRate(interval: $0.0, burst: $0.1) }
    }

    var identity: [Int64]? { [level, began.map { min(ramp, now - $0) } ?? ramp, interval, Int64(burst)] }

    private var instant: MonotonicInstant { MonotonicInstant(nanoseconds: now) }

    private mutating func tick() {
        now += 1
        var flows: Int64 = 1
        // In the first s of a ramp of length R, s²/2R of the full flow has come.
        if let began, now - began <= ramp {
            let passed = now - began
            flows = passed * passed / (2 * ramp) - (passed - 1) * (passed - 1) / (2 * ramp)
        }
        level = min(interval * Int64(burst), level + flows)
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .wait(let length):
            for _ in 0..<length { tick() }
        case .ask(let cost):
            let answer = machine.ask(cost: cost, at: instant)
            var later = self
            while later.level < Int64(cost) * interval, cost <= burst { later.tick() }
            let isNow = later.now == now
            try require(answer, is: cost > burst ? .never : isNow ? .go : .notBefore(later.instant))
            if answer == .go { level -= Int64(cost) * interval }
        case .recover:
            machine.hold(until: instant)
            try require(machine.ask(at: instant), is: .probe)
            machine.probeEnded(decided: true, inGeneration: machine.generation, at: instant)
            (level, began) = (min(level, interval), now)
        case .setRate(let interval, let burst):
            machine.setRate(ThrottleRate(1, per: .nanoseconds(interval)), burst: burst, at: instant)
            level = min(interval * Int64(burst), level * interval / self.interval)
            (self.interval, self.burst) = (interval, burst)
        }
        try require(machine.available(at: instant), is: Int(level / interval), "what is left")
        let isOver = began.map { now - $0 >= ramp } ?? true
        try require(
            machine.isAtRest(at: instant), is: isOver && level == interval * Int64(burst), "whether it is at rest")
    }
}

@Suite(.heavy) struct ThrottleLimiterExplorationTests {
    @Test(
        "in the reachable states, a window counts like a list of all calls (P22)",
        arguments: [
            .slidingWindow(3, per: .nanoseconds(5)), .fixedWindow(3, per: .nanoseconds(5)),
            .fixedWindow(2, per: .nanoseconds(4), from: MonotonicInstant(nanoseconds: 3)),
        ] as [ThrottleLimit])
    func windows(window: ThrottleLimit) throws {
        let explorer = Explorer(
            RecordedWindow(window, costs: Array(0...(window.calls + 1))), code: "RecordedWindow(\(window))")
        let exploration = try explorer.explore(transitionsPerEffort: 3_000)
        #expect(exploration.transitions > 400, "\(exploration)")
    }

    @Test("over thousands of calls a window counts like a list of all calls, while its log grows and wraps")
    func long() throws {
        for window in [
            ThrottleLimit.slidingWindow(20, per: .nanoseconds(40)), .fixedWindow(20, per: .nanoseconds(40)),
        ] {
            let explorer = Explorer(RecordedWindow(window, costs: [1, 2, 3, 7]), code: "RecordedWindow(\(window))")
            try explorer.exploreRandomly(length: 1_000, seed: 4)
        }
    }

    @Test(
        "in the reachable states, a growing or changed rate fills its bucket by the formula (P24)",
        arguments: [(4, 2, 9), (4, 2, 12), (1, 3, 1)] as [(Int64, Int, Int64)])
    func ramps(interval: Int64, burst: Int, ramp: Int64) throws {
        let explorer = Explorer(
            RecordedRamp(interval: interval, burst: burst, ramp: ramp),
            code: "RecordedRamp(interval: \(interval), burst: \(burst), ramp: \(ramp))")
        let exploration = try explorer.explore(transitionsPerEffort: 3_000)
        #expect(exploration.transitions > 400, "\(exploration)")
    }
}
