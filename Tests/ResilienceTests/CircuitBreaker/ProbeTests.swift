import Resilience
import TestSupport
import Testing

/// A circuit that has just become half-open at second 60, its first probe admitted with ticket 1.
private func halfOpen(
    probes: Int = 1, closing: ProbeRule? = nil, probeLease: Duration = .seconds(60)
) -> ThreeStateCircuit {
    var circuit = ThreeStateCircuit(
        tripping: .consecutiveFailures(1), openFor: .seconds(60), probes: probes,
        closing: closing ?? .successes(probes), probeLease: probeLease)
    circuit.record(.transient, ticket: 0, at: .second(0))
    _ = circuit.admit(at: .second(60))
    return circuit
}

@Suite struct ProbeTests {
    @Test("no more probes than allowed are let through at the same time", arguments: [1, 2, 5])
    func limit(probes: Int) {
        var circuit = halfOpen(probes: probes)
        let admitted = (0..<20).count { _ in circuit.admit(at: .second(60)) != .reject(retryAfter: .seconds(1)) }
        #expect(admitted == probes - 1)
    }

    @Test(
        "a probe whose end says nothing frees its place for another and does not close the circuit (P1)",
        arguments: [.cancelled, .rejected, .throttled] as [Verdict])
    func undecided(verdict: Verdict) {
        var circuit = halfOpen()
        circuit.record(verdict, ticket: 1, at: .second(61))
        #expect(circuit.state == .halfOpen)
        #expect(circuit.admit(at: .second(61)) == .allow(ticket: 2))
    }

    @Test(
        "a probe that never reports does not block recovery for ever: its place is given to another when its lease ends"
    )
    func lease() {
        var circuit = halfOpen(probeLease: .seconds(10))
        #expect(circuit.admit(at: .second(69)) == .reject(retryAfter: .seconds(1)))
        #expect(!circuit.status(at: .second(69)).isAllowed && circuit.status(at: .second(70)).isAllowed)
        #expect(circuit.admit(at: .second(70)) == .allow(ticket: 2))
    }

    @Test("a probe that reports after its place was given away decides nothing and frees nothing")
    func afterTheLease() {
        for verdict in [Verdict.success, .transient, .cancelled] {
            var circuit = halfOpen(probeLease: .seconds(10))
            _ = circuit.admit(at: .second(70))
            circuit.record(verdict, ticket: 1, at: .second(71))
            #expect(circuit.admit(at: .second(71)) == .reject(retryAfter: .seconds(1)))
            #expect(circuit.state == .halfOpen)
        }
    }

    @Test("a probe reported twice, or one that was never admitted, does not make room for more than are allowed")
    func neverTaken() {
        var circuit = halfOpen(probes: 2)
        _ = circuit.admit(at: .second(60))
        for ticket: UInt64 in [1, 1, 1, 0, 99] { circuit.record(.cancelled, ticket: ticket, at: .second(61)) }
        #expect(circuit.admit(at: .second(61)) == .allow(ticket: 3))
        #expect(circuit.admit(at: .second(61)) != .allow(ticket: 4))
    }

    @Test("as many probes must succeed as asked for")
    func successesToClose() {
        var circuit = halfOpen(closing: .successes(3))
        for ticket: UInt64 in 1...3 {
            #expect(circuit.state == .halfOpen)
            circuit.record(.success, ticket: ticket, at: .second(61))
            _ = circuit.admit(at: .second(61))
        }
        #expect(circuit.state == .closed)
    }

    @Test("one success counted twice does not close a circuit that wants two")
    func doubleSuccess() {
        var circuit = halfOpen(closing: .successes(2))
        circuit.record(.success, ticket: 1, at: .second(61))
        circuit.record(.success, ticket: 1, at: .second(61))
        #expect(circuit.state == .halfOpen)
    }

    @Test("one failing probe opens it again, whatever the others did before")
    func oneFailure() {
        var circuit = halfOpen(probes: 3, closing: .successes(3))
        _ = circuit.admit(at: .second(60))
        circuit.record(.success, ticket: 1, at: .second(61))
        circuit.record(.transient, ticket: 2, at: .second(62))
        #expect(circuit.status(at: .second(62)).timeRemaining == .seconds(60))
    }

    @Test("successes before a new break do not count after it")
    func successesForgotten() {
        var circuit = halfOpen(closing: .successes(2))
        circuit.record(.success, ticket: 1, at: .second(61))
        _ = circuit.admit(at: .second(61))
        circuit.record(.transient, ticket: 2, at: .second(62))
        _ = circuit.admit(at: .second(122))
        circuit.record(.success, ticket: 3, at: .second(123))
        #expect(circuit.state == .halfOpen)
    }
}
