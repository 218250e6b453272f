import ResilienceTesting
import Testing

@testable import Resilience

/// Calls counted in windows of time.
@Suite struct ThrottleWindowStateMachineTests {
    static let both: [ThrottleLimit] = [
        .slidingWindow(3, per: .seconds(10)), .fixedWindow(3, per: .seconds(10)),
    ]

    @Test(
        "the first window admits all its calls at once, and the next begins a period after the first (P22)",
        arguments: both
    )
    func firstWindow(window: ThrottleLimit) {
        var machine = ThrottleStateMachine(window)
        for start in [5, 15, 25, 1000] as [Int64] {
            #expect(machine.allowed(asks: 9, at: at(start)) == 3)
            #expect(machine.ask(at: at(start + 10) + .nanoseconds(-1)) == .notBefore(at(start + 10)))
        }
    }

    @Test(
        "if time stands still or goes back, a window admits its limit, and nothing traps (P22)",
        arguments: both)
    func standingStill(window: ThrottleLimit) {
        for start in [Int64.min, 0, Int64.max - 1] {
            var machine = ThrottleStateMachine(window)
            #expect(machine.allowed(asks: 10_000, at: MonotonicInstant(nanoseconds: start)) == 3)
            #expect(machine.allowed(asks: 10_000, at: .distantPast) == 0)
        }
    }

    @Test("in a window's line, turns come as calls leave the window, even several windows ahead", arguments: both)
    func line(window: ThrottleLimit) {
        var machine = ThrottleStateMachine(window)
        #expect(machine.allowed(asks: 3, at: at(0)) == 3)
        var tickets: [UInt64] = []
        for number in 0..<7 {
            #expect(machine.ask(at: at(1)) == .notBefore(at(10 + Int64(number / 3) * 10)))
            tickets.append(machine.join(at: at(1)))
        }
        for round in 1...3 {
            let now = at(Int64(round) * 10)
            #expect(machine.head?.answer == .notBefore(now))
            #expect(machine.admitted(at: now) == Array(tickets.prefix(3)))
            tickets.removeFirst(min(3, tickets.count))
        }
    }

    @Test(
        "an anchored window begins a whole number of periods before or after its anchor",
        arguments: [-13, 7, 107] as [Int64])
    func anchored(anchor: Int64) {
        var machine = ThrottleStateMachine(.fixedWindow(2, per: .seconds(10), from: at(anchor)))
        #expect(machine.ask(at: at(12)) == .go)
        #expect(machine.ask(at: at(12)) == .go)
        #expect(machine.ask(at: at(12)) == .notBefore(at(17)))
        #expect(machine.ask(cost: 2, at: at(17)) == .go)
        #expect(machine.ask(at: at(26)) == .notBefore(at(27)))
        #expect(machine.ask(at: at(46)) == .go)
        #expect(machine.ask(cost: 2, at: at(47)) == .go)
    }

    @Test("a probe counts in the window, and pushes the oldest call out of a full window", arguments: both)
    func probe(window: ThrottleLimit) {
        var machine = ThrottleStateMachine(window)
        #expect(machine.allowed(asks: 2, at: at(0)) == 2)
        machine.hold(until: at(5))
        #expect(machine.ask(cost: 2, at: at(5)) == .probe)
        machine.probeEnded(decided: true, inGeneration: 1, at: at(6))
        #expect(machine.available(at: at(6)) == 0)
        #expect(machine.ask(at: at(6)) == .notBefore(at(10)))
        #expect(machine.allowed(asks: 9, at: at(10)) == (window == Self.both[0] ? 1 : 3))
    }

    @Test("a probe with zero or negative cost does not count", arguments: both, [0, -3])
    func freeProbe(window: ThrottleLimit, cost: Int) {
        var machine = ThrottleStateMachine(window)
        machine.hold(until: at(5))
        #expect(machine.ask(cost: cost, at: at(5)) == .probe)
        machine.probeEnded(decided: true, inGeneration: 1, at: at(5))
        #expect(machine.available(at: at(5)) == 3)
    }

