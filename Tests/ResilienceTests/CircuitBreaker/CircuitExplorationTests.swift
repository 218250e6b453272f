import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// A circuit beside a machine of the same kind that is told only what is not late, and the list of all changes of state.
private struct WitnessedCircuit: ExplorableMachine {
    enum Input: Hashable {
        case admit
        case end(Int, Verdict)
        /// A call that is never heard of again.
        case lose(Int)
        case wait
        case reset(keepingGrowth: Bool)
    }

    private struct Admitted {
        /// How many changes there had been.
        let changes: Int
        let generation: UInt64
        let ticket: UInt64
    }

    private var circuit: Circuit
    private var witness: any CircuitStateMachine
    /// Every change of state; nil for a reset, which makes all that came before it late.
    private var changes: [Circuit.Transition?] = []
    private var outside: [Admitted] = []
    private let maxOutside: Int
    private var now = Instant(nanoseconds: 0)

    init(_ machine: any CircuitStateMachine, outside: Int = 2) {
        circuit = Circuit(machine)
        witness = machine
        maxOutside = outside
    }

    var inputs: [Input] {
        var inputs: [Input] = [.wait, .reset(keepingGrowth: true), .reset(keepingGrowth: false)]
        if outside.count < maxOutside { inputs.append(.admit) }
        for index in outside.indices {
            inputs.append(.lose(index))
            for verdict in [Verdict.success, .transient, .throttled, .cancelled] { inputs.append(.end(index, verdict)) }
        }
        return inputs
    }

    /// What is late stays late: of such a call only that it is out makes a difference.
    var identity: [Int64]? {
        let calls = outside.flatMap { call in
            [call.generation == circuit.generation, isLate(call), call.ticket > 0].map { Int64($0 ? 1 : 0) }
        }
        return snapshot(circuit.machine) + snapshot(witness) + calls
    }

    private func isLate(_ call: Admitted) -> Bool { call.changes < changes.count }

    /// All of a machine's state, with readings counted from now and tickets by their place among the calls outside.
    private func snapshot(_ machine: any CircuitStateMachine) -> [Int64] {
        let failures = Int64(min(machine.status(at: now).failureCount, 5))
        func left(_ instant: Instant) -> Int64 { max(0, instant.nanoseconds - now.nanoseconds) }
        if let gate = machine as? BackoffGate {
            return [failures, Int64(min(gate.trips, 5)), gate.shutUntil.map(left) ?? -1]
        }
        guard let circuit = machine as? ThreeStateCircuit else { return [] }
        let values = [failures, Int64(min(circuit.trips, 5))]
        switch circuit.phase {
        case .closed, .ramp: return values + [-1]
        case .open(let until): return values + [-2, left(until)]
        case .halfOpen(let probes, let successes):
            return values + [-3, Int64(successes)]
                + probes.flatMap { probe in
                    [left(probe.leaseEnds), Int64(outside.firstIndex { $0.ticket == probe.ticket } ?? -1)]
                }
        }
    }

    mutating func apply(_ input: Input) throws {
        let before = witness.state
        switch input {
        case .wait:
            now = now + .nanoseconds(1)
        case .lose(let index):
            outside.remove(at: index)
        case .reset(let keepingGrowth):
            witness.reset(keepingGrowth: keepingGrowth)
            let transition = before == .closed ? nil : Circuit.Transition(from: before, to: .closed)
            changes.append(nil)
            try require(circuit.reset(keepingGrowth: keepingGrowth), is: transition, "what a reset tells")
        case .admit:
            let answer = witness.admit(at: now)
            let transition = noteChange(from: before)
            switch answer {
            case .allow(let ticket):
                let generation = UInt64(changes.count + 1)
                try require(
                    circuit.admit(at: now), is: .allow(generation: generation, ticket: ticket, transition))
                outside.append(Admitted(changes: changes.count, generation: generation, ticket: ticket))
            case .refuse(let retryAfter):
                try require(circuit.admit(at: now), is: .refuse(retryAfter: retryAfter, transition))
            case .wait(let limit, let leaseEnds):
                try require(circuit.admit(at: now), is: .wait(upTo: limit, leaseEnds: leaseEnds))
            }
        case .end(let index, let verdict):
            let call = outside.remove(at: index)
            let recording = circuit.record(verdict, generation: call.generation, ticket: call.ticket, at: now)
            if isLate(call) {
                try require(recording, is: .late)
            } else {
                // A machine that gave no ticket is not told of calls that say nothing.
                if call.ticket > 0 || verdict != .cancelled { witness.record(verdict, ticket: call.ticket, at: now) }
                try require(recording, is: .recorded(noteChange(from: before)))
            }
        }
        try require(circuit.generation, is: UInt64(changes.count + 1), "the generation")
        try require(snapshot(circuit.machine), is: snapshot(witness), "the machine within")
        try require(circuit.restingGeneration, is: witness.isAtRest ? circuit.generation : 0, "the resting generation")
        if witness.isAtRest { try checkRest() }
    }

    private mutating func noteChange(from before: CircuitState) -> Circuit.Transition? {
        guard witness.state != before else { return nil }
        let transition = Circuit.Transition(from: before, to: witness.state)
        changes.append(transition)
        return transition
    }

    /// A breaker lets calls in and takes their successes without asking while its circuit is at rest: nobody may notice.
    private func checkRest() throws {
        var asked = self
        let admission = asked.circuit.admit(at: now)
        try require(admission, is: .allow(generation: circuit.generation, ticket: 0, nil), "the admission at rest")
        let recording = asked.circuit.record(.success, generation: circuit.generation, ticket: 0, at: now)
        try require(recording, is: .recorded(nil), "a success at rest")
        try require(asked.identity, is: identity, "what a success at rest leaves")
    }
}

@Suite struct CircuitExplorationTests {
    private static func threeStates(probes: Int) -> ThreeStateCircuit {
        ThreeStateCircuit(
            tripping: .consecutiveFailures(2),
            openFor: .exponential(from: .nanoseconds(1), maxMultiplier: 2, cap: .nanoseconds(2)), probes: probes,
            successesToClose: probes, probeLease: .nanoseconds(2))
    }

    private static func gate(openFor length: Int64) -> BackoffGate {
        BackoffGate(
            tripping: .consecutiveThrottles(2),
            openFor: .exponential(from: .nanoseconds(length), maxMultiplier: 2, cap: .nanoseconds(2 * length)))
    }

    @Test("whatever happens in whatever order, a circuit is told what is not late, and of every change once")
    func complete() throws {
        let gate = try Explorer(WitnessedCircuit(Self.gate(openFor: 1)), code: "WitnessedCircuit(gate)").explore()
        #expect(gate.isComplete && gate.transitions > 1_000, "\(gate)")
        let circuit = try Explorer(WitnessedCircuit(Self.threeStates(probes: 1)), code: "WitnessedCircuit(circuit)")
            .explore()
        #expect(circuit.isComplete && circuit.transitions > 2_000, "\(circuit)")
    }

    @Test(
        "with many calls outside, as far as the effort goes, a circuit is told what is not late, and of every change once"
    )
    func far() throws {
        for machine in [Self.gate(openFor: 1_000), Self.threeStates(probes: 3)] as [any CircuitStateMachine] {
            let explorer = Explorer(
                WitnessedCircuit(machine, outside: 6), code: "WitnessedCircuit(\(machine), outside: 6)")
            #expect(try explorer.explore(transitionsPerEffort: 10_000).transitions >= 10_000)
            try explorer.exploreRandomly(length: 2_000, seed: 5)
        }
    }
}
