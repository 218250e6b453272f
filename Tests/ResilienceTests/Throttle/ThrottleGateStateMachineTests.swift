@testable import Resilience
import ResilienceTesting
import Testing

@Suite struct ThrottleGateStateMachineTests {
    @Test("while the gate is shut nobody goes, and the first one after it is the only probe")
    func oneProbe() {
        var machine = gate()
        machine.hold(until: at(10))
        #expect(machine.ask(at: at(9)) == .held(until: at(10)))
        #expect(machine.ask(at: at(10)) == .probe)
        #expect(machine.ask(at: at(10)) == .probing(until: at(70)))
    }

    @Test("a longer hold stays, a shorter one changes nothing")
    func longest() {
        var machine = gate()
        machine.hold(until: at(10))
        machine.hold(until: at(5))
        #expect(machine.gate == .held(until: at(10)))
        machine.hold(until: at(12))
        #expect(machine.gate == .held(until: at(12)) && machine.generation == 1 && machine.holds == 1)
    }

    @Test("a probe that is well opens the gate, and forgets how often it was shut")
    func recovery() {
        var machine = gate()
        machine.hold(until: at(10))
        _ = machine.ask(at: at(10))
        machine.probeEnded(decided: true, inGeneration: 1, at: at(11))
        #expect(machine.gate == .open && machine.holds == 0)
        #expect(machine.ask(at: at(11)) == .go)
    }

