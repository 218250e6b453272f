import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// A circuit that watches its calls, compared with a list of all calls in flight: it must remember exactly the calls
/// whose end will be reported, whatever else happens.
private struct WatchedCircuit: ExplorableMachine {
    enum Input: Hashable {
        case admit
        case end(Int, Verdict)
        case wait(Int64)
        case set(CircuitBreaker.Mode)
        case reset
        case trip
        case endBreak
        /// Its own memory is restored, as after a restart, but with the calls still in flight.
        case restore
        /// New settings replace it, with the same limit or another.
        case replace(slowness: Int64)
        case timePasses
    }

    private struct Flight {
        let generation: UInt64
        let ticket: UInt64
        let began: MonotonicInstant?
        let isWatched: Bool
    }

    private var circuit: Circuit
    private var slowness: Int64
    private let ramp: Int64
    private let isCombined: Bool
    private var flights: [Flight] = []
    private let maxFlights: Int
    /// Whether only time, calls and trips change the circuit.
    private let isLeftAlone: Bool
    private var now = MonotonicInstant(nanoseconds: 0)

    init(slowness: Int64, ramp: Int64, isCombined: Bool = false, isLeftAlone: Bool = false, flights: Int) {
        self.slowness = slowness
        self.ramp = ramp
        self.isCombined = isCombined
        maxFlights = flights
        self.isLeftAlone = isLeftAlone
        circuit = Circuit(Self.machine(slowness, ramp, isCombined))
    }

    private static func machine(_ slowness: Int64, _ ramp: Int64, _ isCombined: Bool) -> ThreeStateCircuit {
        let slow = SlowCalls(.ratio(0.5), longerThan: .nanoseconds(slowness), over: .calls(3), minimumCalls: 2)
        let rule: any TripRule = isCombined ? CombinedRule.anyOf(.consecutiveFailures(2), slow) : slow
        return machine(rule, ramp)
    }

    private static func machine(_ rule: some TripRule, _ ramp: Int64) -> ThreeStateCircuit {
        ThreeStateCircuit(tripping: rule, openFor: .constant(.nanoseconds(2)), ramp: .nanoseconds(ramp))
    }

    private var slow: SlowCalls? {
        let rule = (circuit.machine as? ThreeStateCircuit)?.rule
        return rule as? SlowCalls ?? (rule as? CombinedRule)?.rules.last as? SlowCalls
    }

    /// Times relative to now, and whether each generation is the present one.
    var identity: [Int64]? {
        func left(_ instant: MonotonicInstant) -> Int64 {
            min(20, max(-20, instant.nanoseconds.saturatingSubtracting(now.nanoseconds)))
        }
        guard let machine = circuit.machine as? ThreeStateCircuit else { return nil }
        let modes: [CircuitBreaker.Mode] = [.automatic, .isolated, .disabled, .observing]
        var values = [Int64(modes.firstIndex(of: circuit.mode) ?? -1), slowness, left(circuit.latest)]
        values += (machine.memory(at: now)?.counted ?? []).map { Int64($0) } + [-7]
        switch machine.phase {
        case .closed: values.append(0)
        case .open(let until): values += [1, left(until)]
        case .halfOpen(let round): values += [2] + round.probes.map { left($0.leaseEnds) }
        case .ramp(let since, let credit): values += [3, left(since), credit]
        }
        for flight in flights {
            values += [
                flight.generation == circuit.generation ? 1 : 0, flight.ticket > 0 ? 1 : 0,
                flight.began.map(left) ?? -99,
            ]
        }
        return values
    }

    var inputs: [Input] {
        var inputs: [Input] = [.wait(1), .wait(slowness + 1), .timePasses]
        // Automatic changes take many steps, and other inputs would cut them short.
        if isLeftAlone {
            if circuit.state == .closed { inputs.append(.trip) }
        } else {
            inputs += [.reset, .trip, .endBreak, .restore, .replace(slowness: 3), .replace(slowness: 5)]
            inputs += [.set(.automatic), .set(.isolated), .set(.disabled), .set(.observing)].filter {
                $0 != .set(circuit.mode)
            }
        }
        if flights.count < maxFlights { inputs.append(.admit) }
        for index in flights.indices { inputs += [.end(index, .success), .end(index, .cancelled)] }
        return inputs
    }

    mutating func apply(_ input: Input) throws {
        let generation = circuit.generation
        var isCarried = false
        switch input {
        case .wait(let length): now = now + .nanoseconds(length)
        case .set(let mode): _ = circuit.set(mode, at: now)
        case .reset: _ = circuit.reset(keepingGrowth: false, at: now)
        case .trip: _ = circuit.trip(for: nil, at: now)
        case .endBreak: _ = circuit.endBreak(at: now)
        case .timePasses: _ = circuit.timePassed(at: now)
        case .restore:
            let memory = try #require(circuit.memory(at: now))
            try require(circuit.restore(memory, circuit.mode, age: .zero, at: now), "its own memory is rejected")
        case .replace(let slowness):
            isCarried = slowness == self.slowness
            self.slowness = slowness
            try require(
                circuit.replace(with: Self.machine(slowness, ramp, isCombined), at: now), "its own kind is rejected")
        case .admit:
            if case .allow(let generation, let ticket, let began, _, _) = circuit.admit(at: now) {
                flights.append(
                    Flight(
                        generation: generation, ticket: ticket, began: began, isWatched: began != nil && ticket == 0))
            }
        case .end(let index, let verdict):
            let flight = flights.remove(at: index)
            let recording = circuit.record(
                verdict, generation: flight.generation, ticket: flight.ticket, began: flight.began, at: now)
            let isLate = if case .late = recording { true } else { false }
            // Or the ramp in which the call was admitted has just ended.
            let hasEnded = recording == .late(Circuit.Transition(from: .halfOpen, to: .closed))
            try require(isLate == (hasEnded || flight.generation != generation), "late, or not")
        }
        if isCarried, circuit.generation != generation {
            let state = circuit.machine.state
            try require(state != .closed, "calls in flight are late after a change to equal settings, \(state)")
        }
        // No end of an earlier generation will be reported.
        let watched = flights.count { $0.isWatched && $0.generation == circuit.generation }
        let remembered = try #require(slow).underWay.count
        try require(remembered <= watched, "\(remembered) calls are remembered, and \(watched) will be reported")
        // Calls that took too long were found, and are no longer remembered. All other calls are remembered.
        let young = flights.count {
            guard $0.isWatched, $0.generation == circuit.generation, let began = $0.began else { return false }
            return began.nanoseconds + slowness >= circuit.latest.nanoseconds
        }
        try require(remembered >= young, "\(remembered) calls are remembered of \(young) that may yet end in time")
    }
}

@Suite(.heavy) struct WatchedCircuitExplorationTests {
    @Test(
        "a circuit remembers exactly the calls in flight whose ends will be reported, whatever else happens (P32)",
        arguments: [(0, false, false), (6, false, false), (6, true, false), (6, true, true)])
    func far(ramp: Int64, isCombined: Bool, isLeftAlone: Bool) throws {
        let settings = "slowness: 3, ramp: \(ramp), isCombined: \(isCombined), isLeftAlone: \(isLeftAlone), flights: 3"
        let explorer = Explorer(
            WatchedCircuit(slowness: 3, ramp: ramp, isCombined: isCombined, isLeftAlone: isLeftAlone, flights: 3),
            code: "WatchedCircuit(\(settings))")
        #expect(try explorer.explore(transitionsPerEffort: 10_000).transitions >= 10_000)
        try explorer.exploreRandomly(length: 3_000, seed: 11)
    }
}
