import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

@Suite(.timeLimit(.minutes(20))) struct HealthCheckTests {
    let clock = ManualClock()
    let check = ScriptedOperation<Void, Void>(fallback: .success(()))

    private func breaker(closing: ProbeRule = .successes(1), ramp: Duration = .zero) -> CircuitBreaker {
        CircuitBreaker(
            circuit: ThreeStateCircuit(
                tripping: .consecutiveFailures(1), openFor: .exponential(from: .seconds(60)),
                closing: closing, ramp: ramp),
            healthCheck: CircuitHealthCheck(timeout: .seconds(10)) { [check] in try await check() }, timeBase: clock)
    }

    /// Opens the circuit and runs the test on the clock.
    private func afterTrip(
        of breaker: CircuitBreaker? = nil, _ test: @escaping @Sendable (CircuitBreaker) async throws -> Void
    ) throws {
        let breaker = breaker ?? self.breaker()
        try clock.run {
            try breaker.tryAcquire().complete(.transient)
            try await test(breaker)
        }
    }

    private func sleep(_ duration: Duration) async {
        _ = await PolicyWaiter().wait(until: clock.now + duration, on: clock)
    }

    @Test("when the break is over, the check probes instead of the callers, and closes the circuit (A10)")
    func success() throws {
        try afterTrip { [self] breaker in
            await sleep(.milliseconds(59_999))
            #expect(check.callCount == 0 && !breaker.status.isAllowed)
            await sleep(.milliseconds(1))
            await clock.runUntilIdle()
            #expect(check.callCount == 1 && breaker.state == .closed)
            #expect(clock.sleepers.isEmpty)
        }
    }

    @Test("if a mode interrupts a check, exactly one other check runs, after the first has ended")
    func cutOff() throws {
        check.hold()
        try afterTrip { [self] breaker in
            await sleep(.seconds(61))
            breaker.setMode(.isolated)
            breaker.setMode(.automatic)
            await sleep(.seconds(1))
            #expect(check.callCount == 1)
            check.release(1)
            await sleep(.milliseconds(1))
            #expect(check.callCount == 2 && breaker.state == .halfOpen)
            check.release(1)
            await clock.runUntilIdle()
            #expect(check.callCount == 2 && breaker.state == .closed)
        }
    }

    @Test("a check that still runs after its timeout and a change of settings does not decide the next check")
    func outlived() throws {
        try clock.run { [self] in
            let check = check
            let breaker = CircuitBreaker(
                tripping: .consecutiveFailures(1),
                healthCheck: CircuitHealthCheck(timeout: .seconds(5)) {
                    // Ignores cancellation.
                    try await Task { try await check() }.value
                }, timeBase: clock)
            check.hold()
            breaker.trip()
            await sleep(.seconds(66))
            #expect(check.callCount == 1 && breaker.state == .open)
            breaker.reconfigure(tripping: .consecutiveFailures(2))
            await sleep(.seconds(60))
            #expect(check.callCount == 2 && breaker.state == .halfOpen)
            check.release(1)
            await clock.runUntilIdle()
            #expect(check.callCount == 2 && breaker.state == .halfOpen)
            check.release(1)
            await clock.runUntilIdle()
            #expect(check.callCount == 2 && breaker.state == .closed)
        }
    }

    @Test("while the check runs, callers are rejected, and none of them probes")
    func rejected() throws {
        check.hold()
        try afterTrip { [self] breaker in
            await sleep(.seconds(61))
            #expect(check.callCount == 1)
            #expect(!breaker.status.isAllowed && breaker.state == .halfOpen)
            let error = #expect(throws: CircuitOpen.self) { _ = try breaker.tryAcquire() }
            #expect(error?.reason == .probing)
            check.release()
            await clock.runUntilIdle()
            #expect(breaker.status.isAllowed)
        }
    }

    @Test("a failed check opens the circuit again, for longer, and the next check comes after that break")
    func failure() throws {
        check.enqueue(.failure(Outage()))
        try afterTrip { [self] breaker in
            await sleep(.seconds(61))
            #expect(breaker.state == .open && breaker.status.timeRemaining == .seconds(119))
            await sleep(.seconds(120))
            #expect(check.callCount == 2 && breaker.state == .closed)
        }
    }

    @Test("if several successes are required, the checks run in sequence")
    func several() throws {
        try afterTrip(of: breaker(closing: .successes(3))) { [self] breaker in
            await sleep(.seconds(61))
            #expect(check.callCount == 3 && breaker.state == .closed)
        }
    }

    @Test("after a check a ramp admits callers, without another check")
    func ramp() throws {
        try afterTrip(of: breaker(ramp: .seconds(10))) { [self] breaker in
            await sleep(.seconds(69))
            #expect(breaker.state == .halfOpen && breaker.status.isAllowed)
            #expect((0..<10).count { _ in (try? breaker.tryAcquire().complete(.success)) != nil } == 9)
            await sleep(.seconds(1))
            try breaker.tryAcquire().complete(.success)
            #expect(breaker.state == .closed && check.callCount == 1)
        }
    }

    @Test(
        "no check runs while the breaker is isolated or disabled; back in automatic mode, a check runs at once",
        arguments: [(CircuitBreaker.Mode.isolated, CircuitState.open), (.disabled, .halfOpen)])
    func setByHand(mode: CircuitBreaker.Mode, state: CircuitState) throws {
        try afterTrip { [self] breaker in
            breaker.setMode(mode)
            await sleep(.seconds(100))
            #expect(check.callCount == 0 && breaker.state == state)
            breaker.setMode(.automatic)
            await sleep(.zero)
            #expect(check.callCount == 1 && breaker.state == .closed)
        }
    }

    @Test("no check runs after a reset")
    func reset() throws {
        try afterTrip { [self] breaker in
            breaker.reset()
            await sleep(.seconds(100))
            #expect(check.callCount == 0 && breaker.state == .closed)
        }
    }

    @Test("after a restart the check runs at the end of the break")
    func restart() throws {
        try clock.run { [self] in
            let before = breaker()
            try before.tryAcquire().complete(.transient)
            let snapshot = try #require(before.snapshot(wallClock: 0))
            before.reset()
            let after = breaker()
            try after.restore(snapshot, wallClock: 20_000)
            await sleep(.seconds(39))
            #expect(check.callCount == 0)
            await sleep(.seconds(2))
            #expect(check.callCount == 1 && after.state == .closed)
        }
    }

    @Test(
        "a break restored while open may be shorter or longer: the check runs at its new end",
        arguments: [0, 10, 100])
    func restoredWhileOpen(seconds: Int) throws {
        try afterTrip { [self] breaker in
            var memory = try #require(breaker.snapshot(wallClock: 0)).memory
            memory.remaining = .seconds(seconds + 1)
            try breaker.restore(CircuitSnapshot(memory: memory, takenAt: 0), wallClock: 1_000)
            let end = clock.now + .seconds(seconds)
            if seconds > 0 {
                #expect(clock.sleepers == [end])
                await sleep(.seconds(seconds))
            }
            await clock.runUntilIdle()
            await sleep(.zero)
            #expect(check.callCount == 1 && breaker.state == .closed && clock.now == end)
        }
    }

    @Test("a disabled breaker that is restored to half-open is checked at once, even if it already was half-open")
    func restoredToHalfOpen() throws {
        check.hold()
        try afterTrip { [self] breaker in
            await sleep(.seconds(61))
            let snapshot = try #require(breaker.snapshot())
            breaker.setMode(.disabled)
            check.release()
            await clock.runUntilIdle()
            #expect(check.callCount == 1 && breaker.state == .halfOpen)
            try breaker.restore(snapshot)
            await sleep(.zero)
            #expect(check.callCount == 2 && breaker.state == .closed)
        }
    }

    @Test("a breaker without other references is released, even with a pending check")
    func letGo() throws {
        weak var weakly: CircuitBreaker?
        do {
            let breaker = breaker()
            try breaker.tryAcquire().complete(.transient)
            weakly = breaker
        }
        #expect(weakly == nil)
        clock.advance(by: .seconds(100))
        #expect(check.callCount == 0)
    }

    @Test("a gate, which has no probes, is never checked, and sets no alarm after its break")
    func gate() throws {
        let breaker = CircuitBreaker(
            circuit: BackoffGate(tripping: .consecutiveThrottles(1), openFor: .seconds(30)),
            healthCheck: CircuitHealthCheck { [check] in try await check() }, timeBase: clock)
        try breaker.tryAcquire().complete(.throttled)
        #expect(clock.sleepers == [clock.now + .seconds(30)])
        clock.advance(by: .seconds(31))
        #expect(clock.sleepers.isEmpty && breaker.status.isAllowed && check.callCount == 0)
    }

    @Test("a check's default timeout is ten seconds")
    func tenSeconds() { #expect(CircuitHealthCheck {}.timeout == .seconds(10)) }

    @Test("observers get the result of the check", arguments: [true, false])
    func told(isWell: Bool) throws {
        let recorder = EventRecorder()
        let breaker = CircuitBreaker(
            tripping: .consecutiveFailures(1),
            healthCheck: CircuitHealthCheck { if !isWell { throw Outage() } }, timeBase: clock,
            observers: PolicyObservers(recorder))
        try afterTrip(of: breaker) { [self] breaker in
            recorder.reset()
            await sleep(.seconds(61))
            let found: [CircuitBreaker.Event] = [.halfOpened, isWell ? .recovered : .reopened(for: .seconds(60))]
            #expect(recorder.events() == found)
        }
    }

    @Test(
        "a custom circuit that uses only verdicts, and changes when asked, is checked and reported like a built-in one")
    func plain() throws {
        let recorder = EventRecorder()
        let breaker = CircuitBreaker(
            circuit: PlainCircuit(), healthCheck: CircuitHealthCheck { [check] in try await check() },
            timeBase: clock,
            observers: PolicyObservers(recorder))
        check.enqueue(.failure(Outage()))
        try afterTrip(of: breaker) { [self] breaker in
            await sleep(.seconds(61))
            #expect(check.callCount == 1 && breaker.inner.withLock { $0.circuit.state } == .open)
            await sleep(.seconds(60))
            #expect(check.callCount == 2 && breaker.state == .closed)
            let kinds = (recorder.events() as [CircuitBreaker.Event]).map(\.kind)
            #expect(
                kinds.filter { $0 != "failure" } == [
                    "allowed", "opened", "halfOpened", "reopened", "halfOpened", "recovered",
                ])
        }
    }

    @Test("a check is cancelled at its timeout")
    func cancelled() throws {
        let wasCancelled = Locked(false)
        let breaker = CircuitBreaker(
            tripping: .consecutiveFailures(1),
            healthCheck: CircuitHealthCheck { [clock] in
                let wake = await PolicyWaiter().wait(until: .distantFuture, on: clock)
                wasCancelled.withLock { $0 = wake == .cancelled }
            }, timeBase: clock)
        try afterTrip(of: breaker) { [self] breaker in
            await sleep(.seconds(69))
            #expect(!wasCancelled.withLock { $0 })
            await sleep(.seconds(2))
            #expect(wasCancelled.withLock { $0 })
        }
    }

    @Test("a check that ignores cancellation fails at its timeout, and its later end does not affect other checks")
    func ignoresCancellation() throws {
        let breaker = CircuitBreaker(
            tripping: .consecutiveFailures(1),
            healthCheck: CircuitHealthCheck(timeout: .seconds(10)) { [check] in
                try await Task { try await check() }.value
            }, timeBase: clock)
        check.hold()
        try afterTrip(of: breaker) { [self] breaker in
            await sleep(.seconds(71))
            #expect(breaker.state == .open && breaker.status.timeRemaining == .seconds(59))
            // The second check is in flight when the first ends.
            await sleep(.seconds(60))
            #expect(check.callCount == 2 && breaker.state == .halfOpen)
            check.release(1)
            await clock.runUntilIdle()
            #expect(breaker.state == .halfOpen)
            await sleep(.seconds(10))
            #expect(breaker.state == .open && breaker.status.timeRemaining == .seconds(59))
            check.release()
        }
    }

    @Test("if a check ends after a mode was set by hand, no other check follows until the mode is automatic")
    func endsInAnotherMode() throws {
        check.hold()
        try afterTrip { [self] breaker in
            await sleep(.seconds(61))
            breaker.setMode(.isolated)
            check.release()
            await sleep(.seconds(100))
            #expect(check.callCount == 1 && clock.sleepers.isEmpty)
        }
    }
}
