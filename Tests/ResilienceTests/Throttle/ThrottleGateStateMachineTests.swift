@testable import Resilience
import ResilienceTesting
import Testing

@Suite struct ThrottleGateStateMachineTests {
    @Test("while the gate is shut no call goes, and the first call after it is the only probe")
    func oneProbe() {
        var machine = gate()
        machine.hold(until: at(10))
        #expect(machine.ask(at: at(9)) == .held(until: at(10)))
        #expect(machine.ask(at: at(10)) == .probe)
        #expect(machine.ask(at: at(10)) == .probing(until: at(70)))
    }

    @Test("calls in line before a hold go first after the hold: the first call probes, the others go at the rate")
    func lineBeforeTheHold() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 1)
        _ = machine.ask(at: at(0))
        let tickets = (0..<3).map { _ in machine.join(at: at(0)) }
        machine.hold(until: at(10))
        #expect(machine.admitted(at: at(9)) == [])
        #expect(machine.askAgain(tickets[2], at: at(9)) == .held(until: at(10)))
        #expect(machine.ask(at: at(10)) == .held(until: at(10)))
        let next = machine.admitNext(at: at(10))
        #expect(next?.ticket == tickets[0] && next?.answer == .probe)
        #expect(machine.ask(at: at(10)) == .probing(until: at(70)))
        #expect(machine.askAgain(tickets[2], at: at(10)) == .probing(until: at(70)))
        machine.probeEnded(decided: true, inGeneration: 1, at: at(11))
        #expect(machine.admitted(at: at(11)) == [tickets[1]])
        #expect(machine.askAgain(tickets[2], at: at(11)) == .notBefore(at(12)))
        #expect(machine.ask(at: at(11)) == .notBefore(at(13)))
    }

    @Test("a call whose cost exceeds the burst is also rejected at a shut gate, and does not probe")
    func tooMuchAtTheGate() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 2)
        machine.hold(until: at(10))
        #expect(machine.ask(cost: 3, at: at(5)) == .never)
        #expect(machine.ask(cost: 3, at: at(10)) == .never)
        #expect(machine.ask(cost: 2, at: at(10)) == .probe)
    }

    @Test("a hold not caused by a 429 does not count until a 429 prolongs it")
    func uncountedHolds() {
        var machine = gate()
        machine.hold(until: at(10), counts: false)
        #expect(machine.holds == 0 && machine.holdsBefore == 0)
        machine.hold(until: at(20))
        machine.hold(until: at(30))
        #expect(machine.holds == 1 && machine.holdsBefore == 0)
        _ = machine.ask(at: at(30))
        machine.hold(until: at(40), counts: false)
        #expect(machine.holds == 1 && machine.holdsBefore == 1 && machine.gate == .held(until: at(40)))
    }

    private func gate() -> ThrottleStateMachine { ThrottleStateMachine(rate: nil, burst: 1) }

    private func at(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }
}
