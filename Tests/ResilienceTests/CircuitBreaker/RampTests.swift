import TestSupport
import Testing

@testable import Resilience

@Suite struct RampTests {
    /// Opens on the 2nd failure in a row, for 60 s; after a good probe, admits a growing share of calls for 10 s.
    private func ramped(at second: Int64) -> ThreeStateCircuit {
        var circuit = ThreeStateCircuit(tripping: .consecutiveFailures(2), ramp: .seconds(10))
        for _ in 0..<2 { circuit.record(.transient, at: .second(second - 60)) }
        _ = circuit.admit(at: .second(second))
        circuit.record(.success, ticket: 1, at: .second(second))
        return circuit
    }

    @Test(
        "the admitted share grows with time, from a tenth to all, evenly spread",
        arguments: [(0, 100), (1, 100), (2, 200), (5, 500), (9, 900), (10, 1000), (500, 1000)])
    func share(second: Int64, of1000: Int) {
        var circuit = ramped(at: 100)
        let admissions = (0..<1000).map { _ in circuit.admit(at: .second(100 + second)) }
        #expect(admissions.count { $0 == .allow(ticket: 0) } == of1000)
        // Of any ten calls in sequence, the admitted number is right to within one call.
        for start in stride(from: 0, to: 1000, by: 10) {
            let share = admissions[start..<start + 10].count { $0 == .allow(ticket: 0) }
            #expect(abs(share - of1000 / 100) <= 1)
        }
    }

    @Test("a ramp of a nanosecond works")
    func shortest() {
        var circuit = ThreeStateCircuit(tripping: .consecutiveFailures(1), ramp: .nanoseconds(1))
        circuit.record(.transient, at: .second(0))
        _ = circuit.admit(at: .second(60))
        circuit.record(.success, ticket: 1, at: .second(60))
        #expect(circuit.state == .halfOpen)
        _ = circuit.admit(at: .second(61))
        #expect(circuit.state == .closed)
    }

    @Test("a ramp of the greatest possible length does not trap, and admits at most a tenth of the calls")
    func endless() {
        var circuit = ThreeStateCircuit(tripping: .consecutiveFailures(1), ramp: .seconds(Int64.max))
        circuit.record(.transient, at: .second(0))
        _ = circuit.admit(at: .second(60))
        circuit.record(.success, ticket: 1, at: .second(60))
        let admissions = (0..<100).map { _ in circuit.admit(at: .second(61)) }
        #expect(admissions.count { $0 == .allow(ticket: 0) } == 9)
    }
}
