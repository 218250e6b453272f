import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// Callers that wait for the probes' end, step by step: see `ExcessTests` for whole calls.
@Suite(.timeLimit(.minutes(20))) struct WaitingForProbesTests {
    let clock = ManualClock()
    let recorder = EventRecorder()

    /// Half-open after a failure; who finds the probe out waits for 5 s at most, and a probe has 20 s.
    private func halfOpen(_ observers: PolicyObservers = PolicyObservers()) throws -> CircuitBreaker {
        let breaker = CircuitBreaker(
            circuit: ThreeStateCircuit(
                tripping: .consecutiveFailures(1), probeLease: .seconds(20), excess: .waits(upTo: .seconds(5))),
            timeBase: clock, observers: observers)
        try breaker.tryAcquire().complete(.transient)
        clock.advance(by: .seconds(60))
        return breaker
    }

    /// - Returns: until when the call waits; nil if it goes. It throws what it is rejected with.
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

    @Test("a call that finds its place taken again waits on, for what is left of its time")
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
        // It is gone, and the next round begins anew.
        #expect(breaker.inner.withLock { $0.extras?.line.isEmpty != false })
        #expect(try enter(breaker, &second) == clock.now + .seconds(5))
    }

    @Test("nobody waits past its deadline, nor past the moment when a probe is given up")
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

    @Test("who is rejected by the new break is as new when that is over")
    func rejectedAtOnce() throws {
        let breaker = try halfOpen()
        let probe = try breaker.tryAcquire()
        var slot = PolicySlot()
        _ = try enter(breaker, &slot)
        probe.complete(.transient)
        // Of these two the second finds the first one's rejection still standing.
        #expect(throws: CircuitOpen.self) { _ = try breaker.tryAcquire() }
        #expect(throws: CircuitOpen.self) { try enter(breaker, &slot) }
        clock.advance(by: .seconds(60))
        let next = try breaker.tryAcquire()
        #expect(try enter(breaker, &slot) == clock.now + .seconds(5))
        next.complete(.success)
    }

    @Test("one who waited for a probe that succeeded counts as any other then")
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

    @Test("of those who wait the first to come takes the place that is free again")
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

    @Test("an open breaker that is reset lets in whom it has just rejected")
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

    @Test("a call of a ramp that ends after it tells of the ramp's end, and then that it was late")
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

    /// One of the calls that a ramp lets in.
    private func admitted(by breaker: CircuitBreaker) throws -> PolicyPermit {
        for _ in 0..<100 { if let permit = try? breaker.tryAcquire() { return permit } }
        return try breaker.tryAcquire()
    }
}
