import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// Calls that wait for the probes, step by step. For whole calls see `ExcessTests`.
@Suite(.timeLimit(.minutes(20))) struct WaitingForProbesTests {
    let clock = ManualClock()
    let recorder = EventRecorder()

    /// Half-open after a failure. A call that finds the probe in flight waits for 5 s at most; a probe's lease is 20 s.
    private func halfOpen(_ observers: PolicyObservers = PolicyObservers()) throws -> CircuitBreaker {
        let breaker = CircuitBreaker(
            circuit: ThreeStateCircuit(
                tripping: .consecutiveFailures(1), probeLease: .seconds(20), excess: .waits(upTo: .seconds(5))),
            timeBase: clock, observers: observers)
        try breaker.tryAcquire().complete(.transient)
        clock.advance(by: .seconds(60))
        return breaker
    }

    /// - Returns: Until when the call waits; nil if it goes.
    /// - Throws: The error that the call is rejected with.
    private func enter(
        _ breaker: CircuitBreaker, _ slot: inout PolicySlot, deadline: MonotonicInstant = .distantFuture
    ) throws -> MonotonicInstant? {
        var call = PolicyCall(breaker.ownCore, RunOptions(deadline: deadline))
        switch breaker.enter(&call, &slot) {
        case .proceed: return nil
        case .park(_, let until): return until
        case .reject(let error): throw error
        case .sleep, .fail, .cancel: throw Outage()
        }
    }

    @Test("a call that asks again and finds a new probe keeps waiting for the rest of its time")
    func waitsOn() throws {
        let breaker = try halfOpen(PolicyObservers(recorder))
        let probe = try breaker.tryAcquire()
        var (first, second) = (PolicySlot(), PolicySlot())
        let end = clock.now + .seconds(5)
        #expect(try enter(breaker, &first) == end && enter(breaker, &second) == end)
        #expect(recorder.count { (event: CircuitBreaker.Event) in event == .waiting } == 2)
        clock.advance(by: .seconds(2))
        probe.complete(.cancelled)
        #expect(try enter(breaker, &first) == nil)
        #expect(try enter(breaker, &second) == end)
        clock.advance(by: .seconds(3))
        #expect(throws: CircuitOpen.self) { try enter(breaker, &second) }
        // The call has left the line, so it may wait for the full time again.
        #expect(breaker.inner.withLock { $0.extras?.line.isEmpty != false })
        #expect(try enter(breaker, &second) == clock.now + .seconds(5))
    }

    @Test("no call waits beyond its deadline or beyond the probe's lease")
    func noLonger() throws {
        let breaker = try halfOpen()
        let probe = try breaker.tryAcquire()
        var slot = PolicySlot()
        #expect(try enter(breaker, &slot, deadline: clock.now + .seconds(2)) == clock.now + .seconds(2))
        clock.advance(by: .seconds(18))
        slot = PolicySlot()
        #expect(try enter(breaker, &slot) == clock.now + .seconds(2))
        probe.complete(.success)
    }

    @Test("a call rejected by the new break may wait for the full time again after it")
    func rejectedAtOnce() throws {
        let breaker = try halfOpen()
        let probe = try breaker.tryAcquire()
        var slot = PolicySlot()
        _ = try enter(breaker, &slot)
        probe.complete(.transient)
        // The second of these calls gets the rejection that the first call stored.
        #expect(throws: CircuitOpen.self) { _ = try breaker.tryAcquire() }
        #expect(throws: CircuitOpen.self) { try enter(breaker, &slot) }
        clock.advance(by: .seconds(60))
        let next = try breaker.tryAcquire()
        #expect(try enter(breaker, &slot) == clock.now + .seconds(5))
        next.complete(.success)
    }

    @Test("after a successful probe, waiting calls count like any other call")
    func countsAfterwards() throws {
        let breaker = try halfOpen()
        let probe = try breaker.tryAcquire()
        var slots = [PolicySlot(), PolicySlot(), PolicySlot()]
        for index in slots.indices { _ = try enter(breaker, &slots[index]) }
        probe.complete(.success)
        #expect(breaker.inner.withLock { $0.extras?.line.isEmpty != false })
        var call = PolicyCall(breaker.ownCore)
        for index in slots.indices {
            #expect(try enter(breaker, &slots[index]) == nil)
            _ = breaker.exit(&call, &slots[index], PolicyOutcome(index == 2 ? .transient : .success))
            #expect(breaker.state == (index == 2 ? .open : .closed))
        }
    }

    @Test("the first waiting call takes a place that becomes free")
    func firstCome() throws {
        let went = Journal()
        let breaker = try halfOpen()
        try clock.run { [clock] in
            let probe = try breaker.tryAcquire()
            let hold = PolicyWaiter()
            for number in 0..<3 {
                Task { [clock] in
                    try await breaker.run {
                        went.note("\(number)")
                        _ = await hold.wait(until: .distantFuture, on: clock)
                    }
                }
                await clock.runUntilIdle()
            }
            probe.complete(.cancelled)
            await clock.runUntilIdle()
            #expect(went.lines == ["0"])
            hold.resume()
        }
    }

    @Test("an open breaker that is reset admits the caller that it has just rejected")
    func resetAfterRejection() throws {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        try breaker.tryAcquire().complete(.transient)
        #expect(throws: CircuitOpen.self) { _ = try breaker.tryAcquire() }
        breaker.reset()
        try breaker.tryAcquire().complete(.success)
        let asking = CircuitBreaker(circuit: PlainCircuit(), timeBase: clock)
        try asking.tryAcquire().complete(.transient)
        #expect(throws: CircuitOpen.self) { _ = try asking.tryAcquire() }
        asking.reset()
        try asking.tryAcquire().complete(.success)
    }

    @Test("if a call admitted in a ramp ends after the ramp, the ramp's end is reported, and then a late success")
    func lateInRamp() throws {
        let breaker = CircuitBreaker(
            circuit: ThreeStateCircuit(tripping: .consecutiveFailures(1), ramp: .seconds(10)), timeBase: clock,
            observers: PolicyObservers(recorder))
        try breaker.tryAcquire().complete(.transient)
        clock.advance(by: .seconds(60))
        try breaker.tryAcquire().complete(.success)
        clock.advance(by: .seconds(9))
        let permit = try admitted(by: breaker)
        clock.advance(by: .seconds(2))
        recorder.reset()
        permit.complete(.success)
        #expect(recorder.events() == [CircuitBreaker.Event.recovered, .late(.success)])
    }

    /// Returns one of the calls that a ramp admits.
    private func admitted(by breaker: CircuitBreaker) throws -> PolicyPermit {
        for _ in 0..<100 { if let permit = try? breaker.tryAcquire() { return permit } }
        return try breaker.tryAcquire()
    }
}
