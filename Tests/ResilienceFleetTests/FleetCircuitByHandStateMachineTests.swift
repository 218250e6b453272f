import Testing

@testable import Resilience
@testable import ResilienceFleet

private func at(_ milliseconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: milliseconds * 1_000_000) }

/// Rejections while another member probes, and a break that is ended by hand in one member.
@Suite struct FleetCircuitByHandStateMachineTests {
    private var circuit = FleetCircuit(
        ThreeStateCircuit(tripping: .consecutiveFailures(2), openFor: .constant(.seconds(20))),
        openFor: .constant(.seconds(20)), rule: FleetTripRule(), grace: .seconds(600), ring: {})

    private mutating func told(_ state: BreakerAnswer.State, wait: Duration = .zero, epoch: Int64, at now: Int64) throws
    {
        let words = [state.rawValue, Int64(wait / .microseconds(1)), epoch, 1, 3]
        let answer = try #require(BreakerAnswer(words))
        let report = circuit.takeReport(at: at(now))
        circuit.obey(answer, to: report, lease: .seconds(60), at: at(now))
    }

    private mutating func admit(at now: Int64) -> CircuitAdmission {
        circuit.admit(at: at(now), using: SplitMix64(seed: 1))
    }

    @Test(
        "after the break, a call that is rejected during another member's probe gets a wait of at most a second (P64)"
    )
    mutating func anothersProbe() throws {
        try told(.open, wait: .seconds(20), epoch: 1, at: 0)
        #expect(admit(at: 5_000) == .reject(retryAfter: .seconds(15)))
        // Nobody has reported who probes.
        #expect(admit(at: 20_000) == .reject(retryAfter: .seconds(1)))
        try told(.open, wait: .seconds(40), epoch: 1, at: 20_100)
        #expect(admit(at: 20_200) == .reject(retryAfter: .seconds(1)))
    }

    @Test("a call that is rejected during this member's own probe gets a wait of at most a second (P64)")
    mutating func ownProbe() throws {
        try told(.open, wait: .seconds(1), epoch: 1, at: 0)
        try told(.probing, epoch: 1, at: 2_000)
        guard case .allow = admit(at: 2_000) else {
            Issue.record("it does not probe")
            return
        }
        #expect(admit(at: 2_000) == .reject(retryAfter: .seconds(1)))
    }

    @Test("a break of the fleet that is ended by hand stays ended in this process, until the fleet has news")
    mutating func endedByHand() throws {
        try told(.open, wait: .seconds(20), epoch: 1, at: 0)
        let isEnded = circuit.endBreak(at: at(1_000))
        #expect(isEnded && circuit.state == .halfOpen)
        try told(.open, wait: .seconds(19), epoch: 1, at: 1_100)
        guard case .allow(let ticket) = admit(at: 1_200) else {
            Issue.record("the next call does not probe")
            return
        }
        _ = circuit.record(CallEnd(.success, at: at(1_300)), ticket: ticket, using: SplitMix64(seed: 1))
        #expect(circuit.state == .closed)
        try told(.open, wait: .seconds(18), epoch: 1, at: 1_400)
        #expect(circuit.state == .closed)
        try told(.open, wait: .seconds(20), epoch: 2, at: 5_000)
        #expect(circuit.state == .open)
    }

    @Test("an engine that lost its data ends no break; an engine that counts from the beginning again is obeyed")
    mutating func emptied() throws {
        try told(.open, wait: .seconds(20), epoch: 2, at: 0)
        try told(.closed, epoch: 0, at: 1_000)
        #expect(circuit.state == .open)
        let isEnded = circuit.endBreak(at: at(2_000))
        #expect(isEnded)
        try told(.open, wait: .seconds(20), epoch: 3, at: 3_000)
        #expect(circuit.state == .open)
        try told(.closed, epoch: 4, at: 4_000)
        #expect(circuit.state == .closed)
        // This is the number of the break that was ended by hand.
        try told(.open, wait: .seconds(20), epoch: 2, at: 5_000)
        #expect(circuit.state == .open)
        try told(.closed, epoch: 3, at: 6_000)
        #expect(circuit.state == .closed)
    }

