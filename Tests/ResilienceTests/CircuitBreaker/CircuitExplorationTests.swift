import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// A circuit compared with a second machine of the same kind, which gets no late ends, and with a list of all state
/// changes.
private struct WitnessedCircuit: ExplorableMachine {
    enum Input: Hashable {
        case admit
        case end(Int, Verdict)
        /// A call whose end is never reported.
        case lose(Int)
        case wait
        case reset(keepingGrowth: Bool)
        /// Two batched successes.
        case tally
        case set(CircuitBreaker.Mode)
        case endBreak
    }

    private struct Admitted {
        /// The number of changes before this call.
        let changes: Int
        let generation: UInt64
        let ticket: UInt64
    }

    private var circuit: Circuit
    private var witness: any CircuitStateMachine
    /// Every change of state; nil for a reset. Calls from before a change are late.
    private var changes: [Circuit.Transition?] = []
    private var outside: [Admitted] = []
    private let maxOutside: Int
    private var now = MonotonicInstant(nanoseconds: 0)

    init(_ machine: any CircuitStateMachine, outside: Int = 2) {
        circuit = Circuit(machine)
        witness = machine
        maxOutside = outside
    }

    var inputs: [Input] {
        var inputs: [Input] = [.wait, .reset(keepingGrowth: true), .reset(keepingGrowth: false), .endBreak]
        inputs += [.set(.automatic), .set(.isolated), .set(.disabled), .set(.observing)].filter {
            $0 != .set(circuit.mode)
        }
        // Successes are batched only if calls are admitted without asking, and a success changes something.
        if circuit.needs == .successes, circuit.tallyEnds > now { inputs.append(.tally) }
        if outside.count < maxOutside { inputs.append(.admit) }
        for index in outside.indices {
            inputs.append(.lose(index))
            for verdict in [Verdict.success, .transient, .throttled, .cancelled] { inputs.append(.end(index, verdict)) }
        }
        return inputs
    }

    /// A late call stays late, so it matters only that it is in flight.
    var identity: [Int64]? {
        let calls = outside.flatMap { call in
            [call.generation == circuit.generation, isLate(call), call.ticket > 0].map { Int64($0 ? 1 : 0) }
        }
        let modes: [CircuitBreaker.Mode] = [.automatic, .isolated, .disabled, .observing]
        return snapshot(circuit.machine) + snapshot(witness) + calls + [Int64(modes.firstIndex(of: circuit.mode) ?? -1)]
    }

    private func isLate(_ call: Admitted) -> Bool { call.changes < changes.count }

    /// All of a machine's state, with times relative to now and tickets by their place among the calls in flight.
    private func snapshot(_ machine: any CircuitStateMachine) -> [Int64] {
        let failures = Int64(min(machine.status(at: now).failureCount, 5))
        func left(_ instant: MonotonicInstant) -> Int64 { max(0, instant.nanoseconds - now.nanoseconds) }
        if let gate = machine as? BackoffGate {
            let asks: Int64 = gate.needs.contains(.admissions) ? 1 : 0
            return [failures, Int64(min(gate.trips, 5)), gate.shutUntil.map(left) ?? -1, asks]
        }
        guard let circuit = machine as? ThreeStateCircuit else { return [] }
        let counted = circuit.memory(at: now)?.counted.map { Int64(min($0, 5)) } ?? []
        let values = [failures, Int64(min(circuit.trips, 5))] + counted
        switch circuit.phase {
        case .closed, .ramp: return values + [-1]
        case .open(let until): return values + [-2, left(until)]
        case .halfOpen(let round):
            let probes = round.probes.flatMap { probe -> [Int64] in
                [left(probe.leaseEnds), Int64(outside.firstIndex { $0.ticket == probe.ticket } ?? -1)]
            }
            return values + [-3, Int64(round.successes), Int64(round.failures)] + probes
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
        case .tally:
            circuit.succeeded(2)
            for _ in 0..<2 { witness.record(.success, at: now) }
        case .set(let mode):
            if mode == .observing, before != .closed { witness.reset(keepingGrowth: true) }
            witness.forgetCalls()
            let transition = before == witness.state ? nil : Circuit.Transition(from: before, to: witness.state)
            changes.append(nil)
            try require(circuit.set(mode), is: transition, "what a mode set by hand tells")
        case .endBreak:
            let isDone = circuit.mode == .automatic && witness.endBreak(at: circuit.latest)
            let transition = before == witness.state ? nil : Circuit.Transition(from: before, to: witness.state)
            if isDone { changes.append(nil) }
            let ended = circuit.endBreak(at: circuit.latest)
            try require(ended.isDone && ended.1 == transition || !ended.isDone && !isDone, "what ending a break tells")
        case .admit where circuit.mode == .isolated:
            try require(circuit.admit(at: now), is: .reject(retryAfter: nil, nil), "an isolated circuit")
        case .admit where circuit.mode != .automatic:
            let generation = UInt64(changes.count + 1)
            try require(
                circuit.admit(at: now), is: .allow(generation: generation, ticket: 0, nil), "a circuit set by hand")
            outside.append(Admitted(changes: changes.count, generation: generation, ticket: 0))
        case .admit:
            let answer = witness.admit(at: now)
            let transition = noteChange(from: before)
            switch answer {
            case .allow(let ticket):
                let generation = UInt64(changes.count + 1)
                try require(
                    circuit.admit(at: now), is: .allow(generation: generation, ticket: ticket, transition))
                outside.append(Admitted(changes: changes.count, generation: generation, ticket: ticket))
            case .reject(let retryAfter):
                try require(circuit.admit(at: now), is: .reject(retryAfter: retryAfter, transition))
            case .wait(let limit, let leaseEnds):
                try require(circuit.admit(at: now), is: .wait(until: now + limit, leaseEnds: leaseEnds))
            }
        case .end(let index, let verdict):
            let call = outside.remove(at: index)
            let recording = circuit.record(verdict, generation: call.generation, ticket: call.ticket, at: now)
            if isLate(call) {
                try require(recording, is: .late())
            } else if circuit.mode == .disabled {
                try require(recording, is: .recorded(nil), "what a disabled circuit records")
            } else if circuit.mode == .observing {
                let wouldOpen = verdict != .cancelled && witness.observe(CallEnd(verdict, at: now))
                try require(recording, is: wouldOpen ? .wouldOpen : .recorded(nil), "what an observing circuit says")
            } else {
                // A machine that gave no ticket gets no inconclusive ends.
                var failure = false
                if call.ticket > 0 || verdict != .cancelled {
                    failure = witness.record(CallEnd(verdict, at: now), ticket: call.ticket, using: .shared)
                }
                try require(recording, is: .recorded(failure: failure, noteChange(from: before)))
            }
        }
        try require(circuit.generation, is: UInt64(changes.count + 1), "the generation")
        try require(snapshot(circuit.machine), is: snapshot(witness), "the machine within")
        if case .halfOpen(let round)? = (circuit.machine as? ThreeStateCircuit)?.phase {
            let late = outside.filter { isLate($0) && $0.ticket > 0 }.map(\.ticket)
            let kept = round.probes.map(\.ticket).filter(late.contains)
            try require(kept, is: [], "places kept for probes whose end is not told")
        }
        switch circuit.mode {
        case .automatic:
            try require(circuit.needs, is: witness.needs, "what it must be told")
            if witness.isAtRest { try checkRest() }
        case .disabled: try require(circuit.needs, is: [], "what a disabled circuit must be told")
        case .isolated, .observing: try require(circuit.needs, is: .all, "what it must be told, set by hand")
        }
        let status = circuit.status(at: now)
        try require(status.mode, is: circuit.mode, "the mode")
        try require(
            status.isAllowed,
            is: circuit.mode == .automatic ? witness.status(at: now).isAllowed : circuit.mode != .isolated,
            "whether a call would be let in")
    }

