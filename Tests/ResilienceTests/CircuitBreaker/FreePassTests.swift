import TestSupport
import Testing

@testable import Resilience

extension FreePass {
    fileprivate init(_ circuit: borrowing Circuit) {
        self.init()
        update(circuit)
    }

    fileprivate func update(_ circuit: borrowing Circuit) {
        let end = circuit.tallyEnds
        update(circuit.generation, needs: circuit.needs, tallyEnds: end)
    }

    /// As whenever the circuit is told anything.
    fileprivate func take(before circuit: borrowing Circuit) -> Int {
        defer { update(circuit) }
        return takeTally()
    }
}

@Suite struct FreePassTests {
    /// Only to make calls of.
    private let breaker = CircuitBreaker()

    private func succeeds(_ pass: borrowing FreePass, in generation: UInt64, at now: MonotonicInstant) -> Bool {
        var call = PolicyCall(breaker.ownCore)
        call.reading = now
        return pass.succeeded(generation, &call)
    }

    private func circuit(_ rule: some TripRule) -> Circuit { Circuit(ThreeStateCircuit(tripping: rule)) }

    @Test("where a success changes nothing it is free, and not even counted; one of another generation has to be told")
    func unmoved() {
        let pass = FreePass(circuit(.consecutiveFailures(1)))
        #expect(pass.generation == 1)
        #expect(succeeds(pass, in: 1, at: .second(5)) == true)
        #expect(pass.takeTally() == 0)
        #expect(succeeds(pass, in: 2, at: .second(5)) == false)
    }

    @Test("where successes are counted whatever the time each is counted once, and taken once")
    func timeless() {
        let circuit = circuit(.failures(2, over: .calls(9)))
        let pass = FreePass(circuit)
        for now in [MonotonicInstant.distantPast, .second(0), .distantFuture] {
            #expect(succeeds(pass, in: 1, at: now) == true)
        }
        #expect(pass.take(before: circuit) == 3)
        #expect(pass.take(before: circuit) == 0)
        #expect(succeeds(pass, in: 1, at: .second(0)) == true)
        #expect(pass.take(before: circuit) == 1)
    }

    @Test("where time matters successes are counted up to the end of the stretch, from there on they have to be told")
    func stretch() {
        var circuit = circuit(.failures(2, over: .time(.seconds(10), buckets: 10)))
        _ = circuit.record(.success, generation: 1, ticket: 0, at: .second(100))
        let pass = FreePass(circuit)
        #expect(succeeds(pass, in: 1, at: MonotonicInstant(nanoseconds: 100_999_999_999)) == true)
        #expect(succeeds(pass, in: 1, at: .second(101)) == false)
        #expect(pass.takeTally() == 1)
    }

    @Test("at an open circuit calls have to ask, and nothing is free")
    func open() {
        var circuit = circuit(.consecutiveFailures(1))
        let pass = FreePass(circuit)
        _ = circuit.record(.transient, generation: 1, ticket: 0, at: .second(0))
        pass.update(circuit)
        #expect(pass.generation == 0)
        #expect(succeeds(pass, in: 1, at: .second(0)) == false)
        #expect(succeeds(pass, in: 0, at: .second(0)) == false)
    }

    @Test("at an open circuit nothing is counted, before the end of a stretch that began while it was closed either")
    func openWithinStretch() {
        var circuit = circuit(.failures(1, over: .time(.seconds(10), buckets: 1)))
        _ = circuit.record(.success, generation: 1, ticket: 0, at: .second(1))
        let pass = FreePass(circuit)
        #expect(succeeds(pass, in: 1, at: .second(2)) == true)
        _ = pass.takeTally()
        _ = circuit.record(.transient, generation: 1, ticket: 0, at: .second(3))
        pass.update(circuit)
        #expect(succeeds(pass, in: 0, at: .second(4)) == false)
        #expect(pass.takeTally() == 0)
    }

    @Test("while the circuit is told anything nothing is counted beside it, in no generation")
    func sealed() {
        let circuit = circuit(.failures(2, over: .calls(9)))
        let pass = FreePass(circuit)
        #expect(succeeds(pass, in: 1, at: .second(0)) == true)
        #expect(pass.takeTally() == 1)
        for generation: UInt64 in [0, 1, 2, 0xFFFF_FFFF] {
            #expect(succeeds(pass, in: generation, at: .second(0)) == false)
        }
        pass.update(circuit)
        #expect(succeeds(pass, in: 1, at: .second(0)) == true)
    }

    @Test("what is counted counts in its generation, and what belongs to an earlier one has to be told")
    func generations() {
        var circuit = circuit(.failures(2, over: .calls(9)))
        let pass = FreePass(circuit)
        for _ in 0..<2 { #expect(succeeds(pass, in: 1, at: .second(0)) == true) }
        #expect(pass.takeTally() == 2)
        _ = circuit.reset(keepingGrowth: false)
        pass.update(circuit)
        #expect(pass.generation == 2)
        #expect(succeeds(pass, in: 1, at: .second(0)) == false)
        #expect(succeeds(pass, in: 2, at: .second(0)) == true)
        #expect(pass.take(before: circuit) == 1)
    }

    @Test("a million successes are counted, then one has to be told")
    func full() {
        let pass = FreePass(circuit(.failures(2, over: .calls(9))))
        var call = PolicyCall(breaker.ownCore)
        call.reading = .second(0)
        var counted = 0
        while counted < 3_000_000, pass.succeeded(1, &call) { counted += 1 }
        #expect(counted == 1 << 20 && pass.takeTally() == 1 << 20)
    }
}
