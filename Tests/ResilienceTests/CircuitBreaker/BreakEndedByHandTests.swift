import ResilienceTesting
import Testing

@testable import Resilience

/// A break that a person ends with "Retry now".
@Suite struct BreakEndedByHandTests {
    let clock = ManualClock()
    let recorder = EventRecorder()
    let breaker: CircuitBreaker

    init() {
        breaker = CircuitBreaker(
            tripping: .consecutiveFailures(1), openFor: .exponential(from: .seconds(30)), timeBase: clock,
            observers: PolicyObservers(recorder))
    }

    @Test("a break ended by hand lets the next call probe at once, and does not close the circuit")
    func probes() throws {
        try breaker.tryAcquire().complete(.transient)
        clock.advance(by: .seconds(1))
        #expect(breaker.endBreak())
        #expect(breaker.state == .halfOpen && breaker.status.isAllowed)
        let probe = try breaker.tryAcquire()
        #expect(throws: CircuitOpen.self) { _ = try breaker.tryAcquire() }
        probe.complete(.success)
        #expect(breaker.state == .closed)
        #expect(
            recorder.contains(inOrder: [
                CircuitBreaker.Event.breakEndedByHand(.halfOpen), .allowed(.halfOpen), .recovered,
            ])
        )
        #expect(recorder.count { $0 == CircuitBreaker.Event.halfOpened } == 0)
    }

    @Test(
        "a gate has no probes: after endBreak it admits all calls, and the next failure shuts the gate for longer")
    func gate() throws {
        let gate = CircuitBreaker(
            circuit: BackoffGate(tripping: .consecutiveThrottles(1)), timeBase: clock,
            observers: PolicyObservers(recorder))
        try gate.tryAcquire().complete(.throttled)
        #expect(gate.endBreak() && gate.state == .closed && !gate.endBreak())
        try gate.tryAcquire().complete(.throttled)
        #expect(gate.status.timeRemaining == .seconds(60))
        #expect(recorder.count { $0 == CircuitBreaker.Event.breakEndedByHand(.closed) } == 1)
    }

    @Test("endBreak returns false for a custom machine that does not support it")
    func plain() throws {
        let breaker = CircuitBreaker(circuit: PlainCircuit(), timeBase: clock)
        try breaker.tryAcquire().complete(.transient)
        #expect(!breaker.endBreak() && breaker.state == .open)
    }

    @Test("when a break is ended by hand, a health check runs at once, and a watcher receives the changes")
    func healthCheck() throws {
        let clock = clock
        let check = ScriptedOperation<Void, Void>(fallback: .success(()))
        try clock.run {
            let breaker = CircuitBreaker(
                tripping: .consecutiveFailures(1), healthCheck: CircuitHealthCheck { try await check() },
                timeBase: clock)
            let transitions = breaker.transitions()
            breaker.trip(for: .seconds(600))
            breaker.endBreak()
            let start = clock.now
            var states: [CircuitState] = []
            for await transition in transitions.prefix(3) { states.append(transition.to) }
            #expect(states == [.open, .halfOpen, .closed])
            #expect(check.callCount == 1 && clock.now == start)
        }
    }

    @Test("when a break is ended by hand, calls waiting for a hanging probe ask again, and one of them probes")
    func parked() throws {
        let clock = clock
        try clock.run {
            let breaker = CircuitBreaker(
                circuit: ThreeStateCircuit(tripping: .consecutiveFailures(1), excess: .waits(upTo: .seconds(100))),
                timeBase: clock)
            breaker.trip(for: .seconds(1))
            clock.advance(by: .seconds(1))
            let hangs = try breaker.tryAcquire()
            let waiting = Task(executorPreference: clock.taskExecutor) { try await breaker.run { 7 } }
            await clock.runUntilIdle()
            let start = clock.now
            breaker.endBreak()
            #expect(try await waiting.value == 7)
            #expect(clock.now == start && breaker.state == .closed)
            hangs.complete(.transient)
        }
    }
}
