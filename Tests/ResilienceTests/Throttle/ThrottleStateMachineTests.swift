@testable import Resilience
import ResilienceTesting
import Testing

/// The rate alone. The gate has its own suite.
@Suite struct ThrottleStateMachineTests {
    let second: Int64 = 1_000_000_000

    @Test("the first calls go at once, as many as the burst, and the next at the rate (P22)", arguments: [1, 2, 20])
    func burstThenRate(burst: Int) {
        var machine = ThrottleStateMachine(rate: .perSecond(10), burst: burst)
        let start = at(5)
        for _ in 0..<burst { #expect(machine.ask(at: start) == .go) }
        #expect(machine.ask(at: start) == .notBefore(start + .milliseconds(100)))
        #expect(machine.ask(at: start + .milliseconds(99)) == .notBefore(start + .milliseconds(100)))
        #expect(machine.ask(at: start + .milliseconds(100)) == .go)
        #expect(machine.ask(at: start + .milliseconds(100)) == .notBefore(start + .milliseconds(200)))
    }

    @Test("after a pause the burst is full again, and no fuller")
    func refill() {
        var machine = ThrottleStateMachine(rate: .perSecond(10), burst: 3)
        #expect(allowed(&machine, asks: 9, at: at(0)) == 3)
        #expect(allowed(&machine, asks: 9, at: at(0) + .milliseconds(200)) == 2)
        #expect(allowed(&machine, asks: 9, at: at(3600)) == 3)
    }

    @Test("while time stands still only the burst goes, and nothing crashes (P22)")
    func standingStill() {
        var machine = ThrottleStateMachine(rate: .perSecond(3), burst: 5)
        #expect(allowed(&machine, asks: 100_000, at: at(7)) == 5)
        #expect(machine.ask(at: at(7)) == .notBefore(Instant(nanoseconds: 7 * second + 333_333_334)))
    }

    @Test("a refused call takes nothing")
    func refusedTakesNothing() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 1)
        #expect(machine.ask(at: at(0)) == .go)
        for _ in 0..<50 { #expect(machine.ask(at: at(0)) == .notBefore(at(1))) }
        #expect(machine.ask(at: at(1)) == .go)
    }