    private mutating func noteChange(from before: CircuitState) -> Circuit.Transition? {
        guard witness.state != before else { return nil }
        let transition = Circuit.Transition(from: before, to: witness.state)
        changes.append(transition)
        return transition
    }

    /// While its circuit is at rest, a breaker admits calls and takes successes without the circuit: they must change
    /// nothing in it.
    private func checkRest() throws {
        var asked = self
        let admission = asked.circuit.admit(at: now)
        try require(admission, is: .allow(generation: circuit.generation, ticket: 0, nil), "the admission at rest")
        let recording = asked.circuit.record(.success, generation: circuit.generation, ticket: 0, at: now)
        try require(recording, is: .recorded(nil), "a success at rest")
        try require(asked.identity, is: identity, "what a success at rest leaves")
    }
}

@Suite(.heavy) struct CircuitExplorationTests {
    private static func threeStates(probes: Int) -> ThreeStateCircuit {
        ThreeStateCircuit(
            tripping: .consecutiveFailures(2),
            openFor: .exponential(from: .nanoseconds(1), maxMultiplier: 2, cap: .nanoseconds(2)), probes: probes,
            closing: .successes(probes), probeLease: .nanoseconds(2))
    }

    private static func window() -> ThreeStateCircuit {
        ThreeStateCircuit(
            tripping: .failureRatio(0.5, over: .calls(3), minimumCalls: 2),
            openFor: .exponential(from: .nanoseconds(1), maxMultiplier: 2, cap: .nanoseconds(2)),
            probeLease: .nanoseconds(2))
    }

    private static func gate(openFor length: Int64) -> BackoffGate {
        BackoffGate(
            tripping: .consecutiveThrottles(2),
            openFor: .exponential(from: .nanoseconds(length), maxMultiplier: 2, cap: .nanoseconds(2 * length)))
    }

    @Test(
        "for any order of inputs, a circuit's machine gets no late ends, and each change is reported once (P4)"
    )
    func complete() throws {
        let gate = try Explorer(WitnessedCircuit(Self.gate(openFor: 1)), code: "WitnessedCircuit(gate)").explore()
        #expect(gate.isComplete && gate.transitions > 1_000, "\(gate)")
        let circuit = try Explorer(WitnessedCircuit(Self.threeStates(probes: 1)), code: "WitnessedCircuit(circuit)")
            .explore()
        #expect(circuit.isComplete && circuit.transitions > 2_000, "\(circuit)")
        let window = try Explorer(WitnessedCircuit(Self.window()), code: "WitnessedCircuit(window)").explore()
        #expect(window.isComplete && window.transitions > 2_000, "\(window)")
    }

    @Test(
        "with many calls in flight, a circuit's machine gets no late ends, and each change is reported once"
    )
    func far() throws {
        for machine in [Self.gate(openFor: 1_000), Self.threeStates(probes: 3), Self.window()]
            as [any CircuitStateMachine]
        {
            let explorer = Explorer(
                WitnessedCircuit(machine, outside: 6), code: "WitnessedCircuit(\(machine), outside: 6)")
            #expect(try explorer.explore(transitionsPerEffort: 10_000).transitions >= 10_000)
            try explorer.exploreRandomly(length: 2_000, seed: 5)
        }
    }
}
