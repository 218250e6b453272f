import TestSupport
import Testing

@testable import Resilience

private let now = MonotonicInstant.second(0)

// C1
@Suite(.heavy) struct CircuitTests {
    /// Opens on the 1st failure, for 60 s.
    private var circuit = Circuit(ThreeStateCircuit(tripping: .consecutiveFailures(1)))

    @Test("every change of state begins a new generation, and is reported once")
    mutating func generations() {
        #expect(circuit.admit(at: now) == .allow(generation: 1, ticket: 0, nil))
        #expect(
            circuit.record(.transient, generation: 1, ticket: 0, at: now)
                == .recorded(failure: true, Circuit.Transition(from: .closed, to: .open)))
        #expect(circuit.admit(at: now) == .reject(retryAfter: .seconds(60), nil))
        #expect(
            circuit.admit(at: .second(60))
                == .allow(generation: 3, ticket: 1, Circuit.Transition(from: .open, to: .halfOpen)))
        #expect(
            circuit.record(.success, generation: 3, ticket: 1, at: .second(61))
                == .recorded(Circuit.Transition(from: .halfOpen, to: .closed)))
        #expect(circuit.generation == 4)
    }

    @Test(
        "the result of a call admitted in an earlier generation is late, and changes nothing (P3)",
        arguments: [.success, .transient, .cancelled, .rejected] as [Verdict])
    func late(verdict: Verdict) {
        var circuit = circuit
        _ = circuit.record(.transient, generation: 1, ticket: 0, at: now)
        _ = circuit.admit(at: .second(60))
        for stale: UInt64 in [0, 1, 2, 4] {
            #expect(circuit.record(verdict, generation: stale, ticket: 1, at: .second(61)) == .late())
        }
        #expect(circuit.machine.state == .halfOpen && circuit.generation == 3)
    }

    @Test("time never goes back: a call with an earlier clock reading than another call counts at the later time")
    mutating func timeGoesOn() {
        _ = circuit.record(.transient, generation: 1, ticket: 0, at: .second(100))
        #expect(circuit.admit(at: .second(40)) == .reject(retryAfter: .seconds(60), nil))
        #expect(circuit.status(at: .second(40)).timeRemaining == .seconds(60))
        _ = circuit.admit(at: .second(160))
        _ = circuit.record(.transient, generation: 3, ticket: 1, at: .second(90))
        #expect(circuit.status(at: .second(160)).timeRemaining == .seconds(60))
    }

    @Test("a success that is recorded alone, though it could be batched, counts, and does not advance the time")
    func besideTheLock() {
        var circuit = Circuit(ThreeStateCircuit(tripping: .failureRatio(0.5, over: .calls(10))))
        _ = circuit.record(.transient, generation: 1, ticket: 0, at: now)
        #expect(circuit.record(.success, generation: 1, ticket: 0, at: .second(5)) == .recorded(nil))
        #expect(circuit.latest == now && circuit.status(at: now).callCount == 2)
    }

    @Test(
        "a success that can't be batched (probe, observing, a rule that watches calls) advances the time"
    )
    func underTheLock() {
        var probed = Circuit(ThreeStateCircuit(tripping: .failureRatio(0.5, over: .calls(10))))
        _ = probed.record(.transient, generation: 1, ticket: 0, at: now)
        _ = probed.record(.success, generation: 1, ticket: 7, at: .second(5))
        #expect(probed.latest == .second(5))

        var observing = Circuit(ThreeStateCircuit(tripping: .failureRatio(0.5, over: .calls(10))))
        _ = observing.set(.observing)
        _ = observing.record(.transient, generation: 2, ticket: 0, at: now)
        _ = observing.record(.success, generation: 2, ticket: 0, at: .second(5))
        #expect(observing.latest == .second(5))

        // The window batches successes, but the other rule must learn when the call began.
        var watching = Circuit(ThreeStateCircuit(tripping: .anyOf(.failureRatio(0.5, over: .calls(10)), Watching())))
        _ = watching.admit(at: now)
        _ = watching.record(.success, generation: 1, ticket: 0, began: now, at: .second(5))
        #expect(watching.latest == .second(5))
    }

    /// A custom rule that needs calls, but not batched successes.
    private struct Watching: TripRule {
        let needs: TripRuleNeeds = .calls
        let description = "watching"
        func evidence(of end: CallEnd) -> TripEvidence { .inconclusive }
        mutating func ended(_ end: CallEnd) {}
        func isMet(at now: MonotonicInstant) -> Bool { false }
        mutating func reset() {}
        func counts(at now: MonotonicInstant) -> TripCounts { TripCounts(failureCount: 0) }
    }

    @Test("by default a custom machine or rule gets successes one by one, and stores nothing")
    func plain() {
        struct Plain: CircuitStateMachine {
            var successes = 0
            var state: CircuitState { .closed }
            var description: String { "plain" }
            func admit(at now: MonotonicInstant, using generator: SplitMix64) -> CircuitAdmission { .allow(ticket: 0) }
            mutating func record(_ end: CallEnd, ticket: UInt64, using generator: SplitMix64) -> Bool {
                successes += 1
                return false
            }
            func reset(keepingGrowth: Bool) {}
            func status(at now: MonotonicInstant) -> CircuitBreakerStatus {
                CircuitBreakerStatus(state: .closed, failureCount: 0)
            }
        }
        var machine = Plain()
        machine.succeeded(3, at: now)
        #expect(machine.successes == 3 && machine.tallyEnds(after: now) == now)

        struct PlainRule: TripRule {
            var successes = 0
            let description = "plain"
            func evidence(of end: CallEnd) -> TripEvidence { .inconclusive }
            mutating func ended(_ end: CallEnd) { successes += end.verdict == .success ? 1 : 0 }
            func isMet(at now: MonotonicInstant) -> Bool { false }
            mutating func reset() {}
            func counts(at now: MonotonicInstant) -> TripCounts { TripCounts(failureCount: 0) }
        }
        var rule = PlainRule()
        rule.succeeded(3, at: now)
        #expect(rule.successes == 3 && rule.tallyEnds(after: now) == now)
        #expect(rule.memory(at: now) == [])
        let (nothing, something) = (rule.restore([], at: now), rule.restore([1], at: now))
        #expect(nothing && !something)
    }

    @Test("two rejections by one breaker are equal if they have the same wait")
    func rejectionsInASet() {
        let rejections = [1, 1, 2].map { CircuitOpen(policy: "a", retryAfter: .seconds($0)) }
        #expect(Set(rejections).count == 2)
    }

    @Test(
        "a rejection or a cancellation without a ticket does not reach the machine",
        arguments: [Verdict.cancelled, .rejected])
    func saysNothing(verdict: Verdict) {
        struct Strict: CircuitStateMachine {
            var state: CircuitState { .closed }
            var description: String { "strict" }
            func admit(at now: MonotonicInstant, using generator: SplitMix64) -> CircuitAdmission { .allow(ticket: 0) }
            func record(_ end: CallEnd, ticket: UInt64, using generator: SplitMix64) -> Bool {
                Issue.record("told of \(end.verdict)")
                return false
            }
            func reset(keepingGrowth: Bool) {}
            func status(at now: MonotonicInstant) -> CircuitBreakerStatus {
                CircuitBreakerStatus(state: .closed, failureCount: 0)
            }
        }
        var circuit = Circuit(Strict())
        #expect(circuit.record(verdict, generation: 1, ticket: 0, at: now) == .recorded(nil))
    }

    @Test("with a health check only the check may be a probe: callers are rejected even after the break")
    func onlyChecks() {
        var circuit = Circuit(ThreeStateCircuit(tripping: .consecutiveFailures(1)), checksHealth: true)
        #expect(circuit.status(at: now).isAllowed)
        _ = circuit.record(.transient, generation: 1, ticket: 0, at: now)
        #expect(!circuit.status(at: .second(60)).isAllowed && circuit.status(at: .second(60)).state == .halfOpen)
        let admission = circuit.admit(at: .second(60))
        #expect(admission == .reject(retryAfter: .seconds(1), nil) && circuit.machine.state == .open)
        #expect(
            circuit.admit(at: .second(60), asCheck: true)
                == .allow(generation: 3, ticket: 1, Circuit.Transition(from: .open, to: .halfOpen)))
    }

    @Test("a call that the machine does not need to see does not advance the circuit's time")
    mutating func unmoved() {
        _ = circuit.admit(at: .second(100))
        _ = circuit.record(.success, generation: 1, ticket: 0, at: .second(100))
        #expect(circuit.latest == .distantPast)
    }

    @Test("batched successes count, even a single success, but not while the circuit is disabled")
    func together() {
        var circuit = Circuit(ThreeStateCircuit(tripping: .failures(2, over: .calls(9))))
        circuit.succeeded(1)
        #expect(circuit.status(at: now).callCount == 1)
        _ = circuit.set(.disabled)
        circuit.succeeded(3)
        _ = circuit.set(.automatic)
        #expect(circuit.status(at: now).callCount == 1)
    }

    @Test("a window's successes may be batched at any time; no success may be while failures in a row are counted")
    func tally() {
        let window = Circuit(ThreeStateCircuit(tripping: .failures(2, over: .calls(9))))
        #expect(window.tallyEnds == .distantFuture)
        var row = Circuit(ThreeStateCircuit(tripping: .consecutiveFailures(2)))
        _ = row.record(.transient, generation: 1, ticket: 0, at: .second(100))
        #expect(row.tallyEnds == .distantPast)
    }

    @Test("setting the present mode again begins no new generation")
    mutating func sameMode() {
        #expect(circuit.set(.automatic) == nil && circuit.generation == 1)
        #expect(circuit.set(.disabled) == nil && circuit.generation == 2)
        #expect(circuit.set(.disabled) == nil && circuit.generation == 2)
    }

    @Test("when its machine is replaced or restored, a circuit's time never goes back")
    mutating func replaced() throws {
        let other = ThreeStateCircuit(tripping: .consecutiveFailures(1))
        for second in [100, 40] as [Int64] {
            let isDone = circuit.replace(with: other, at: .second(second))
            #expect(isDone && circuit.latest == .second(100))
        }
        let memory = try #require(circuit.memory(at: .second(100)))
        for second in [200, 40] as [Int64] {
            let isDone = circuit.restore(memory, .automatic, age: .zero, at: .second(second))
            #expect(isDone && circuit.latest == .second(200))
        }
    }

    @Test("a memory that is requested with an earlier clock reading has the circuit's later time")
    mutating func lateMemory() {
        _ = circuit.record(.transient, generation: 1, ticket: 0, at: .second(100))
        #expect(circuit.memory(at: .second(40))?.remaining == .seconds(60))
        #expect(circuit.memory(at: .second(130))?.remaining == .seconds(30))
    }

    @Test("a circuit may be evicted once its latest time is past its window, and never while its mode is set by hand")
    func forgettable() {
        var circuit = Circuit(ThreeStateCircuit(tripping: .failures(2, over: .time(.seconds(10)))))
        _ = circuit.record(.transient, generation: 1, ticket: 0, at: now)
        #expect(!circuit.isAtRest(at: .second(5)) && circuit.isAtRest(at: .second(100)))
        _ = circuit.record(.throttled, generation: 1, ticket: 0, at: .second(100))
        #expect(circuit.isAtRest(at: .second(5)))
        _ = circuit.set(.isolated)
        #expect(!circuit.isAtRest(at: .second(100)))
    }
}