    @Test("a call that costs more than the burst ever holds is told so")
    func never() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 5)
        #expect(machine.ask(cost: 6, at: at(0)) == .never)
        #expect(machine.ask(cost: 5, at: at(0)) == .go)
        #expect(machine.ask(cost: 5, at: at(0)) == .notBefore(at(5)))
        #expect(machine.ask(cost: 0, at: at(0)) == .go)
        #expect(machine.ask(cost: .max, at: at(0)) == .never)
    }

    @Test("a negative cost is none: it gives nothing back")
    func negativeCost() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 1)
        #expect(machine.ask(at: at(0)) == .go)
        #expect(machine.ask(cost: -3, at: at(0)) == .go)
        #expect(machine.ask(at: at(0)) == .notBefore(at(1)))
    }

    @Test("without a rate every call goes at once")
    func noRate() {
        var machine = ThrottleStateMachine(rate: nil, burst: 1)
        #expect(allowed(&machine, asks: 1000, at: at(0)) == 1000)
    }

    @Test("at the earliest of readings the burst is there, and no more")
    func distantPast() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 3)
        #expect(allowed(&machine, asks: 9, at: .distantPast) == 3)
    }

    @Test("a huge burst neither overflows nor refuses", arguments: [Int64(0), .max / 2, .max])
    func hugeBurst(reading: Int64) {
        var machine = ThrottleStateMachine(rate: .perMinute(1), burst: .max)
        #expect(allowed(&machine, asks: 1000, at: Instant(nanoseconds: reading)) == 1000)
    }

    @Test("a rate of once in an eternity allows its burst and no more", arguments: [1, 2, 30])
    func hugePeriod(burst: Int) {
        var machine = ThrottleStateMachine(rate: Rate(1, per: .seconds(Int64.max)), burst: burst)
        #expect(allowed(&machine, asks: 1000, at: at(86_400)) == burst)
        #expect(allowed(&machine, asks: 1000, at: at(86_400 * 366)) == 0)
    }

    @Test("a rate of once in an eternity allows no second call for 140 years")
    func eternity() {
        var machine = ThrottleStateMachine(rate: Rate(1, per: .seconds(Int64.max)), burst: 1)
        #expect(machine.ask(at: at(0)) == .go)
        #expect(machine.ask(at: at(86_400 * 365 * 140)) != .go)
    }

    @Test("a reservation given back returns its share")
    func giveBack() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 1)
        _ = machine.ask(at: at(0))
        let receipt = machine.reserve(at: at(0))
        #expect(machine.ask(at: at(0)) == .notBefore(at(2)))
        machine.giveBack(receipt)
        #expect(machine.ask(at: at(0)) == .notBefore(at(1)))
    }

    @Test("a reservation that a later one has built on keeps its share: nobody is moved, nobody goes twice")
    func giveBackTooLate() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 1)
        _ = machine.ask(at: at(0))
        let receipt = machine.reserve(at: at(0))
        _ = machine.reserve(at: at(0))
        machine.giveBack(receipt)
        #expect(machine.ask(at: at(0)) == .notBefore(at(3)))
    }

    @Test(
        "a million calls never get more than burst and rate allow, and get all of it (P22)",
        arguments: [(3, 1), (3, 10), (7, 1), (1000, 50)])
    func rounding(perSecond: Int, burst: Int) {
        var random = SeededGenerator(seed: UInt64(perSecond))
        var machine = ThrottleStateMachine(rate: .perSecond(perSecond), burst: burst)
        // Asks about four times as often as it may.
        let step = 2 * second / Int64(4 * perSecond)
        var elapsed: Int64 = 0
        var count: Int64 = 0
        var extra = false
        for _ in 0..<1_000_000 {
            if machine.ask(at: Instant(nanoseconds: elapsed)) == .go { count += 1 }
            extra = extra || (count - Int64(burst)) * second > elapsed * Int64(perSecond)
            elapsed += Int64.random(in: 0...step, using: &random)
        }
        #expect(!extra)
        // A call that asks too early may be late by a step; on average it loses less than half of one.
        #expect(count * second > elapsed * Int64(perSecond) * 3 / 4)
    }

    @Test(
        "asked at the instant it names, the rate is used in full: 3 a second is 3 a second to a few nanoseconds (P22)")
    func fullUse() {
        var machine = ThrottleStateMachine(rate: .perSecond(3), burst: 1)
        var now = at(0)
        for _ in 0..<1_000_000 {
            guard machine.ask(at: now) == .go else {
                Issue.record("refused at the instant it named")
                return
            }
            guard case .notBefore(let next) = machine.ask(at: now) else {
                Issue.record("more than the rate allows")
                return
            }
            now = next
        }
        #expect(now.nanoseconds == 1_000_000 * 333_333_334)
    }

    @Test(
        "200 000 random asks, reservations and returns agree with an exact token bucket in integers", arguments: 0..<4)
    func walk(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let rate = Rate.perSecond([1, 3, 10, 999][seed])
        let burst = Int.random(in: 1...30, using: &random)
        var machine = ThrottleStateMachine(rate: rate, burst: burst)
        var bucket = Bucket(interval: rate.interval, burst: burst)
        var now: Int64 = 0
        var last: (receipt: Int64, cost: Int)?
        for _ in 0..<200_000 {
            if Bool.random(using: &random) { now += Int64.random(in: 0...(3 * rate.interval), using: &random) }
            let instant = Instant(nanoseconds: now)
            let cost = Int.random(in: 0...min(5, burst + 1), using: &random)
            if let given = last, Int.random(in: 0..<3, using: &random) == 0 {
                machine.giveBack(given.receipt, cost: given.cost)
                bucket.level += Int64(given.cost) * rate.interval
                last = nil
            }
            let answer = machine.ask(cost: cost, at: instant)
            if answer != bucket.ask(cost: cost, at: now) {
                Issue.record("cost \(cost) at \(now): \(answer)")
                return
            }
            if case .notBefore = answer, Int.random(in: 0..<8, using: &random) == 0 {
                last = (machine.reserve(cost: cost, at: instant), cost)
                bucket.level -= Int64(cost) * rate.interval
            } else if answer == .go, cost > 0 {
                last = nil
            }
        }
    }

    /// A token bucket that fills by the nanosecond; a token is as many nanoseconds as a call's share. In debt while
    /// reservations are ahead of time.
    private struct Bucket {
        let interval: Int64
        let capacity: Int64
        var level: Int64
        var filledAt: Int64 = 0

        init(interval: Int64, burst: Int) {
            self.interval = interval
            capacity = interval * Int64(burst)
            level = capacity
        }

        mutating func ask(cost: Int, at now: Int64) -> ThrottleStateMachine.Answer {
            level = min(capacity, level + now - filledAt)
            filledAt = now
            let price = Int64(cost) * interval
            guard price <= capacity else { return .never }
            guard price <= level else { return .notBefore(Instant(nanoseconds: now + price - level)) }
            level -= price
            return .go
        }
    }

    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * second) }

    private func allowed(_ machine: inout ThrottleStateMachine, asks: Int, at now: Instant) -> Int {
        (0..<asks).count { _ in machine.ask(at: now) == .go }
    }
}