    @Test("if the calls in line could already have gone, the turn of a new call is now, not in the past")
    func lateLine() {
        var sliding = ThrottleStateMachine(.slidingWindow(3, per: .seconds(10)))
        #expect(sliding.allowed(asks: 3, at: at(0)) == 3)
        _ = sliding.join(at: at(1))
        #expect(sliding.ask(at: at(15)) == .notBefore(at(15)))
        var fixed = ThrottleStateMachine(.fixedWindow(3, per: .seconds(10)))
        _ = fixed.ask(at: at(0))
        let large = fixed.join(cost: 3, at: at(1))
        _ = fixed.join(at: at(1))
        _ = fixed.leave(large)
        #expect(fixed.ask(at: at(5)) == .notBefore(at(5)))
    }

    @Test("calls leave a sliding window a period after they came, even while its log grows")
    func growing() {
        var machine = ThrottleStateMachine(.slidingWindow(100, per: .seconds(10)))
        for second in 0..<99 as Range<Int64> {
            let last = (max(0, second - 9)...second).map { Int($0 / 10 + 1) }.reduce(0, +)
            #expect(machine.allowed(asks: Int(second / 10 + 1), at: at(second)) == Int(second / 10 + 1))
            #expect(machine.available(at: at(second)) == 100 - last)
        }
    }

    @Test("the largest window allocates no memory for all its calls, and does not overflow behind huge costs")
    func largest() {
        let half = Int.max / 2
        for window in [ThrottleLimit.slidingWindow(half, per: .seconds(10)), .fixedWindow(half, per: .seconds(10))] {
            var machine = ThrottleStateMachine(window)
            #expect(machine.allowed(asks: 9, at: at(0)) == 9)
            for _ in 0..<5 {
                #expect(machine.ask(cost: half, at: at(0)).instant >= at(10))
                _ = machine.join(cost: half, at: at(0))
            }
            #expect(machine.ask(at: at(0)).instant >= at(20))
        }
        var machine = ThrottleStateMachine(.slidingWindow(.max, per: .seconds(10)))
        #expect(machine.allowed(asks: 9, at: at(0)) == 9)
        machine = ThrottleStateMachine(.fixedWindow(.max, per: .seconds(10)))
        #expect(machine.ask(cost: .max, at: at(0)) == .go)
        machine.hold(until: at(1))
        #expect(machine.ask(cost: .max, at: at(1)) == .probe)
        #expect(machine.limiter.available(at: at(1).nanoseconds) == 0)
    }

    @Test("once its window is over a throttle is at rest, and a reset makes all its calls available", arguments: both)
    func atRest(window: ThrottleLimit) {
        var machine = ThrottleStateMachine(window)
        #expect(machine.isAtRest(at: at(0)))
        #expect(machine.allowed(asks: 3, at: at(0)) == 3)
        #expect(!machine.isAtRest(at: at(9)) && machine.isAtRest(at: at(10)))
        #expect(machine.available(at: at(9)) == 0 && machine.available(at: at(10)) == 3)
        machine.reset(at: at(1))
        #expect(machine.isAtRest(at: at(1)))
        #expect(machine.allowed(asks: 9, at: at(1)) == 3)
    }

    @Test("an endless window admits its calls and no more")
    func eternity() {
        for window in [ThrottleLimit.slidingWindow(2, per: .infinite), .fixedWindow(2, per: .infinite)] {
            var machine = ThrottleStateMachine(window)
            #expect(machine.allowed(asks: 9, at: at(1)) == 2)
            #expect(machine.allowed(asks: 9, at: at(86_400 * 366)) == 0)
            #expect(machine.available(at: at(1)) == 0 && !machine.isAtRest(at: at(1)))
            for _ in 0..<6 {
                #expect(machine.ask(cost: 2, at: at(1)) == .notBefore(.distantFuture))
                _ = machine.join(at: at(1))
            }
        }
    }

    private func at(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }
}