@Suite struct CircuitWalkTests {
    private let verdicts: [Verdict] = [
        .success, .transient, .throttled, .uncertain, .permanent, .rejected, .cancelled,
    ]

    @Test("after any history, a circuit closes soon after its calls succeed again", arguments: 1...8)
    func recovers(seed: UInt64) {
        var random = SeededNumbers(seed: seed)
        var circuit = Circuit(
            ThreeStateCircuit(
                tripping: .consecutiveFailures(2), openFor: .exponential(), probes: 2, closing: .successes(1, of: 2)))
        var now = MonotonicInstant.second(0)
        for _ in 0..<500 {
            now = now + .seconds(random.below(200))
            // One call in three never reports its end.
            guard case .allow(let generation, let ticket, _, _, _) = circuit.admit(at: now), random.below(3) > 0 else {
                continue
            }
            _ = circuit.record(random.pick(verdicts), generation: generation, ticket: ticket, at: now)
        }
        for wait in [300, 60, 0] {
            now = now + .seconds(wait)
            guard case .allow(let generation, let ticket, _, _, _) = circuit.admit(at: now) else { continue }
            _ = circuit.record(.success, generation: generation, ticket: ticket, at: now)
        }
        #expect(circuit.machine.state == .closed && circuit.restingGeneration != 0)
    }
}