    @Test("if a probe was requested after one break, none is requested after the next until a call has come")
    mutating func wanted() throws {
        for (number, state) in [BreakerAnswer.State.open, .closed, .open].enumerated() {
            let (epoch, now) = (Int64(number * 2), Int64(number * 1_000_000))
            try told(.open, wait: .seconds(100), epoch: epoch + 1, at: now)
            #expect(!circuit.takeReport(at: at(now + 100)).wantsProbe)
            _ = admit(at: now + 101_000)
            #expect(circuit.takeReport(at: at(now + 101_000)).wantsProbe)
            try told(state, wait: .seconds(100), epoch: epoch + 2, at: now + 102_000)
            #expect(!circuit.takeReport(at: at(now + 102_100)).wantsProbe)
        }
    }

    @Test("observations before a change of the fleet's state are not reported after it")
    mutating func forgotten() throws {
        for epoch in 1...3 as ClosedRange<Int64> {
            guard case .allow(let ticket) = admit(at: epoch * 1_000) else {
                Issue.record("it does not let the call in")
                return
            }
            let verdict = epoch == 2 ? Verdict.success : .transient
            _ = circuit.record(CallEnd(verdict, at: at(epoch * 1_000)), ticket: ticket, using: SplitMix64(seed: 1))
            let before = circuit.takeReport(at: at(epoch * 1_000))
            #expect((before.calls, before.failures) == (1, epoch == 2 ? 0 : 1))
            try told(.closed, epoch: epoch, at: epoch * 1_000 + 1)
            let after = circuit.takeReport(at: at(epoch * 1_000 + 2))
            #expect((after.calls, after.failures) == (0, 0))
        }
    }

    @Test("once the engine is away, a turn to probe belongs to this circuit alone, and the result is not reported")
    mutating func awayWhileProbing() throws {
        for round in 0..<2 as Range<Int64> {
            let now = round * 100_000
            try told(.open, wait: .seconds(1), epoch: 2 * round + 1, at: now)
            try told(.probing, epoch: 2 * round + 1, at: now + 2_000)
            circuit.engineIsAway()
            #expect(circuit.order == .none && circuit.state == .halfOpen)
            guard case .allow(let ticket) = admit(at: now + 3_000) else {
                Issue.record("it does not probe")
                return
            }
            _ = circuit.record(CallEnd(.success, at: at(now + 3_000)), ticket: ticket, using: SplitMix64(seed: 1))
            #expect(circuit.state == .closed && circuit.takeReport(at: at(now + 3_000)).result == nil)
        }
    }

    @Test("a turn to probe ends without a result if no other call comes, even after the first of several probes")
    mutating func unclear() throws {
        circuit = FleetCircuit(
            ThreeStateCircuit(
                tripping: .consecutiveFailures(2), openFor: .constant(.seconds(20)), closing: .successes(2)),
            openFor: .constant(.seconds(20)), rule: FleetTripRule(), grace: .seconds(10), ring: {})
        try told(.open, wait: .seconds(1), epoch: 1, at: 0)
        try told(.probing, epoch: 1, at: 2_000)
        guard case .allow(let ticket) = admit(at: 3_000) else {
            Issue.record("it does not probe")
            return
        }
        // A probe in flight keeps the turn.
        #expect(circuit.takeReport(at: at(12_500)).result == nil)
        _ = circuit.record(CallEnd(.success, at: at(12_500)), ticket: ticket, using: SplitMix64(seed: 1))
        #expect(circuit.takeReport(at: at(12_600)).result == .unclear)
    }

    @Test("a circuit that goes half-open alone, then gets a turn to probe, is half-open again after that turn")
    mutating func aloneThenOrdered() throws {
        circuit = FleetCircuit(
            ThreeStateCircuit(tripping: .consecutiveFailures(2), openFor: .constant(.seconds(20))),
            openFor: .constant(.seconds(20)), rule: FleetTripRule(), grace: .seconds(10), ring: {})
        try told(.open, wait: .seconds(1), epoch: 1, at: 0)
        // Nobody called until the order lapsed.
        circuit.timePassed(at: at(12_000))
        #expect(circuit.order == .none && circuit.state == .halfOpen)
        try told(.probing, epoch: 1, at: 13_000)
        try told(.open, epoch: 1, at: 30_000)
        #expect(circuit.order == .none && circuit.state == .halfOpen)
    }

    @Test("a closed circuit has no break to end")
    mutating func closed() {
        let isEnded = circuit.endBreak(at: at(0))
        #expect(!isEnded && circuit.state == .closed)
    }
}
