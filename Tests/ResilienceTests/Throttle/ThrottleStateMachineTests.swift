@testable import Resilience
import ResilienceTesting
import TestSupport
import Testing

/// The rate alone. The gate has its own tests.
// C1
@Suite(.heavy) struct ThrottleStateMachineTests {
    let second: Int64 = 1_000_000_000

    @Test("calls up to the burst go at once, and later calls at the rate (P22)", arguments: [1, 2, 20])
    func burstThenRate(burst: Int) {
        var machine = ThrottleStateMachine(rate: .perSecond(10), burst: burst)
        let start = at(5)
        for _ in 0..<burst { #expect(machine.ask(at: start) == .go) }
        #expect(machine.ask(at: start) == .notBefore(start + .milliseconds(100)))
        #expect(machine.ask(at: start + .milliseconds(99)) == .notBefore(start + .milliseconds(100)))
        #expect(machine.ask(at: start + .milliseconds(100)) == .go)
        #expect(machine.ask(at: start + .milliseconds(100)) == .notBefore(start + .milliseconds(200)))
    }

    @Test("a call whose cost exceeds the burst can never go")
    func never() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 5)
        #expect(machine.ask(cost: 6, at: at(0)) == .never)
        #expect(machine.ask(cost: 5, at: at(0)) == .go)
        #expect(machine.ask(cost: 5, at: at(0)) == .notBefore(at(5)))
        #expect(machine.ask(cost: 0, at: at(0)) == .go)
        #expect(machine.ask(cost: .max, at: at(0)) == .never)
    }

    @Test("a negative cost counts as zero: it refunds nothing")
    func negativeCost() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 1)
        #expect(machine.ask(at: at(0)) == .go)
        #expect(machine.ask(cost: -3, at: at(0)) == .go)
        #expect(machine.ask(at: at(0)) == .notBefore(at(1)))
    }

    @Test("a huge burst does not overflow, and rejects no call", arguments: [Int64(0), .max / 2, .max])
    func hugeBurst(reading: Int64) {
        var machine = ThrottleStateMachine(rate: .perMinute(1), burst: .max)
        #expect(machine.allowed(asks: 1000, at: MonotonicInstant(nanoseconds: reading)) == 1000)
    }

    @Test("a rate of once in an eternity allows its burst and no more", arguments: [1, 2, 30])
    func hugePeriod(burst: Int) {
        var machine = ThrottleStateMachine(rate: ThrottleRate(1, per: .seconds(Int64.max)), burst: burst)
        #expect(machine.allowed(asks: 1000, at: at(86_400)) == burst)
        #expect(machine.allowed(asks: 1000, at: at(86_400 * 366)) == 0)
    }

    @Test("a call that leaves the line frees its turn for the next call (P20)")
    func leaves() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 1)
        _ = machine.ask(at: at(0))
        let ticket = machine.join(at: at(0))
        #expect(machine.ask(at: at(0)) == .notBefore(at(2)))
        #expect(machine.leave(ticket) == true)
        #expect(machine.leave(ticket) == false)
        #expect(machine.ask(at: at(0)) == .notBefore(at(1)))
    }

    @Test("small calls do not overtake a large call at the front of the line (P21)")
    func noStarvation() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 10)
        _ = machine.ask(cost: 10, at: at(0))
        #expect(machine.ask(cost: 10, at: at(0)) == .notBefore(at(10)))
        let large = machine.join(cost: 10, at: at(0))
        for second in 1..<10 {
            #expect(machine.ask(cost: 1, at: at(Int64(second))) == .notBefore(at(11)))
            #expect(machine.admitted(at: at(Int64(second))) == [])
        }
        #expect(machine.admitted(at: at(10)) == [large])
        #expect(machine.ask(at: at(10)) == .notBefore(at(11)))
    }

    @Test("a call that wakes late takes its permit then, and the calls behind it go that much later (P33)")
    func late() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 1)
        _ = machine.ask(at: at(0))
        let tickets = (0..<3).map { _ in machine.join(at: at(0)) }
        #expect(machine.admitted(at: at(2) + .milliseconds(900)) == [tickets[0]])
        #expect(machine.head?.answer == .notBefore(at(3) + .milliseconds(900)))
    }

    @Test(
        "`goAtOnce` admits only calls that `ask` would admit, and changes the machine in the same way",
        arguments: [0, 1, 2, 3, 99])
    func atOnce(cost: Int) {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 3)
        for now in [0, 0, 1, 5, 5, 9] as [Int64] {
            var asked = machine
            let (goes, answer) = (machine.goAtOnce(cost: cost, at: at(now)), asked.ask(cost: cost, at: at(now)))
            #expect(goes == (answer == .go && cost > 0))
            if goes { #expect(machine == asked) }
        }
        _ = machine.join(at: at(9))
        #expect(machine.goAtOnce(cost: 1, at: at(99)) == false)
        var shut = ThrottleStateMachine(rate: nil, burst: 1)
        #expect(shut.goAtOnce(cost: 5, at: at(0)) == true)
        shut.hold(until: at(1))
        #expect(shut.goAtOnce(cost: 1, at: at(9)) == false)
    }

    @Test("a stale clock reading, older than another call's, does not overstate the wait")
    func staleReading() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 2)
        #expect(machine.ask(cost: 2, at: at(10)) == .go)
        #expect(machine.ask(at: at(3)) == .notBefore(at(11)))
        #expect(machine.goAtOnce(cost: 1, at: at(3)) == false)
        #expect(machine.latest == at(10))
        let ticket = machine.join(at: at(3))
        #expect(machine.admitted(at: at(11)) == [ticket])
        machine.hold(until: at(30))
        machine.endHold(at: at(4))
        #expect(machine.gate == .held(until: at(11)))
        #expect(machine.ask(at: at(5)) == .probe)
        #expect(machine.gate == .probing(leaseEnds: at(71)))
        machine.probeEnded(decided: true, inGeneration: 1, at: at(6))
        #expect(machine.ask(at: at(7)) == .notBefore(at(12)))
        #expect(machine.status(at: at(7)).timeUntilNext == .seconds(1))
    }

    @Test("a stale clock reading does not understate the available permits")
    func staleReadings() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 2)
        #expect(machine.ask(at: at(10)) == .go)
        #expect(machine.available(at: at(3)) == 1)
        #expect(machine.goAtOnce(cost: 1, at: at(3)) == true)
        let ticket = machine.join(at: at(3))
        #expect(machine.ask(cost: 0, at: at(11)) == .go)
        #expect(machine.admitted(at: at(4)) == [ticket])
        #expect(machine.ask(cost: 0, at: at(13)) == .go)
        #expect(machine.isAtRest(at: at(5)))
    }

    @Test("a call counts from the time at which it joins, whatever the machine's earlier readings", arguments: [3, 10])
    func joinsLater(told: Int64) {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 3)
        _ = machine.ask(cost: 0, at: at(told))
        // After the reading 10, the reading 3 is stale.
        for (reading, latest) in [(3, told), (20, 20)] as [(Int64, Int64)] {
            let ticket = machine.join(at: at(reading))
            #expect(machine.admitted(at: at(latest)) == [ticket])
            #expect(machine.available(at: at(latest)) == 2)
        }
    }

    @Test("waiting calls of the largest cost do not overflow, and leave nothing behind")
    func largestCosts() {
        var machine = ThrottleStateMachine(rate: nil, burst: 1)
        machine.hold(until: at(10))
        let tickets = (0..<4).map { _ in machine.join(cost: .max, at: at(0)) }
        #expect(machine.line.cost == .max)
        for ticket in tickets { #expect(machine.leave(ticket) == true) }
        #expect(machine.line.cost == 0 && machine.line.isEmpty)
    }

    @Test("calls of zero or negative cost wait at a shut gate, and delay no other call")
    func costNothingAtTheGate() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 1)
        machine.hold(until: at(10))
        for cost in [0, -3] {
            #expect(machine.ask(cost: cost, at: at(0)) == .held(until: at(10)))
            _ = machine.join(cost: cost, at: at(0))
        }
        #expect(machine.line.cost == 0)
    }

    @Test("a call whose cost exceeds the limit never goes at once, even at the end of time")
    func neverAtOnce() {
        let rate = ThrottleRate.perSecond(1)
        var ramping = ThrottleStateMachine(rate: rate, burst: 3, ramp: .seconds(20))
        ramping.hold(until: at(0))
        _ = ramping.ask(at: at(0))
        ramping.probeEnded(decided: true, inGeneration: 1, at: at(0))
        let windows = [ThrottleLimit.slidingWindow(3, per: .seconds(1)), .fixedWindow(3, per: .seconds(1))]
        for var machine in windows.map({ ThrottleStateMachine($0) }) + [
            ThrottleStateMachine(rate: rate, burst: 3), ramping,
        ] {
            for cost in [4, 5, .max] {
                #expect(machine.goAtOnce(cost: cost, at: at(1)) == false)
                #expect(machine.goAtOnce(cost: cost, at: .distantFuture) == false)
            }
        }
    }

    @Test("at a rate of once in an eternity, a call behind a line does not get an early turn (P22)")
    func lineOfAnEternity() {
        var machine = ThrottleStateMachine(rate: ThrottleRate(1, per: .seconds(Int64.max)), burst: 1)
        _ = machine.ask(at: at(5))
        for _ in 0..<5 {
            let answer = machine.ask(at: at(5))
            #expect(answer.instant >= at(86_400 * 365 * 140), "\(answer)")
            _ = machine.join(at: at(5))
        }
    }

    @Test("a throttle is at rest when evicting it would lose nothing")
    func atRest() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 2)
        #expect(machine.isAtRest(at: at(0)))
        _ = machine.ask(cost: 2, at: at(0))
        #expect(!machine.isAtRest(at: MonotonicInstant(nanoseconds: 2 * second - 1)) && machine.isAtRest(at: at(2)))
        let ticket = machine.join(at: at(0))
        #expect(!machine.isAtRest(at: at(9)))
        _ = machine.leave(ticket)
        #expect(machine.isAtRest(at: at(9)))
        machine.hold(until: at(10))
        #expect(!machine.isAtRest(at: at(99)))
        _ = machine.ask(at: at(10))
        #expect(!machine.isAtRest(at: at(99)))
        machine.probeEnded(decided: true, inGeneration: 1, at: at(11))
        #expect(!machine.isAtRest(at: at(11)) && machine.isAtRest(at: at(12)))
    }

    @Test("reset restores the initial state, except for the line, whose calls go if there is room")
    func reset() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 2, ramp: .seconds(50))
        machine.hold(until: at(5))
        _ = machine.ask(at: at(5))
        let tickets = (0..<3).map { _ in machine.join(at: at(5)) }
        machine.reset(at: at(6))
        #expect(machine.gate == .open && machine.holds == 0 && machine.generation == 2)
        #expect(!machine.minds(throttledInGeneration: 1, wasProbe: true))
        #expect(machine.admitted(at: at(6)) == Array(tickets[..<2]))
        #expect(machine.head?.answer == .notBefore(at(7)))
    }

    @Test("a reset refills the burst, and calls that waited long get no more than the burst", arguments: [3, 60])
    func resetAfterWaiting(reading: Int64) {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 2)
        _ = machine.ask(cost: 2, at: at(0))
        let tickets = (0..<4).map { _ in machine.join(at: at(0)) }
        machine.hold(until: at(100))
        #expect(machine.ask(at: at(50)) == .held(until: at(100)))
        machine.reset(at: at(reading))
        let now = max(reading, 50)
        #expect(machine.admitted(at: at(now)) == Array(tickets[..<2]))
        #expect(machine.head?.answer == .notBefore(at(now + 1)))
        machine.reset(at: at(now))
        #expect(machine.admitted(at: at(now)) == Array(tickets[2...]))
    }

    @Test("free permits belong to calls in line, and the time until the next call is never negative")
    func statusOfALine() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 3)
        _ = machine.ask(cost: 3, at: at(0))
        _ = machine.join(cost: 3, at: at(0))
        #expect(machine.available(at: at(2)) == 0)
        machine.hold(until: at(9))
        #expect(machine.status(at: at(12)).timeUntilNext == .zero)
    }

    @Test("the status shows how many calls may go now, when the next call may go, and the gate")
    func status() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 3)
        #expect(
            machine.status(at: at(0))
                == ThrottleStatus(available: 3, timeUntilNext: .zero, heldUntil: nil, isProbing: false, queued: 0))
        _ = machine.ask(cost: 3, at: at(0))
        #expect(machine.status(at: at(0)).available == 0 && machine.status(at: at(0)).timeUntilNext == .seconds(1))
        #expect(machine.status(at: at(2)).available == 2)
        let ticket = machine.join(cost: 2, at: at(0))
        #expect(
            machine.status(at: at(0))
                == ThrottleStatus(
                    available: 0, timeUntilNext: .seconds(3), heldUntil: nil, isProbing: false, queued: 1))
        _ = machine.leave(ticket)
        machine.hold(until: at(9))
        #expect(
            machine.status(at: at(3))
                == ThrottleStatus(
                    available: 0, timeUntilNext: .seconds(6), heldUntil: at(9), isProbing: false, queued: 0))
        #expect(machine.status(at: at(9)).available == 1 && machine.status(at: at(9)).timeUntilNext == .zero)
        _ = machine.ask(at: at(9))
        #expect(
            machine.status(at: at(9))
                == ThrottleStatus(
                    available: 0, timeUntilNext: .seconds(1), heldUntil: at(10), isProbing: true, queued: 0))
        #expect(machine.status(at: at(69)).available == 1)
        #expect(ThrottleStateMachine(rate: nil, burst: 1).status(at: at(0)).available == .max)
    }

    @Test(
        "a million calls never exceed burst and rate, and use most of the rate (P22)",
        arguments: [(3, 1), (3, 10), (7, 1), (1000, 50)])
    func rounding(perSecond: Int, burst: Int) {
        var random = SeededGenerator(seed: UInt64(perSecond))
        var machine = ThrottleStateMachine(rate: .perSecond(perSecond), burst: burst)
        // Asks about four times as often as the rate allows.
        let step = 2 * second / Int64(4 * perSecond)
        var elapsed: Int64 = 0
        var count: Int64 = 0
        var extra = false
        for _ in 0..<1_000_000 {
            if machine.ask(at: MonotonicInstant(nanoseconds: elapsed)) == .go { count += 1 }
            extra = extra || (count - Int64(burst)) * second > elapsed * Int64(perSecond)
            elapsed += Int64.random(in: 0...step, using: &random)
        }
        #expect(!extra)
        // A call that asks too early may be one step late; on average it loses less than half a step.
        #expect(count * second > elapsed * Int64(perSecond) * 3 / 4)
    }

    @Test("calls that ask at the named instant use the full rate: 3 per second, to within a few nanoseconds (P22)")
    func fullUse() {
        var machine = ThrottleStateMachine(rate: .perSecond(3), burst: 1)
        var now = at(0)
        for _ in 0..<1_000_000 {
            guard machine.ask(at: now) == .go else {
                Issue.record("rejected at the instant it named")
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

    @Test("200 000 random calls agree with an exact token bucket in integers", arguments: 0..<4)
    func walk(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let rate = ThrottleRate.perSecond([1, 3, 10, 999][seed])
        let burst = Int.random(in: 1...30, using: &random)
        var machine = ThrottleStateMachine(rate: rate, burst: burst)
        var bucket = Bucket(rate: Int64([1, 3, 10, 999][seed]), burst: burst)
        var now: Int64 = 0
        for _ in 0..<200_000 {
            if Bool.random(using: &random) {
                now += Int64.random(in: 0...3_000_000_000 / Int64(rate.calls), using: &random)
            }
            let cost = Int.random(in: 0...min(5, burst + 1), using: &random)
            let answer = machine.ask(cost: cost, at: MonotonicInstant(nanoseconds: now))
            if answer != bucket.ask(cost: cost, at: now) {
                Issue.record("cost \(cost) at \(now): \(answer)")
                return
            }
        }
    }

    /// A token bucket that fills every nanosecond, in billionths of a token.
    private struct Bucket {
        let rate: Int64
        let capacity: Int64
        var level: Int64
        var filledAt: Int64 = 0

        init(rate: Int64, burst: Int) {
            self.rate = rate
            capacity = 1_000_000_000 * Int64(burst)
            level = capacity
        }

        mutating func ask(cost: Int, at now: Int64) -> ThrottleStateMachine.Answer {
            level = min(capacity, level + (now - filledAt) * rate)
            filledAt = now
            let price = Int64(cost) * 1_000_000_000
            guard price <= capacity else { return .never }
            guard price <= level else {
                return .notBefore(MonotonicInstant(nanoseconds: now + (price - level + rate - 1) / rate))
            }
            level -= price
            return .go
        }
    }

    private func at(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * second) }

}
