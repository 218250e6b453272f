import ResilienceTesting
import Testing

@testable import Resilience

@Suite struct TrippedByHandTests {
    let clock = ManualClock()
    let recorder = EventRecorder()
    let breaker: CircuitBreaker

    init() {
        breaker = CircuitBreaker(
            openFor: .exponential(from: .seconds(30)), timeBase: clock, observers: PolicyObservers(recorder))
    }

    private var lines: [String] { recorder.events(of: CircuitBreaker.Event.self).map { "\($0)" } }

    @Test("a breaker opened by hand rejects for as long as after a trip by its rule, and recovers with a probe")
    func trip() throws {
        #expect(breaker.trip())
        #expect(breaker.status.timeRemaining == .seconds(30))
        #expect(throws: CircuitOpen(policy: "breaker", retryAfter: .seconds(30))) { _ = try breaker.tryAcquire() }
        clock.advance(by: .seconds(30))
        try breaker.tryAcquire().complete(.transient)
        #expect(breaker.status.timeRemaining == .seconds(60))
        clock.advance(by: .seconds(60))
        try breaker.tryAcquire().complete(.success)
        #expect(breaker.state == .closed)
        #expect(lines.first == "opened by hand for 30 s")
    }

    @Test("a reset clears the growth of breaks, unless keepingGrowth is true", arguments: [true, false, nil])
    func growth(keeping: Bool?) throws {
        breaker.trip()
        if let keeping { breaker.reset(keepingGrowth: keeping) } else { breaker.reset() }
        breaker.trip()
        #expect(breaker.status.timeRemaining == .seconds(keeping == true ? 60 : 30))
    }

    @Test("trip(for:) rejects for exactly that time, even if the circuit is already open for longer or shorter")
    func length() {
        for length in [Duration.seconds(3600), .seconds(5), .nanoseconds(1), .zero, .seconds(-1)] {
            #expect(breaker.trip(for: length))
            #expect(breaker.status.timeRemaining == (length > .zero ? length : nil))
            #expect(breaker.status.isAllowed == (length <= .zero))
        }
        #expect(breaker.trip(for: .seconds(Int64.max)))
        clock.advance(by: .seconds(Int64.max / 1_000_000_000 / 2))
        #expect(breaker.state == .open)
    }

    @Test("after another trip a rejected caller gets the new time, and a probe in flight does not count")
    func afterwards() throws {
        breaker.trip(for: .seconds(5))
        _ = #expect(throws: CircuitOpen.self) { _ = try breaker.tryAcquire() }
        breaker.trip(for: .seconds(50))
        #expect(throws: CircuitOpen(policy: "breaker", retryAfter: .seconds(50))) { _ = try breaker.tryAcquire() }
        clock.advance(by: .seconds(50))
        let probe = try breaker.tryAcquire()
        breaker.trip(for: .seconds(7))
        probe.complete(.success)
        #expect(breaker.status.timeRemaining == .seconds(7))
    }

    @Test(
        "trip returns false and changes nothing while a mode is set by hand",
        arguments: [CircuitBreaker.Mode.isolated, .disabled, .observing])
    func rejected(mode: CircuitBreaker.Mode) {
        breaker.setMode(mode)
        recorder.reset()
        #expect(!breaker.trip() && !breaker.trip(for: .seconds(9)))
        breaker.setMode(.automatic)
        #expect(breaker.state == .closed && breaker.status.isAllowed)
        #expect(lines == ["mode set → automatic"])
    }

    @Test("a gate tripped by hand rejects calls, and after its break admits all calls")
    func gate() throws {
        let gate = CircuitBreaker(circuit: BackoffGate(), timeBase: clock)
        #expect(gate.trip())
        #expect(gate.status.timeRemaining == .seconds(30))
        gate.trip(for: .seconds(3))
        clock.advance(by: .seconds(3))
        for _ in 0..<3 { try gate.tryAcquire().complete(.success) }
        #expect(gate.state == .closed)
    }

    @Test("calls that wait for a probe are rejected at once")
    func parked() throws {
        let clock = clock
        try clock.run {
            let breaker = CircuitBreaker(
                circuit: ThreeStateCircuit(tripping: .consecutiveFailures(1), excess: .waits(upTo: .seconds(100))),
                timeBase: clock)
            try breaker.tryAcquire().complete(.transient)
            clock.advance(by: .seconds(60))
            let probe = try breaker.tryAcquire()
            let waiting = Task(executorPreference: clock.taskExecutor) { try await breaker.run {} }
            await clock.runUntilIdle()
            let start = clock.now
            breaker.trip(for: .seconds(9))
            await #expect(throws: CircuitOpen.self) { try await waiting.value }
            #expect(clock.now == start)
            probe.complete(.success)
        }
    }

    @Test("a health check runs at the end of the new break, not of the old break")
    func healthCheck() throws {
        let clock = clock
        let check = ScriptedOperation<Void, Void>(fallback: .success(()))
        try clock.run {
            let breaker = CircuitBreaker(
                healthCheck: CircuitHealthCheck { try await check() }, timeBase: clock)
            breaker.trip(for: .seconds(10))
            breaker.trip(for: .seconds(100))
            let start = clock.now
            #expect(clock.sleepers == [start + .seconds(100)])
            breaker.trip(for: .seconds(20))
            #expect(clock.sleepers == [start + .seconds(20)])
            clock.advance(by: .seconds(20))
            await clock.runUntilIdle()
            #expect(check.callCount == 1 && breaker.state == .closed)
        }
    }

    @Test("a call rejected in an endless break gets no retryAfter", arguments: [false, true])
    func endlessBreak(gate: Bool) async {
        let breaker = gate ? CircuitBreaker(circuit: BackoffGate()) : CircuitBreaker()
        breaker.trip(for: .seconds(Int64.max))
        let error = await #expect(throws: CircuitOpen.self) { try await breaker.run {} }
        #expect(error?.reason == .open && error?.retryAfter == nil)
        #expect(breaker.endBreak())
    }
}
