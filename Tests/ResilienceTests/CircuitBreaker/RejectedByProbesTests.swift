import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// The `retryAfter` of calls rejected because a probe is in flight.
@Suite struct RejectedByProbesTests {
    let clock = ManualClock()

    private func wait(_ breaker: CircuitBreaker) -> Duration? {
        let error = #expect(throws: CircuitOpen.self) { _ = try breaker.tryAcquire() }
        #expect(error?.reason == .probing)
        #expect(breaker.forecast().outcome == .isRejected(retryAfter: error?.retryAfter))
        return error?.retryAfter
    }

    private func open(_ breaker: CircuitBreaker, for length: Duration = .seconds(5)) throws {
        try breaker.tryAcquire().complete(.transient)
        clock.advance(by: length)
    }

    @Test("a call rejected during a probe gets a wait of a second at most, never the probe's lease (P64)")
    func lease() throws {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), openFor: .seconds(5), timeBase: clock)
        try open(breaker)
        let probe = try breaker.tryAcquire()
        #expect(wait(breaker) == .seconds(1))
        clock.advance(by: .milliseconds(300))
        #expect(wait(breaker) == .milliseconds(700))
        // The probe is late, so the estimate doubles.
        clock.advance(by: .milliseconds(800))
        #expect(wait(breaker) == .milliseconds(900))
        probe.complete(.success)
        #expect(breaker.state == .closed)
    }

    @Test("the wait is the last probe's duration, or the last break if shorter, and never zero (P64)")
    func measured() throws {
        let breaker = CircuitBreaker(
            tripping: .consecutiveFailures(1), openFor: .exponential(from: .milliseconds(400)), timeBase: clock)
        try open(breaker, for: .milliseconds(400))
        var probe = try breaker.tryAcquire()
        #expect(wait(breaker) == .milliseconds(400))
        clock.advance(by: .milliseconds(50))
        probe.complete(.transient)
        clock.advance(by: .milliseconds(800))
        probe = try breaker.tryAcquire()
        #expect(wait(breaker) == .milliseconds(50))
        // A probe with an inconclusive end does not change the measured duration.
        clock.advance(by: .milliseconds(20))
        probe.complete(.cancelled)
        probe = try breaker.tryAcquire()
        #expect(wait(breaker) == .milliseconds(50))
        probe.complete(.transient)
        clock.advance(by: .seconds(2))
        probe = try breaker.tryAcquire()
        #expect(wait(breaker) == .milliseconds(1))
        probe.complete(.success)
    }

    @Test("calls rejected during a health check, and calls that waited for a probe in vain, get a wait")
    func checkAndExcess() throws {
        let clock = clock
        let check = ScriptedOperation<Void, Void>(fallback: .success(()))
        check.hold()
        try clock.run {
            let breaker = CircuitBreaker(
                tripping: .consecutiveFailures(1), openFor: .seconds(5),
                healthCheck: CircuitHealthCheck { try await check() }, timeBase: clock)
            try breaker.tryAcquire().complete(.transient)
            clock.advance(by: .seconds(5))
            await clock.runUntilIdle()
            let error = #expect(throws: CircuitOpen.self) { _ = try breaker.tryAcquire() }
            #expect(error?.retryAfter == .seconds(1) && check.callCount == 1)
            check.release()
            await clock.runUntilIdle()

            let machine = ThreeStateCircuit(
                tripping: .consecutiveFailures(1), openFor: .seconds(5), excess: .waits(upTo: .milliseconds(1_700)))
            let waits = CircuitBreaker(circuit: machine, timeBase: clock)
            try waits.tryAcquire().complete(.transient)
            clock.advance(by: .seconds(5))
            let probe = try waits.tryAcquire()
            let late = await #expect(throws: CircuitOpen.self) { try await waits.run {} }
            #expect(late?.retryAfter == .milliseconds(300))
            probe.complete(.success)
        }
    }

    @Test("a call that a ramp rejects gets the rest of the ramp as its wait, but at most a second")
    func ramp() {
        var circuit = ThreeStateCircuit(tripping: .consecutiveFailures(1), openFor: .seconds(5), ramp: .seconds(30))
        circuit.record(.transient, at: .second(0))
        _ = circuit.admit(at: .second(5))
        circuit.record(.success, ticket: 1, at: .second(5))
        #expect(circuit.admit(at: .second(6)) == .reject(retryAfter: .seconds(1)))
        let late = MonotonicInstant.second(34) + .milliseconds(800)
        var admission = circuit.admit(at: late)
        // The share is nearly 1: each call adds slightly less credit than an admitted call uses.
        while case .allow = admission { admission = circuit.admit(at: late) }
        #expect(admission == .reject(retryAfter: .milliseconds(200)))
    }

    @Test("with a custom machine that makes calls wait, the wait is a second, or the rest of the lease if shorter")
    func ownMachine() {
        struct Waiting: CircuitStateMachine {
            var description: String { "waiting" }
            let state = CircuitState.halfOpen
            let leaseEnds: MonotonicInstant
            mutating func admit(at now: MonotonicInstant, using generator: SplitMix64) -> CircuitAdmission {
                .wait(upTo: .seconds(5), leaseEnds: leaseEnds)
            }
            mutating func record(_ end: CallEnd, ticket: UInt64, using generator: SplitMix64) -> Bool { false }
            mutating func reset(keepingGrowth: Bool) {}
            func status(at now: MonotonicInstant) -> CircuitBreakerStatus {
                CircuitBreakerStatus(state: .halfOpen, failureCount: 0)
            }
        }
        for (lease, told) in [(60, 1_000), (0, 500)] as [(Int64, Int64)] {
            let now = MonotonicInstant.second(100)
            var circuit = Circuit(Waiting(leaseEnds: now + .seconds(lease) + .milliseconds(500)))
            let patience = Circuit.Patience(latest: now)
            #expect(circuit.admit(at: now, patience) == .reject(retryAfter: .milliseconds(told), nil))
        }
    }
}
