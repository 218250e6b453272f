import Resilience
import TestSupport
import Testing

/// Where a circuit that opens on the 2nd failure, for 60 s, can stand at second 100.
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
        "what a call meets in each state",
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
        "where each end of a call leads from each state",
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

    @Test("a reset closes from every state, with nothing counted", arguments: CircuitStart.allCases)
    func reset(start: CircuitStart) {
        var circuit = start.circuit
        circuit.reset(keepingGrowth: false)
        #expect(circuit.isAtRest)
        #expect(circuit.status(at: now) == CircuitBreakerStatus(state: .closed, failureCount: 0, failureLimit: 2))
    }

    @Test(
        "asking for the status in each state, which changes nothing",
        arguments: [
            (.closed, .closed, 0, nil), (.oneShort, .closed, 1, nil), (.open, .open, 2, .seconds(30)),
            (.breakOver, .halfOpen, 0, nil), (.halfOpen, .halfOpen, 0, nil),
        ] as [(CircuitStart, CircuitState, Int, Duration?)])
    func status(start: CircuitStart, state: CircuitState, failures: Int, remaining: Duration?) {
        // In the half-open one, the only probe is out.
        let expected = CircuitBreakerStatus(
            state: state, failureCount: failures, failureLimit: state == .halfOpen ? 1 : 2,
            callCount: state == .halfOpen ? 0 : nil, timeRemaining: remaining,
            isAllowed: start != .open && start != .halfOpen)
        #expect(start.circuit.status(at: now) == expected)
        #expect(start.circuit.isAtRest == (start == .closed))
    }

    @Test("it opens again on the nanosecond that the break is over, not one before")
    func boundary() {
        var circuit = CircuitStart.open.circuit
        #expect(
            circuit.admit(at: MonotonicInstant(nanoseconds: 129_999_999_999)) == .reject(retryAfter: .nanoseconds(1)))
        #expect(circuit.status(at: .second(130)).isAllowed && circuit.status(at: .second(130)).state == .halfOpen)
        #expect(circuit.admit(at: .second(130)) == .allow(ticket: 1))
    }

    @Test("a probe that fails opens it again for a whole break, and a longer one when breaks grow")
    func growth() {
        var circuit = ThreeStateCircuit(tripping: .consecutiveFailures(1), openFor: .exponential())
        circuit.record(.transient, ticket: 0, at: .second(0))
        var (time, breaks) = (MonotonicInstant.second(0), [Duration]())
        for probe in 1...6 {
            let remaining = circuit.status(at: time).timeRemaining
            breaks.append(remaining ?? .zero)
            time = time + breaks[probe - 1]
            _ = circuit.admit(at: time)
            circuit.record(.transient, ticket: UInt64(probe), at: time)
        }
        #expect(breaks == [30, 60, 120, 240, 300, 300].map { .seconds($0) })
    }

    @Test("a success that closes it sets the growth of breaks back; so does a reset, unless told to keep it")
    func growthSetBack() {
        var circuit = ThreeStateCircuit(tripping: .consecutiveFailures(1), openFor: .exponential())
        func nextBreak() -> Duration? {
            circuit.record(.transient, ticket: 0, at: now)
            return circuit.status(at: now).timeRemaining
        }
        #expect(nextBreak() == .seconds(30))
        circuit.reset(keepingGrowth: true)
        #expect(!circuit.isAtRest)
        #expect(nextBreak() == .seconds(60))
        circuit.reset(keepingGrowth: true)
        circuit.record(.success, ticket: 0, at: now)
        #expect(circuit.isAtRest)
        #expect(nextBreak() == .seconds(30))
        circuit.reset(keepingGrowth: false)
        #expect(nextBreak() == .seconds(30))
        _ = circuit.admit(at: now + .seconds(30))
        circuit.record(.success, ticket: 1, at: now + .seconds(30))
        #expect(nextBreak() == .seconds(30))
    }

    @Test("a break without end never ends")
    func infiniteBreak() {
        var circuit = ThreeStateCircuit(
            tripping: .consecutiveFailures(1), openFor: .constant(Duration(attoseconds: .max)))
        circuit.record(.transient, ticket: 0, at: now)
        #expect(circuit.status(at: MonotonicInstant(nanoseconds: .max - 1)).state == .open)
        #expect(circuit.admit(at: MonotonicInstant(nanoseconds: .max - 1)) == .reject(retryAfter: nil))
    }

    @Test("a reading that goes back does not prolong a break: it ends at its own instant")
    func backwards() {
        var circuit = CircuitStart.open.circuit
        #expect(circuit.admit(at: .second(-3530)) == .reject(retryAfter: .seconds(3660)))
        #expect(circuit.admit(at: .second(130)) == .allow(ticket: 1))
    }

    @Test("it may be forgotten only closed, with nothing counted and no growth", arguments: CircuitStart.allCases)
    func forgettable(start: CircuitStart) {
        var circuit = start.circuit
        #expect(circuit.isAtRest(at: now) == (start == .closed))
        circuit.reset(keepingGrowth: true)
        #expect(circuit.isAtRest(at: now) == (start == .closed || start == .oneShort))
    }

    @Test("successes may be told together where the rule allows it, but not while one would set the growth back")
    func tally() {
        var circuit = ThreeStateCircuit(tripping: .failures(1, over: .calls(4)))
        #expect(circuit.tallyEnds(after: now) == .distantFuture)
        circuit.record(.transient, at: now)
        circuit.reset(keepingGrowth: true)
        #expect(circuit.tallyEnds(after: now) == now)
    }

    @Test("a break that is over is remembered with nothing remaining, one that is not with what remains")
    func memory() {
        #expect(CircuitStart.breakOver.circuit.memory(at: now)?.remaining == .zero)
        #expect(CircuitStart.open.circuit.memory(at: now)?.remaining == .seconds(30))
    }

    @Test("a break of less than no time is over at once, not before")
    func negativeBreak() {
        var circuit = ThreeStateCircuit(tripping: .consecutiveFailures(1), openFor: NegativeBreak())
        circuit.record(.transient, ticket: 0, at: now)
        #expect(circuit.status(at: .second(98)).timeRemaining == .seconds(2))
        #expect(circuit.admit(at: now) == .allow(ticket: 1))
    }

    @Test("the description says when it opens, for how long, and what tests it")
    func description() {
        let text = "opens on 5 in a row of transient+uncertain, for 60 s, then 1 probe at a time, closing on 1 success"
        #expect("\(ThreeStateCircuit())" == text)
    }
}

@Suite struct ThreeStateCircuitInputTests {
    @Test("no probes at all are rejected with a message that names them")
    func probes() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ThreeStateCircuit(probes: 0)
        }
        #expect(errorText(result).contains("probes is 0, and must be at least 1"))
    }

    @Test("a number of successes below one is rejected with a message that names it")
    func successesToClose() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ThreeStateCircuit(closing: .successes(-3))
        }
        #expect(errorText(result).contains("successes is -3, and must be at least 1"))
    }

    @Test("a lease of no time is rejected with a message that names it")
    func probeLease() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ThreeStateCircuit(probeLease: .zero)
        }
        #expect(errorText(result).contains("probeLease is 0 s, and must be above zero"))
    }
}
