import Resilience
import TestSupport
import Testing

/// The possible states, at second 100, of a circuit that opens on the 2nd failure for 60 s.
enum CircuitStart: CaseIterable {
    case closed, oneShort, open, breakOver, halfOpen

    var circuit: ThreeStateCircuit {
        var circuit = ThreeStateCircuit(tripping: .consecutiveFailures(2), openFor: .seconds(60))
        func fail(_ times: Int, at second: Int64) {
            for _ in 0..<times { circuit.record(.transient, ticket: 0, at: .second(second)) }
        }
        switch self {
        case .closed: break
        case .oneShort: fail(1, at: 0)
        case .open: fail(2, at: 70)
        case .breakOver: fail(2, at: 0)
        case .halfOpen:
            fail(2, at: 0)
            _ = circuit.admit(at: .second(90))
        }
        return circuit
    }
}

private let now = MonotonicInstant.second(100)

// C1
@Suite struct ThreeStateCircuitTests {
    @Test(
        "in each state a call gets the expected admission",
        arguments: [
            (.closed, .allow(ticket: 0), .closed), (.oneShort, .allow(ticket: 0), .closed),
            (.open, .reject(retryAfter: .seconds(30)), .open), (.breakOver, .allow(ticket: 1), .halfOpen),
            (.halfOpen, .reject(retryAfter: .seconds(1)), .halfOpen),
        ] as [(CircuitStart, CircuitAdmission, CircuitState)])
    func admission(start: CircuitStart, admission: CircuitAdmission, state: CircuitState) {
        var circuit = start.circuit
        #expect(circuit.admit(at: now) == admission)
        #expect(circuit.state == state)
    }

    @Test(
        "from each state, each kind of end leads to the expected state",
        arguments: [
            (.closed, .success, .closed, 0), (.closed, .transient, .closed, 1), (.closed, .permanent, .closed, 0),
            (.closed, .throttled, .closed, 0), (.closed, .cancelled, .closed, 0), (.closed, .rejected, .closed, 0),
            (.oneShort, .success, .closed, 0), (.oneShort, .permanent, .closed, 0), (.oneShort, .throttled, .closed, 1),
            (.oneShort, .cancelled, .closed, 1), (.oneShort, .rejected, .closed, 1), (.oneShort, .transient, .open, 2),
            (.oneShort, .uncertain, .open, 2),
            (.open, .success, .open, 2), (.open, .transient, .open, 2), (.open, .cancelled, .open, 2),
            (.halfOpen, .success, .closed, 0), (.halfOpen, .permanent, .closed, 0), (.halfOpen, .transient, .open, 2),
            (.halfOpen, .uncertain, .open, 2), (.halfOpen, .throttled, .halfOpen, 0),
            (.halfOpen, .cancelled, .halfOpen, 0), (.halfOpen, .rejected, .halfOpen, 0),
        ] as [(CircuitStart, Verdict, CircuitState, Int)])
    func recording(start: CircuitStart, verdict: Verdict, state: CircuitState, failures: Int) {
        var circuit = start.circuit
        circuit.record(verdict, ticket: start == .halfOpen ? 1 : 0, at: now)
        #expect(circuit.state == state)
        #expect(circuit.status(at: now).failureCount == failures)
    }

    @Test("an infinite break never ends")
    func infiniteBreak() {
        var circuit = ThreeStateCircuit(
            tripping: .consecutiveFailures(1), openFor: .constant(Duration(attoseconds: .max)))
        circuit.record(.transient, ticket: 0, at: now)
        #expect(circuit.status(at: MonotonicInstant(nanoseconds: .max - 1)).state == .open)
        #expect(circuit.admit(at: MonotonicInstant(nanoseconds: .max - 1)) == .reject(retryAfter: nil))
    }

    @Test(
        "a circuit may be evicted only if closed, with nothing counted and no growth", arguments: CircuitStart.allCases)
    func forgettable(start: CircuitStart) {
        var circuit = start.circuit
        #expect(circuit.isAtRest(at: now) == (start == .closed))
        circuit.reset(keepingGrowth: true)
        #expect(circuit.isAtRest(at: now) == (start == .closed || start == .oneShort))
    }

    @Test("successes may be batched if the rule allows it, but not while a success would reset the growth")
    func tally() {
        var circuit = ThreeStateCircuit(tripping: .failures(1, over: .calls(4)))
        #expect(circuit.tallyEnds(after: now) == .distantFuture)
        circuit.record(.transient, at: now)
        circuit.reset(keepingGrowth: true)
        #expect(circuit.tallyEnds(after: now) == now)
    }

    @Test("the memory has the rest of a break, which is zero once the break is over")
    func memory() {
        #expect(CircuitStart.breakOver.circuit.memory(at: now)?.remaining == .zero)
        #expect(CircuitStart.open.circuit.memory(at: now)?.remaining == .seconds(30))
    }

    @Test("a break of negative length ends when it begins, not earlier")
    func negativeBreak() {
        var circuit = ThreeStateCircuit(tripping: .consecutiveFailures(1), openFor: NegativeBreak())
        circuit.record(.transient, ticket: 0, at: now)
        #expect(circuit.status(at: .second(98)).timeRemaining == .seconds(2))
        #expect(circuit.admit(at: now) == .allow(ticket: 1))
    }
}