    @Test("after a good probe calls go on at the rate, not with a burst")
    func noBurstAfterRecovery() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 20)
        machine.hold(until: at(10))
        _ = machine.ask(at: at(10))
        machine.probeEnded(decided: true, inGeneration: 1, at: at(11))
        #expect(machine.ask(at: at(11)) == .go)
        #expect(machine.ask(at: at(11)) == .notBefore(at(12)))
        #expect(machine.ask(at: at(12)) == .go)
        #expect(machine.ask(at: at(12)) == .notBefore(at(13)))
    }

    @Test("those in line before a hold are first in line after it: the first probes, the rest go at the rate")
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

    @Test("what costs more than there ever is is told so at a shut gate, too, and is no probe")
    func tooMuchAtTheGate() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 2)
        machine.hold(until: at(10))
        #expect(machine.ask(cost: 3, at: at(5)) == .never)
        #expect(machine.ask(cost: 3, at: at(10)) == .never)
        #expect(machine.ask(cost: 2, at: at(10)) == .probe)
    }

    @Test("a 429 during a hold belongs to it; one of its probe comes after it")
    func holdsBefore() {
        var machine = gate()
        #expect(machine.holdsBefore == 0)
        machine.hold(until: at(10))
        #expect(machine.holdsBefore == 0)
        _ = machine.ask(at: at(10))
        #expect(machine.holdsBefore == 1)
        machine.hold(until: at(20))
        #expect(machine.holdsBefore == 1)
    }

    @Test("a hold for another reason than a 429 does not count, and one that a 429 prolongs does")
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

    @Test("a hold that is ended is over now, one that ended before stays as it was, and an open gate stays open")
    func endHold() {
        var machine = gate()
        machine.endHold(at: at(1))
        #expect(machine.gate == .open)
        machine.hold(until: at(10))
        machine.endHold(at: at(5))
        #expect(machine.gate == .held(until: at(5)))
        machine.endHold(at: at(7))
        #expect(machine.gate == .held(until: at(5)))
    }

    @Test("a cancelled probe decides nothing: the next call is the probe")
    func cancelledProbe() {
        var machine = gate()
        machine.hold(until: at(10))
        _ = machine.ask(at: at(10))
        machine.probeEnded(decided: false, inGeneration: 1, at: at(11))
        #expect(machine.ask(at: at(11)) == .probe)
        #expect(machine.holds == 1)
    }

    @Test("a probe that never reports back loses its place when its lease ends")
    func lease() {
        var machine = gate()
        machine.hold(until: at(10))
        _ = machine.ask(at: at(10))
        #expect(machine.ask(at: at(69)) == .probing(until: at(70)))
        #expect(machine.ask(at: at(70)) == .probe)
        #expect(machine.ask(at: at(129)) == .probing(until: at(130)))
    }

    @Test("a probe that lost its place to another decides nothing, however it ends (P4)")
    func replacedProbe() {
        var machine = gate()
        machine.hold(until: at(10))
        _ = machine.ask(at: at(10))
        let lost = machine.generation
        #expect(machine.ask(at: at(70)) == .probe)
        machine.probeEnded(decided: false, inGeneration: lost, at: at(71))
        machine.probeEnded(decided: true, inGeneration: lost, at: at(71))
        #expect(!machine.minds(throttledInGeneration: lost, wasProbe: true))
        #expect(machine.ask(at: at(71)) == .probing(until: at(130)))
        machine.probeEnded(decided: true, inGeneration: machine.generation, at: at(72))
        #expect(machine.gate == .open && machine.holds == 0)
    }

    @Test("the news of a probe from an earlier hold is ignored")
    func lateProbe() {
        var machine = gate()
        machine.hold(until: at(10))
        _ = machine.ask(at: at(10))
        machine.hold(until: at(20))
        machine.probeEnded(decided: true, inGeneration: 1, at: at(12))
        #expect(machine.gate == .held(until: at(20)))
        #expect(machine.ask(at: at(20)) == .probe)
        machine.probeEnded(decided: true, inGeneration: 1, at: at(20))
        #expect(machine.ask(at: at(21)) == .probing(until: at(80)))
    }

    @Test("of late 429s, those admitted before the last hold are ignored once it is over")
    func lateThrottled() {
        var machine = gate()
        #expect(machine.minds(throttledInGeneration: 0, wasProbe: false))
        machine.hold(until: at(10))
        #expect(machine.minds(throttledInGeneration: 0, wasProbe: false))
        _ = machine.ask(at: at(10))
        #expect(!machine.minds(throttledInGeneration: 0, wasProbe: false))
        #expect(machine.minds(throttledInGeneration: 1, wasProbe: true))
        #expect(!machine.minds(throttledInGeneration: 0, wasProbe: true))
        #expect(!machine.minds(throttledInGeneration: 1, wasProbe: false))
        machine.probeEnded(decided: true, inGeneration: 1, at: at(11))
        #expect(!machine.minds(throttledInGeneration: 0, wasProbe: false))
        #expect(machine.minds(throttledInGeneration: 1, wasProbe: false))
    }

    @Test("random holds, asks and ends: never two living probes, never a call while shut", arguments: 0..<4)
    func walk(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var machine = gate()
        var now = MonotonicInstant(nanoseconds: 0)
        var shutUntil: MonotonicInstant?
        var probe: (generation: UInt64, leaseEnds: MonotonicInstant)?
        for _ in 0..<50_000 {
            now = now + .seconds(Int.random(in: 0...20, using: &random))
            switch Int.random(in: 0..<6, using: &random) {
            case 0:
                let until = now + .seconds(Int.random(in: -5...30, using: &random))
                machine.hold(until: until)
                shutUntil = probe == nil ? max(shutUntil ?? until, until) : until
                probe = nil
            case 1:
                guard let ended = probe else { continue }
                let decided = Bool.random(using: &random)
                machine.probeEnded(decided: decided, inGeneration: ended.generation, at: now)
                probe = nil
                shutUntil = decided ? nil : now
            default:
                let answer = machine.ask(at: now)
                if let ended = probe, now < ended.leaseEnds {
                    try #require(answer == .probing(until: ended.leaseEnds))
                } else if probe == nil, shutUntil == nil {
                    try #require(answer == .go)
                } else if probe == nil, let shutUntil, now < shutUntil {
                    try #require(answer == .held(until: shutUntil))
                } else {
                    try #require(answer == .probe)
                    probe = (machine.generation, now + ThrottleStateMachine.probeLease)
                }
            }
        }
    }

    private func gate() -> ThrottleStateMachine { ThrottleStateMachine(rate: nil, burst: 1) }

    private func at(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }
}
