import Foundation
import ResilienceTesting
import Testing

@testable import Resilience

@Suite struct CircuitSnapshotTests {
    let clock = ManualClock()

    private func breaker(_ clock: ManualClock) -> CircuitBreaker {
        CircuitBreaker(
            circuit: ThreeStateCircuit(tripping: .consecutiveFailures(2), openFor: .exponential(from: .seconds(60))),
            timeBase: clock)
    }

    private func end(_ breaker: CircuitBreaker, _ verdicts: Verdict...) {
        for verdict in verdicts { try? breaker.tryAcquire().complete(verdict) }
    }

    /// As after a restart: another breaker, on a clock with another zero, restored from the stored snapshot.
    private func restored(_ snapshot: CircuitSnapshot?, after wall: Duration = .zero) throws -> (
        CircuitBreaker, ManualClock
    ) {
        let stored = try JSONEncoder().encode(#require(snapshot))
        let other = ManualClock()
        other.advance(by: .seconds(7_777))
        let breaker = breaker(other)
        try breaker.restore(
            JSONDecoder().decode(CircuitSnapshot.self, from: stored),
            wallClock: 1_000_000 + Int64(wall / .milliseconds(1)))
        return (breaker, other)
    }

    @Test("after a restart an open circuit stays open for the rest of its break (A10, P12)", arguments: [0, 30, 59])
    func open(seconds: Int) throws {
        let before = breaker(clock)
        end(before, .transient, .transient)
        clock.advance(by: .milliseconds(500))
        let (after, clock) = try restored(before.snapshot(wallClock: 1_000_000), after: .seconds(seconds))
        #expect(after.status.timeRemaining == .milliseconds(59_500 - 1000 * seconds))
        #expect(after.status.failureCount == 2)
        clock.advance(by: .milliseconds(59_500 - 1000 * seconds))
        #expect(after.status.isAllowed)
        end(after, .transient)
        #expect(after.status.timeRemaining == .seconds(120))
    }

    @Test("a half-open circuit is restored as due for a probe, never as closed (P12)")
    func halfOpen() throws {
        let before = breaker(clock)
        end(before, .transient, .transient)
        clock.advance(by: .seconds(60))
        let probe = try before.tryAcquire()
        let (after, _) = try restored(before.snapshot(wallClock: 1_000_000))
        #expect(after.state == .halfOpen && after.inner.withLock { $0.circuit.machine.state } == .open)
        let next = try after.tryAcquire()
        #expect(throws: CircuitOpen.self) { _ = try after.tryAcquire() }
        next.complete(.transient)
        #expect(after.state == .open)
        probe.complete(.success)
    }

    @Test("failures counted while closed still count (P12)")
    func counted() throws {
        let before = breaker(clock)
        end(before, .transient)
        let (after, _) = try restored(before.snapshot(wallClock: 1_000_000), after: .seconds(5))
        #expect(after.status.failureCount == 1 && after.state == .closed)
        end(after, .transient)
        #expect(after.state == .open)
    }

    @Test("in a time window failures grow older between snapshot and restore")
    func age() throws {
        let before = CircuitBreaker(tripping: .failures(3, over: .time(.seconds(10))), timeBase: clock)
        end(before, .transient)
        clock.advance(by: .seconds(4))
        end(before, .transient)
        let snapshot = try #require(before.snapshot(wallClock: 1_000_000))
        for (seconds, failures) in [(0, 2), (5, 2), (6, 1), (9, 1), (10, 0), (100, 0)] {
            let after = CircuitBreaker(tripping: .failures(3, over: .time(.seconds(10))), timeBase: clock)
            try after.restore(snapshot, wallClock: 1_000_000 + 1000 * Int64(seconds))
            #expect(after.status.failureCount == failures, "\(seconds)")
        }
    }

    @Test(
        "a wall clock that was set back does not lengthen a break; a wall clock that was set ahead ends it (P12)",
        arguments: [-86_400, 86_400])
    func wallClock(seconds: Int) throws {
        let before = breaker(clock)
        end(before, .transient, .transient)
        let (after, _) = try restored(before.snapshot(wallClock: 1_000_000), after: .seconds(seconds))
        #expect(after.status.timeRemaining == (seconds < 0 ? .seconds(60) : nil))
    }

    @Test(
        "a restored break is cut to the longest break that the circuit's own settings can give (P40)",
        arguments: [
            (ThreeStateCircuit(openFor: .seconds(60)), 60),
            (ThreeStateCircuit(openFor: .exponential()), 300),
            (ThreeStateCircuit(openFor: .exponential(from: .seconds(5), cap: .seconds(300))), 50),
            (ThreeStateCircuit(openFor: .linear(from: .seconds(5), cap: .seconds(20))), 20),
            (ThreeStateCircuit(openFor: .seconds(60).jittered(by: 0.5)), 90),
            (ThreeStateCircuit(openFor: .retryAfter(otherwise: .constant(.seconds(60)), cap: .seconds(900))), 900),
            (ThreeStateCircuit(openFor: .retryAfter(otherwise: .constant(.seconds(60)), cap: .seconds(9))), 60),
            (BackoffGate(openFor: .seconds(7)), 7),
        ] as [(any CircuitStateMachine, Int)])
    func longest(machine: any CircuitStateMachine, seconds: Int) throws {
        for remaining in [Duration.seconds(seconds), .seconds(seconds) + .nanoseconds(1), .nanoseconds(Int64.max)] {
            var circuit = Circuit(machine)
            let memory = CircuitMemory(
                state: .open, remaining: remaining, trips: 1,
                counted: try #require(machine.memory(at: clock.now)).counted)
            #expect(circuit.restore(memory, .automatic, age: .zero, at: clock.now) == true)
            #expect(circuit.status(at: clock.now).timeRemaining == .seconds(seconds))
        }
        var circuit = Circuit(machine)
        let short = CircuitMemory(
            state: .open, remaining: .seconds(1), trips: 1, counted: try #require(machine.memory(at: clock.now)).counted
        )
        #expect(circuit.restore(short, .automatic, age: .zero, at: clock.now) == true)
        #expect(circuit.status(at: clock.now).timeRemaining == .seconds(1))
    }

    @Test("a custom break without a longest duration is restored unchanged")
    func ownBreak() {
        var circuit = Circuit(ThreeStateCircuit(openFor: NegativeBreak()))
        let memory = CircuitMemory(state: .open, remaining: .seconds(1_000_000), trips: 1, counted: [1, 5])
        #expect(circuit.restore(memory, .automatic, age: .zero, at: clock.now) == true)
        #expect(circuit.status(at: clock.now).timeRemaining == .seconds(1_000_000))
    }

    @Test("after a restart a gate also stays shut for the rest of its break, and its next break grows")
    func gate() throws {
        let before = CircuitBreaker(circuit: BackoffGate(), timeBase: clock)
        end(before, .throttled, .throttled, .throttled)
        let after = CircuitBreaker(circuit: BackoffGate(), timeBase: clock)
        try after.restore(try #require(before.snapshot(wallClock: 0)), wallClock: 10_000)
        #expect(after.status.timeRemaining == .seconds(20))
        clock.advance(by: .seconds(20))
        end(after, .throttled)
        #expect(after.status.timeRemaining == .seconds(60))
    }

    @Test(
        "an invalid snapshot is rejected, and changes nothing",
        arguments: [
            CircuitMemory(state: .open, remaining: .seconds(-1), counted: [1, 2]),
            CircuitMemory(state: .closed, trips: -1, counted: [1, 0]),
            CircuitMemory(state: .closed, counted: []), CircuitMemory(state: .open, counted: [1, -1]),
            CircuitMemory(state: .halfOpen, counted: [1, 1, 2]),
        ])
    func nonsense(memory: CircuitMemory) {
        for breaker in [breaker(clock), CircuitBreaker(circuit: BackoffGate(), timeBase: clock)] {
            end(breaker, .transient)
            let before = breaker.status
            let error = #expect(throws: UnusableSnapshot.self) {
                try breaker.restore(CircuitSnapshot(memory: memory, takenAt: 0))
            }
            #expect(error.map { "\($0)" }?.contains("\"breaker\"; nothing was restored") == true)
            #expect(breaker.status == before)
        }
    }

    @Test("the extreme values of every number are restored without a trap (P40)")
    func extremes() throws {
        for (remaining, takenAt) in [(Int64.max, Int64.min), (.max, .max), (0, .max), (.max, 0)] {
            let breaker = breaker(clock)
            let memory = CircuitMemory(
                state: .open, remaining: .nanoseconds(remaining), trips: .max, counted: [1, .max])
            try breaker.restore(CircuitSnapshot(memory: memory, takenAt: takenAt), wallClock: .max)
            #expect((breaker.status.timeRemaining ?? .zero) >= .zero)
            breaker.reset()
            end(breaker, .transient, .transient)
            #expect(breaker.state == .open)
        }
    }

    @Test("a stored snapshot is readable")
    func stored() throws {
        let breaker = breaker(clock)
        end(breaker, .transient, .transient)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = try String(decoding: encoder.encode(breaker.snapshot(wallClock: 5)), as: UTF8.self)
        #expect(
            text == #"{"memory":{"counted":[1,2],"remainingNanoseconds":60000000000,"state":"open","trips":1},"#
                + #""mode":"automatic","takenAt":5}"#)
        #expect(abs(WallClock.milliseconds - Int64(Date().timeIntervalSince1970 * 1000)) < 60_000)
    }

    @Test("extreme wall clock readings count as a long time, or as no time")
    func extremeClocks() throws {
        let before = breaker(clock)
        end(before, .transient, .transient)
        for (stored, read, isAllowed) in [(Int64.min, Int64.max, true), (.max, .min, false)] {
            let after = breaker(clock)
            try after.restore(#require(before.snapshot(wallClock: stored)), wallClock: read)
            #expect(after.status.isAllowed == isAllowed)
        }
    }
}

@Suite struct ReconfigureTests {
    let clock = ManualClock()

    private func end(_ breaker: CircuitBreaker, _ verdicts: Verdict...) {
        for verdict in verdicts { try? breaker.tryAcquire().complete(verdict) }
    }

    @Test("new settings take effect, and the state, the time remaining and the growth stay (P24)")
    func open() {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(2), timeBase: clock)
        end(breaker, .transient, .transient)
        clock.advance(by: .seconds(10))
        #expect(breaker.reconfigure(tripping: .consecutiveFailures(4), openFor: .exponential(from: .seconds(5))))
        #expect(breaker.status.timeRemaining == .seconds(50))
        #expect("\(breaker)".contains("opens on 4 in a row"))
        clock.advance(by: .seconds(50))
        end(breaker, .transient)
        #expect(breaker.status.timeRemaining == .seconds(10))
    }

    @Test("after a change of the limit, earlier counts and calls in flight still count")
    func counts() throws {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(5), timeBase: clock)
        end(breaker, .transient, .transient)
        let permit = try breaker.tryAcquire()
        #expect(breaker.reconfigure(tripping: .consecutiveFailures(3)))
        #expect(breaker.status.failureCount == 2 && breaker.state == .closed)
        permit.complete(.transient)
        #expect(breaker.state == .open)
    }

    @Test("after a change of settings, earlier successes still count")
    func successes() {
        let breaker = CircuitBreaker(tripping: .failureRatio(0.5, over: .calls(20)), timeBase: clock)
        for _ in 0..<15 { end(breaker, .success) }
        #expect(breaker.reconfigure(tripping: .failureRatio(0.1, over: .calls(10))))
        #expect(breaker.status.callCount == 10)
        end(breaker, .transient)
        #expect(breaker.state == .open)
    }

    @Test("a half-open circuit begins a new round under the new settings, and the old probe does not count")
    func halfOpen() throws {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        end(breaker, .transient)
        clock.advance(by: .seconds(60))
        let probe = try breaker.tryAcquire()
        #expect(breaker.reconfigure(tripping: .consecutiveFailures(2)))
        probe.complete(.success)
        #expect(breaker.inner.withLock { $0.circuit.machine.state } == .open)
        end(breaker, .success)
        #expect(breaker.state == .closed)
    }

    @Test(
        "a rule of another kind can't take over any old counts: reconfigure changes nothing and returns false (P37)",
        arguments: [0, 1, 2, 3])
    func otherKind(failures: Int) {
        let rules: [any TripRule] = [
            .consecutiveFailures(5), .failureRatio(0.5), .failures(5, over: .time(.seconds(9))),
            .slowCalls(0.5, longerThan: .seconds(1)), .anyOf(.consecutiveFailures(5)),
        ]
        for (old, rule) in rules.enumerated() {
            for (new, other) in rules.enumerated() where new != old {
                let (before, after) = (CombinedRule(.any, of: [rule]), CombinedRule(.any, of: [other]))
                let breaker = CircuitBreaker(tripping: before, timeBase: clock)
                for _ in 0..<failures { end(breaker, .transient) }
                let status = breaker.status
                #expect(!breaker.reconfigure(tripping: after), "\(rule) to \(other)")
                #expect(breaker.status == status && "\(breaker)".contains("\(rule)"))
            }
        }
    }

    @Test("reconfigure without arguments gives a breaker the default settings")
    func defaults() {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(2), timeBase: clock)
        #expect(breaker.reconfigure() && breaker.description == CircuitBreaker(timeBase: clock).description)
    }

    @Test("within a failing settings check a breaker takes no new settings")
    func failingCheck() {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(2), timeBase: clock)
        let before = breaker.description
        #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked {
                _ = Bulkhead(limit: 0)
                #expect(!breaker.reconfigure())
            }
        }
        #expect(breaker.description == before)
    }

    @Test("a rejected caller is admitted once a closed circuit replaces the open one")
    func otherCircuit() throws {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(2), timeBase: clock)
        end(breaker, .transient, .transient)
        #expect(throws: CircuitOpen.self) { _ = try breaker.tryAcquire() }
        #expect(breaker.reconfigure(circuit: PlainCircuit()))
        try breaker.tryAcquire().complete(.success)
    }
}
