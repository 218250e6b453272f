import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// Met if half of the last 4 calls, and at least 2, take longer than 8 s.
private let slow = SlowCalls.slowCalls(0.5, longerThan: .seconds(8), over: .calls(4), minimumCalls: 2)

@Suite struct WatchedCallsTests {
    private var circuit = ThreeStateCircuit(tripping: slow)

    @Test("calls that never return open the circuit at the next call, which is rejected")
    mutating func neverBack() {
        for _ in 0..<2 { #expect(circuit.admit(at: .second(0)) == .allow(ticket: 0)) }
        #expect(circuit.admit(at: .second(7)) == .allow(ticket: 0))
        #expect(circuit.admit(at: .second(20)) == .reject(retryAfter: .seconds(60)))
        #expect(circuit.state == .open && circuit.trips == 1)
    }

    @Test("calls that never return also open the circuit during a ramp")
    func ramp() {
        var circuit = ThreeStateCircuit(tripping: slow, ramp: .seconds(100))
        _ = circuit.restore(CircuitMemory(state: .open, counted: [4, 2]), takenAt: .second(0))
        _ = circuit.admit(at: .second(0))
        _ = circuit.record(CallEnd(.success, at: .second(1), began: .second(0)), ticket: 1, using: .shared)
        let admitted = (0..<30).count { _ in circuit.admit(at: .second(2)) == .allow(ticket: 0) }
        #expect(admitted == 3 && circuit.state == .halfOpen)
        for _ in 0..<10 where circuit.state == .halfOpen { _ = circuit.admit(at: .second(20)) }
        #expect(circuit.state == .open)
    }

    @Test("a circuit that watches calls needs each beginning, in every state; another circuit does not")
    mutating func needs() {
        #expect(circuit.needs == [.admissions, .calls, .successes])
        circuit.reset(keepingGrowth: false)
        for _ in 0..<3 { _ = circuit.admit(at: .second(0)) }
        _ = circuit.admit(at: .second(20))
        #expect(circuit.state == .open && circuit.needs == [.admissions, .calls, .successes])
        #expect(ThreeStateCircuit(tripping: .consecutiveFailures(1)).needs == [])
    }

    @Test("a rule that is met but watches no calls opens only on a failure, not when a call begins")
    func metButNotWatching() {
        var circuit = ThreeStateCircuit(tripping: .consecutiveFailures(2))
        #expect(circuit.restore(CircuitMemory(state: .closed, counted: [1, 3]), takenAt: .second(0)) == true)
        #expect(circuit.admit(at: .second(0)) == .allow(ticket: 0))
        circuit.record(.throttled, at: .second(0))
        #expect(circuit.state == .closed)
    }

    @Test(
        "a breaker rejects while too many calls hang; a cancelled call counts only if it was cancelled after the limit"
    )
    func breaker() throws {
        let clock = ManualClock()
        let breaker = CircuitBreaker(tripping: slow, timeBase: clock)
        let first = try breaker.tryAcquire()
        let second = try breaker.tryAcquire()
        clock.advance(by: .seconds(7))
        try breaker.tryAcquire().complete(.cancelled)
        #expect(breaker.status.callCount == 0)
        clock.advance(by: .milliseconds(1_500))
        first.complete(.cancelled)
        #expect(breaker.status.callCount == 1 && breaker.status.failureCount == 1)
        clock.advance(by: .milliseconds(1_500))
        #expect(throws: CircuitOpen.self) { _ = try breaker.tryAcquire() }
        second.complete(.success)
        #expect(breaker.state == .open)
    }

    // MARK: Calls in flight while the state changes around them

    /// Opens when half of the last 10 calls, and at least 3, take longer than a second.
    private func watching(_ clock: ManualClock) -> CircuitBreaker {
        CircuitBreaker(
            tripping: .slowCalls(0.5, longerThan: .seconds(1), over: .calls(10), minimumCalls: 3), timeBase: clock)
    }

    @Test("a healthy circuit stays closed even if calls were in flight when its ramp ended (P32)")
    func rampEnds() throws {
        let clock = ManualClock()
        let breaker = CircuitBreaker(
            circuit: ThreeStateCircuit(
                tripping: .anyOf(
                    .consecutiveFailures(1),
                    .slowCalls(0.5, longerThan: .seconds(1), over: .calls(10), minimumCalls: 3)),
                openFor: .seconds(5), ramp: .seconds(10)),
            timeBase: clock)
        try breaker.tryAcquire().complete(.transient)
        clock.advance(by: .seconds(5))
        try breaker.tryAcquire().complete(.success)
        clock.advance(by: .milliseconds(9_900))
        let permits = HeldPermits()
        // Nine of ten calls are admitted.
        for _ in 0..<3 {
            do { permits.add(try breaker.tryAcquire()) } catch { permits.add(try breaker.tryAcquire()) }
        }
        clock.advance(by: .milliseconds(200))
        try breaker.tryAcquire().complete(.success)
        #expect(breaker.state == .closed)
        permits.completeAll()
        clock.advance(by: .seconds(2))
        for _ in 0..<5 { try breaker.tryAcquire().complete(.success) }
        #expect(breaker.state == .closed && breaker.status.failureCount == 0)
    }

    @Test(
        "calls in flight during a change by hand, or a restore, are not counted, and not remembered (P32)",
        arguments: ["disabled", "observing", "isolated", "restored", "reset", "tripped"])
    func around(change: String) throws {
        let clock = ManualClock()
        let breaker = watching(clock)
        let permits = HeldPermits()
        for _ in 0..<4 { permits.add(try breaker.tryAcquire()) }
        switch change {
        case "restored": try breaker.restore(try #require(breaker.snapshot()))
        case "reset": breaker.reset()
        case "tripped":
            breaker.trip(for: .zero)
            try breaker.tryAcquire().complete(.success)
        default:
            breaker.setMode(try #require(CircuitBreaker.Mode(rawValue: change)))
            breaker.setMode(.automatic)
        }
        clock.advance(by: .milliseconds(200))
        permits.completeAll()
        clock.advance(by: .seconds(5))
        for _ in 0..<3 { try breaker.tryAcquire().complete(.success) }
        #expect(breaker.status.callCount == 3 && breaker.status.failureCount == 0 && breaker.state == .closed)
    }

    @Test("after a change to equal settings calls in flight still count: hanging calls open the circuit (P32)")
    func reconfiguredAlike() throws {
        let clock = ManualClock()
        let breaker = watching(clock)
        let permits = HeldPermits()
        for _ in 0..<4 { permits.add(try breaker.tryAcquire()) }
        clock.advance(by: .milliseconds(500))
        #expect(
            breaker.reconfigure(
                tripping: .slowCalls(0.5, longerThan: .seconds(1), over: .calls(10), minimumCalls: 3)))
        clock.advance(by: .seconds(10))
        #expect(throws: CircuitOpen.self) { _ = try breaker.tryAcquire() }
        permits.completeAll()
    }

    @Test(
        "after the limit is changed, calls already in flight do not count, and take no other call's place (P32)",
        arguments: [500, 5_000])
    func reconfiguredOtherwise(milliseconds: Int) throws {
        let clock = ManualClock()
        let breaker = watching(clock)
        let permits = HeldPermits()
        for _ in 0..<4 { permits.add(try breaker.tryAcquire()) }
        #expect(
            breaker.reconfigure(
                tripping: .slowCalls(
                    0.5, longerThan: .milliseconds(milliseconds), over: .calls(10), minimumCalls: 3)))
        let later = HeldPermits()
        for _ in 0..<3 { later.add(try breaker.tryAcquire()) }
        permits.completeAll()
        clock.advance(by: .seconds(20))
        #expect(throws: CircuitOpen.self) { _ = try breaker.tryAcquire() }
        #expect(breaker.status.failureCount == 3)
        later.completeAll()
    }

    @Test("a combined rule takes over calls in flight only if each of its rules can (P32)")
    func takeOver() {
        let one = SlowCalls.slowCalls(0.5, longerThan: .seconds(8), over: .calls(4), minimumCalls: 2)
        let other = SlowCalls.slowCalls(0.5, longerThan: .seconds(9), over: .calls(4), minimumCalls: 2)
        let plain = ConsecutiveFailures.consecutiveFailures(5)
        for (old, new, isTaken) in [
            ([one, plain], [one, plain], true), ([one, plain], [other, plain], false),
            ([one, plain], [plain, one], false), ([one], [one, plain], false), ([one], [plain], true),
            ([plain, one], [plain, plain], true),
        ] as [([any TripRule], [any TripRule], Bool)] {
            var before = CombinedRule(.any, of: old)
            before.began(at: .second(0))
            var after = CombinedRule(.any, of: new)
            let taken = after.takeCalls(from: before)
            #expect(taken == isTaken, "\(after)")
        }
        var rule = one
        let isTaken = rule.takeCalls(from: plain)
        #expect(!isTaken)
    }

    @Test("an observing breaker counts slow calls, even calls that never return")
    func observing() throws {
        let clock = ManualClock()
        let recorder = EventRecorder()
        let breaker = watching(clock)
        breaker.observers.add(recorder)
        breaker.setMode(.observing)
        for _ in 0..<3 {
            let permit = try breaker.tryAcquire()
            clock.advance(by: .seconds(2))
            permit.complete(.success)
        }
        #expect(breaker.status.failureCount == 3)
        #expect(recorder.count { (event: CircuitBreaker.Event) in event == .wouldOpen } == 1)
        breaker.reset()
        recorder.reset()
        let permits = HeldPermits()
        for _ in 0..<3 { permits.add(try breaker.tryAcquire()) }
        clock.advance(by: .seconds(2))
        try breaker.tryAcquire().complete(.success)
        #expect(recorder.count { (event: CircuitBreaker.Event) in event == .wouldOpen } == 1)
        #expect(breaker.state == .closed)
        permits.completeAll()
    }
}
