import TestSupport
import Testing

@testable import Resilience

@Suite struct RampTests {
    /// Opens on the 2nd failure in a row, for 60 s; after a good probe a growing share for 10 s.
    private func ramped(at second: Int64) -> ThreeStateCircuit {
        var circuit = ThreeStateCircuit(tripping: .consecutiveFailures(2), ramp: .seconds(10))
        for _ in 0..<2 { circuit.record(.transient, at: .second(second - 60)) }
        _ = circuit.admit(at: .second(second))
        circuit.record(.success, ticket: 1, at: .second(second))
        return circuit
    }

    @Test(
        "the share that is let in grows with time, from a tenth to all, evenly spread",
        arguments: [(0, 100), (1, 100), (2, 200), (5, 500), (9, 900), (10, 1000), (500, 1000)])
    func share(second: Int64, of1000: Int) {
        var circuit = ramped(at: 100)
        let admissions = (0..<1000).map { _ in circuit.admit(at: .second(100 + second)) }
        #expect(admissions.count { $0 == .allow(ticket: 0) } == of1000)
        // Of any ten that follow each other a share is let in that is right to one call.
        for start in stride(from: 0, to: 1000, by: 10) {
            let share = admissions[start..<start + 10].count { $0 == .allow(ticket: 0) }
            #expect(abs(share - of1000 / 100) <= 1)
        }
    }

    @Test("it is half-open until the ramp is over, and closed by the first call after")
    func closes() {
        var circuit = ramped(at: 100)
        _ = circuit.admit(at: .second(109))
        #expect(circuit.state == .halfOpen && !circuit.wantsProbe(at: .second(109)))
        _ = circuit.admit(at: .second(110))
        #expect(circuit.state == .closed && circuit.trips == 0)
    }

    @Test("a ramp of a nanosecond is one")
    func shortest() {
        var circuit = ThreeStateCircuit(tripping: .consecutiveFailures(1), ramp: .nanoseconds(1))
        circuit.record(.transient, at: .second(0))
        _ = circuit.admit(at: .second(60))
        circuit.record(.success, ticket: 1, at: .second(60))
        #expect(circuit.state == .halfOpen)
        _ = circuit.admit(at: .second(61))
        #expect(circuit.state == .closed)
    }

    @Test("in the ramp the rule counts as in a closed circuit, from nothing; when it trips the break has grown")
    func trips() {
        var circuit = ThreeStateCircuit(
            tripping: .consecutiveFailures(2), openFor: .exponential(from: .seconds(60)), ramp: .seconds(10))
        for _ in 0..<2 { circuit.record(.transient, at: .second(0)) }
        _ = circuit.admit(at: .second(60))
        circuit.record(.success, ticket: 1, at: .second(60))
        circuit.record(.transient, at: .second(61))
        #expect(circuit.state == .halfOpen)
        circuit.record(.success, at: .second(62))
        for _ in 0..<2 { circuit.record(.transient, at: .second(63)) }
        #expect(circuit.state == .open && circuit.status(at: .second(63)).timeRemaining == .seconds(120))
    }

    @Test("the end of a probe whose fellows were enough decides nothing in the ramp")
    func lateProbe() {
        var circuit = ThreeStateCircuit(
            tripping: .consecutiveFailures(1), probes: 2, closing: .successes(1, of: 2), ramp: .seconds(10))
        circuit.record(.transient, at: .second(0))
        for _ in 0..<2 { _ = circuit.admit(at: .second(60)) }
        circuit.record(.success, ticket: 1, at: .second(60))
        circuit.record(.transient, ticket: 2, at: .second(61))
        #expect(circuit.state == .halfOpen)
    }

    @Test("a ramp as long as all time neither traps nor lets more than its tenth in")
    func endless() {
        var circuit = ThreeStateCircuit(tripping: .consecutiveFailures(1), ramp: .seconds(Int64.max))
        circuit.record(.transient, at: .second(0))
        _ = circuit.admit(at: .second(60))
        circuit.record(.success, ticket: 1, at: .second(60))
        let admissions = (0..<100).map { _ in circuit.admit(at: .second(61)) }
        #expect(admissions.count { $0 == .allow(ticket: 0) } == 9)
    }

    @Test("settings that can't be are rejected with a message that names them")
    func nonsense() async {
        var result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ThreeStateCircuit(ramp: .seconds(-1))
        }
        #expect(errorText(result).contains("ramp is -1 s, and must not be negative"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ThreeStateCircuit(excess: .waits(upTo: .zero))
        }
        #expect(errorText(result).contains("excessWaits is 0 s, and must be above zero"))
    }
}
