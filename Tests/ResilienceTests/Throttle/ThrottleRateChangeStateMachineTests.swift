import ResilienceTesting
import Testing

@testable import Resilience

/// Changes of the rate while calls go and wait.
@Suite struct ThrottleRateChangeStateMachineTests {
    @Test(
        "a change of rate makes no burst: the available permits stay, cut to the new burst (P24)",
        arguments: [
            // rate, burst, taken of ten in the bucket; available at once, and a second later
            (1, 10, 4, 6, 7), (100, 10, 4, 6, 10), (2, 10, 10, 0, 2), (1, 3, 4, 3, 3), (1, 3, 9, 1, 2),
            (5, 20, 4, 6, 11), (5, 20, 10, 0, 5), (1, 100, 0, 10, 11),
        ])
    func noBurst(rate: Int, burst: Int, taken: Int, left: Int, later: Int) {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 10)
        _ = machine.ask(cost: taken, at: at(0))
        machine.setRate(.perSecond(rate), burst: burst, at: at(0))
        #expect(machine.available(at: at(0)) == left && machine.available(at: at(1)) == later)
        #expect(machine.allowed(asks: 999, at: at(1)) == later)
    }

    @Test(
        "after a change of rate, waiting calls keep their places, and their turns move (P24)",
        arguments: [(2, 2), (4, 8)])
    func turns(perTwoSeconds: Int, halves: Int) {
        var machine = ThrottleStateMachine(rate: ThrottleRate(4, per: .seconds(2)), burst: 1)
        _ = machine.ask(at: at(0))
        let tickets = (0..<4).map { _ in machine.join(at: at(0)) }
        machine.setRate(ThrottleRate(perTwoSeconds, per: .seconds(4)), burst: 1, at: at(0))
        let interval = Duration.seconds(4) / perTwoSeconds
        for (number, ticket) in tickets.enumerated() {
            let turn = at(0) + interval * (number + 1)
            #expect(machine.head?.answer == .notBefore(turn))
            #expect(machine.admitted(at: turn) == [ticket])
        }
        #expect(machine.ask(at: at(0)) == .notBefore(at(0) + interval * 5))
    }

    @Test(
        "before a change the bucket fills at the old rate, even if the change has a stale reading (P24)",
        arguments: [4, 1])
    func flowed(reading: Int64) {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 10)
        _ = machine.ask(cost: 10, at: at(0))
        if reading < 4 { _ = machine.ask(cost: 0, at: at(4)) }
        machine.setRate(.perSecond(2), burst: 10, at: at(reading))
        #expect(machine.available(at: at(4)) == 4)
    }

    @Test("a smaller burst is the maximum, even for a call that has waited since before the change (P24)")
    func smallerBurst() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 10)
        _ = machine.ask(cost: 6, at: at(0))
        let ticket = machine.join(cost: 5, at: at(0))
        machine.setRate(.perSecond(1), burst: 5, at: at(2))
        #expect(machine.admitted(at: at(2)) == [ticket])
        #expect(machine.ask(at: at(2)) == .notBefore(at(3)))
    }

    @Test("a call whose cost exceeds the new burst is rejected when first in line, and blocks no other call (P24)")
    func tooMuch() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 5)
        _ = machine.ask(cost: 5, at: at(0))
        let large = machine.join(cost: 5, at: at(0))
        let small = machine.join(cost: 1, at: at(0))
        machine.setRate(.perSecond(1), burst: 2, at: at(1))
        let next = machine.admitNext(at: at(1))
        #expect(next?.ticket == large && next?.answer == .never)
        #expect(machine.admitted(at: at(1)) == [small])
    }

    @Test("a ramp continues at a rate changed during the ramp; an endless period does not overflow, and does not hang")
    func edges() {
        var machine = ThrottleStateMachine(rate: .perSecond(10), burst: 1, ramp: .seconds(20))
        machine.hold(until: at(100))
        _ = machine.ask(at: at(100))
        machine.probeEnded(decided: true, inGeneration: 1, at: at(100))
        _ = machine.ask(at: at(100))
        machine.setRate(.perSecond(40), burst: 1, at: at(100))
        #expect(machine.ask(at: at(100)) == .notBefore(at(101)))
        machine.setRate(ThrottleRate(1, per: .infinite), burst: .max, at: at(100))
        machine.setRate(.perSecond(1), burst: 1, at: at(100))
        machine.setRate(ThrottleRate(1, per: .infinite), burst: 1, at: at(100))
        machine.setRate(.perSecond(1), burst: 1, at: at(900))
        #expect(machine.allowed(asks: 5, at: at(900)) <= 1)
    }

    private func at(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }
}
