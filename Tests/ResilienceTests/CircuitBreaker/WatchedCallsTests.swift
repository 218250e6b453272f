import ResilienceTesting
import Testing

@testable import Resilience

/// Half of the last 4 calls, of 2 at least, take 8 s or longer.
private let slow = SlowCalls.slowCalls(0.5, longerThan: .seconds(8), over: .calls(4), minimumCalls: 2)

@Suite struct WatchedCallsTests {
    private var circuit = ThreeStateCircuit(tripping: slow)

    @Test("calls that never come back open the circuit at the next call, which is refused")
    mutating func neverBack() {
        for _ in 0..<2 { #expect(circuit.admit(at: .second(0)) == .allow(ticket: 0)) }
        #expect(circuit.admit(at: .second(7)) == .allow(ticket: 0))
        #expect(circuit.admit(at: .second(20)) == .refuse(retryAfter: .seconds(60)))
        #expect(circuit.state == .open && circuit.trips == 1)
    }

    @Test("in a ramp too, calls that never come back open it")
    func ramp() {
        var circuit = ThreeStateCircuit(tripping: slow, ramp: .seconds(100))
        _ = circuit.restore(CircuitMemory(state: .open, counted: [4, 2]), takenAt: .second(0))
        _ = circuit.admit(at: .second(0))
        circuit.record(CallEnd(.success, at: .second(1), began: .second(0)), ticket: 1, using: .shared)
        let admitted = (0..<30).count { _ in circuit.admit(at: .second(2)) == .allow(ticket: 0) }
        #expect(admitted == 3 && circuit.state == .halfOpen)
        for _ in 0..<10 where circuit.state == .halfOpen { _ = circuit.admit(at: .second(20)) }
        #expect(circuit.state == .open)
    }

    @Test("a circuit that watches calls is told when each begins, in every state, another only what it must be")
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

    @Test("a breaker refuses while too many calls hang, and one cancelled after the limit was slow, before it nothing")
    func breaker() throws {
        let clock = ManualClock()
        let breaker = CircuitBreaker(tripping: slow, timeBase: clock)
        let first = try breaker.acquire()
        let second = try breaker.acquire()
        clock.advance(by: .seconds(7))
        try breaker.acquire().complete(.cancelled)
        #expect(breaker.status.callCount == 0)
        clock.advance(by: .seconds(1))
        first.complete(.cancelled)
        #expect(breaker.status.callCount == 1 && breaker.failureCount == 1)
        clock.advance(by: .seconds(2))
        #expect(throws: CircuitOpen.self) { _ = try breaker.acquire() }
        second.complete(.success)
        #expect(breaker.state == .open)
    }
}
