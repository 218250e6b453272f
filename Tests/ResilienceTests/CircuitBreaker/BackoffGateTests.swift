import TestSupport
import Testing

@testable import Resilience

@Suite struct BackoffGateTests {
    private var gate = BackoffGate()

    /// Records this many 429s in sequence at one instant.
    private mutating func throttle(_ times: Int, at now: MonotonicInstant) {
        for _ in 0..<times { gate.call(.throttled, at: now) }
    }

    @Test(
        "after two 429s, each kind of end leads to the expected state and count",
        arguments: [
            (.throttled, .open, 3), (.throttled(retryAfter: .seconds(1)), .open, 3), (.success, .closed, 0),
            (.transient, .closed, 2), (.uncertain, .closed, 2), (.permanent, .closed, 2), (.rejected, .closed, 2),
            (.cancelled, .closed, 2),
        ] as [(Verdict, CircuitState, Int)])
    func recording(verdict: Verdict, state: CircuitState, count: Int) {
        var gate = gate
        for verdict in [.throttled, .throttled, verdict] { gate.call(verdict, at: .second(0)) }
        #expect(gate.status(at: .second(0)).state == state)
        #expect(gate.status(at: .second(0)).failureCount == count)
    }

    @Test("in observing mode, a gate reports at each call's end whether it would have shut")
    mutating func observed() {
        func end(_ verdict: Verdict) -> CallEnd { CallEnd(verdict, at: .second(0)) }
        #expect(
            [Verdict.throttled, .throttled, .transient, .throttled].map { gate.observe(end($0)) } == [
                false, false, false, true,
            ])
        #expect(gate.state == .closed && !gate.observe(end(.success)) && gate.isAtRest)
    }

    @Test("the gate needs to see successes after a counted failure, and after a trip until the first success")
    mutating func wantsSuccesses() {
        #expect(!gate.needs.contains(.successes))
        throttle(1, at: .second(0))
        #expect(gate.needs.contains(.successes))
        throttle(2, at: .second(0))
        gate.reset(keepingGrowth: true)
        #expect(gate.needs.contains(.successes))
        gate.reset(keepingGrowth: false)
        #expect(!gate.needs.contains(.successes))
    }

    @Test("a rule with a window counts each failure, even within a volley", arguments: [true, false])
    func volleyInAWindow(isRatio: Bool) {
        var gate =
            isRatio
            ? BackoffGate(tripping: .failureRatio(0.75, over: .calls(10), failing: .throttled, healthy: .success))
            : BackoffGate(tripping: .failures(5, over: .time(.seconds(30)), failing: .throttled, healthy: .success))
        for _ in 0..<10 { gate.record(.throttled, at: .second(0)) }
        #expect(gate.state == .open && !gate.needs.contains([.admissions, .calls]))
    }

    @Test("an inconclusive end is not counted, even with a ticket and a rule that would count it")
    func nothingSaid() {
        var gate = BackoffGate(tripping: ConsecutiveFailures(3, failing: [.throttled, .rejected], healthy: .success))
        gate.call(.throttled, at: .second(0))
        for _ in 0..<9 { gate.call(.rejected, at: .second(0)) }
        #expect(gate.status(at: .second(0)).failureCount == 1 && gate.state == .closed)
    }

    @Test(
        "if one call of 20 gets a 429, the gate stays open, although 429s arrive sooner than successes (P46)")
    func fewRejected() {
        var gate = BackoffGate()
        var underWay: [UInt64] = []
        for call in 1...2_000 {
            guard case .allow(let ticket) = gate.admit(at: .second(0)) else { return #expect(Bool(false), "\(call)") }
            if call > 100 { gate.record(.success, ticket: underWay.removeFirst(), at: .second(0)) }
            if call > 100, call.isMultiple(of: 20) { gate.record(.throttled, ticket: ticket, at: .second(0)) }
            underWay.append(ticket)
        }
        #expect(gate.state == .closed)
        // A failure is still counted.
        #expect(!gate.isAtRest)
    }

    @Test(
        "if fewer calls of a volley succeed than fail, the next failure continues the series (B5)",
        arguments: 1...4)
    mutating func lateSuccesses(successes: Int) {
        throttle(2, at: .second(0))
        for _ in 0..<successes { gate.record(.success, at: .second(0)) }
        gate.record(.throttled, at: .second(0))
        throttle(1, at: .second(0))
        #expect(gate.state == (successes > 1 ? .closed : .open))
        #expect(gate.status(at: .second(0)).failureCount == (successes > 1 ? 1 : 3))
    }

    @Test("if nearly all concurrent calls get a 429, the gate shuts soon", arguments: [2, 5, 20, 100])
    func crowd(callers: Int) {
        var gate = BackoffGate()
        var random = SeededNumbers(seed: UInt64(callers))
        var tickets = [UInt64](repeating: 0, count: callers)
        var ends = 0
        while gate.state == .closed, ends < 100 * callers {
            let caller = random.below(callers)
            gate.record(random.below(20) == 0 ? .success : .throttled, ticket: tickets[caller], at: .second(0))
            ends += 1
            if case .allow(let ticket) = gate.admit(at: .second(0)) { tickets[caller] = ticket }
        }
        #expect(gate.state == .open && ends <= 50 * callers, "\(ends) ends")
    }

    @Test("after a change of settings, a volley is still one event")
    mutating func reconfigured() {
        gate.record(.throttled, at: .second(0))
        var next = BackoffGate(tripping: .consecutiveThrottles(2))
        #expect(next.restore(gate.memory(at: .second(0))!, takenAt: .second(0)) == true)
        #expect(next.takeCalls(from: gate) == true && next.takeCalls(from: ThreeStateCircuit()) == false)
        next.record(.throttled, at: .second(0))
        #expect(next.state == .closed)
        next.call(.throttled, at: .second(0))
        #expect(next.state == .open)
    }

    @Test("a gate may be evicted only if it is open, has no counted failure, and its next break has not grown")
    mutating func forgettable() {
        #expect(gate.isAtRest(at: .second(0)))
        throttle(1, at: .second(0))
        #expect(!gate.isAtRest(at: .second(0)))
        throttle(2, at: .second(0))
        #expect(!gate.isAtRest(at: .second(100)))
        gate.reset(keepingGrowth: true)
        #expect(!gate.isAtRest(at: .second(100)))
        gate.reset(keepingGrowth: false)
        #expect(gate.isAtRest(at: .second(100)))
    }

    @Test("batched successes count; successes may be batched unless a success would reset the growth of breaks")
    func together() {
        var gate = BackoffGate(tripping: .failures(1, over: .calls(4)))
        gate.succeeded(3, at: .second(0))
        #expect(gate.status(at: .second(0)).callCount == 3 && gate.tallyEnds(after: .second(0)) == .distantFuture)
        gate.record(.transient, at: .second(0))
        gate.reset(keepingGrowth: true)
        #expect(gate.tallyEnds(after: .second(0)) == .second(0))
    }

    @Test("a gate restores its memory at rest, while shut, and after its break", arguments: [(0, 0), (3, 29), (3, 31)])
    func memory(throttles: Int, second: Int64) throws {
        var test = self
        test.throttle(throttles, at: .second(0))
        let memory = try #require(test.gate.memory(at: .second(second)))
        #expect(memory.remaining == (second == 29 ? .seconds(1) : .zero))
        var other = BackoffGate()
        #expect(other.restore(memory, takenAt: .second(second)) == true)
        #expect(other.status(at: .second(second)) == test.gate.status(at: .second(second)))
    }

    @Test("a break of negative length ends when it begins, not earlier")
    func negativeBreak() {
        var gate = BackoffGate(tripping: .consecutiveThrottles(1), openFor: NegativeBreak())
        gate.record(.throttled, at: .second(100))
        #expect(gate.status(at: .second(98)).timeRemaining == .seconds(2))
        #expect(gate.admit(at: .second(100)) == .allow(ticket: 1))
    }
}

extension BackoffGate {
    /// The end of a call that was admitted just now, or earlier if the gate is shut.
    fileprivate mutating func call(_ verdict: Verdict, at now: MonotonicInstant) {
        guard case .allow(let ticket) = admit(at: now) else { return _ = record(verdict, at: now) }
        record(verdict, ticket: ticket, at: now)
    }
}
