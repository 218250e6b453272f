import Testing

@testable import Resilience
@testable import ResilienceFleet

private func at(_ milliseconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: milliseconds * 1_000_000) }

/// What calls are told while another member probes, and a break that is ended by hand in one member.
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
        "after the break, a call that another member's probe keeps out is told of a second at most, not of a lease (P64)"
    )
    mutating func anothersProbe() throws {
        try told(.open, wait: .seconds(20), epoch: 1, at: 0)
        #expect(admit(at: 5_000) == .reject(retryAfter: .seconds(15)))
        // Nobody has said who probes.
        #expect(admit(at: 20_000) == .reject(retryAfter: .seconds(1)))
        try told(.open, wait: .seconds(40), epoch: 1, at: 20_100)
        #expect(admit(at: 20_200) == .reject(retryAfter: .seconds(1)))
    }

    @Test("a call that this member's own probe keeps out is told of a second at most (P64)")
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

    @Test("a closed circuit has no break to end")
    mutating func closed() {
        let isEnded = circuit.endBreak(at: at(0))
        #expect(!isEnded && circuit.state == .closed)
    }
}
