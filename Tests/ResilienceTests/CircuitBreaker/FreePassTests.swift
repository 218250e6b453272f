import TestSupport
import Testing

@testable import Resilience

extension FreePass {
    fileprivate init(_ circuit: borrowing Circuit) {
        self.init()
        update(circuit)
    }

    /// Takes the batched successes, as a breaker does before every input of the circuit.
    fileprivate func take(before circuit: borrowing Circuit) -> Int {
        defer { update(circuit) }
        return takeTally().succeeded
    }
}

@Suite struct FreePassTests {
    /// This breaker is used only to make calls.
    private let breaker = CircuitBreaker()

    private func succeeds(_ pass: borrowing FreePass, in generation: UInt64, at now: MonotonicInstant) -> Bool {
        var call = PolicyCall(breaker.ownCore)
        call.reading = now
        return pass.succeeded(generation, &call)
    }

    private func circuit(_ rule: some TripRule) -> Circuit { Circuit(ThreeStateCircuit(tripping: rule)) }

    @Test("a success that changes nothing is free and not counted; a success of another generation must be delivered")
    func unmoved() {
        let pass = FreePass(circuit(.consecutiveFailures(1)))
        #expect(pass.generation == 1)
        #expect(succeeds(pass, in: 1, at: .second(5)) == true)
        #expect(pass.takeTally().succeeded == 0)
        #expect(succeeds(pass, in: 2, at: .second(5)) == false)
    }

    @Test("if time does not matter, each success is counted once, and delivered to the circuit once")
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

    @Test("if time matters, successes are counted until the stretch ends; later successes must be delivered")
    func stretch() {
        var circuit = circuit(.failures(2, over: .time(.seconds(10), buckets: 10)))
        _ = circuit.record(.success, generation: 1, ticket: 0, at: .second(100))
        let pass = FreePass(circuit)
        #expect(succeeds(pass, in: 1, at: MonotonicInstant(nanoseconds: 100_999_999_999)) == true)
        #expect(succeeds(pass, in: 1, at: .second(101)) == false)
        #expect(pass.takeTally().succeeded == 1)
    }

    @Test("at an open circuit calls must ask, and no success is free")
    func open() {
        var circuit = circuit(.consecutiveFailures(1))
        let pass = FreePass(circuit)
        _ = circuit.record(.transient, generation: 1, ticket: 0, at: .second(0))
        pass.update(circuit)
        #expect(pass.generation == 0)
        #expect(succeeds(pass, in: 1, at: .second(0)) == false)
        #expect(succeeds(pass, in: 0, at: .second(0)) == false)
    }

    @Test("at an open circuit no success is counted, even within a stretch that began while it was closed")
    func openWithinStretch() {
        var circuit = circuit(.failures(1, over: .time(.seconds(10), buckets: 1)))
        _ = circuit.record(.success, generation: 1, ticket: 0, at: .second(1))
        let pass = FreePass(circuit)
        #expect(succeeds(pass, in: 1, at: .second(2)) == true)
        _ = pass.takeTally()
        _ = circuit.record(.transient, generation: 1, ticket: 0, at: .second(3))
        pass.update(circuit)
        #expect(succeeds(pass, in: 0, at: .second(4)) == false)
        #expect(pass.takeTally().succeeded == 0)
    }

    @Test("while the circuit takes an input no success is batched, in any generation")
    func sealed() {
        let circuit = circuit(.failures(2, over: .calls(9)))
        let pass = FreePass(circuit)
        #expect(succeeds(pass, in: 1, at: .second(0)) == true)
        #expect(pass.takeTally().succeeded == 1)
        for generation: UInt64 in [0, 1, 2, 0xFFFF_FFFF] {
            #expect(succeeds(pass, in: generation, at: .second(0)) == false)
        }
        pass.update(circuit)
        #expect(succeeds(pass, in: 1, at: .second(0)) == true)
    }

    @Test("a batched success counts in its generation; a success of an earlier generation must be delivered")
    func generations() {
        var circuit = circuit(.failures(2, over: .calls(9)))
        let pass = FreePass(circuit)
        for _ in 0..<2 { #expect(succeeds(pass, in: 1, at: .second(0)) == true) }
        #expect(pass.takeTally().succeeded == 2)
        _ = circuit.reset(keepingGrowth: false)
        pass.update(circuit)
        #expect(pass.generation == 2)
        #expect(succeeds(pass, in: 1, at: .second(0)) == false)
        #expect(succeeds(pass, in: 2, at: .second(0)) == true)
        #expect(pass.take(before: circuit) == 1)
    }

    @Test("a million successes are batched, then one must be delivered")
    func full() {
        let pass = FreePass(circuit(.failures(2, over: .calls(9))))
        var call = PolicyCall(breaker.ownCore)
        call.reading = .second(0)
        var counted = 0
        while counted < 3_000_000, pass.succeeded(1, &call) { counted += 1 }
        #expect(counted == 1 << 20 && pass.takeTally().succeeded == 1 << 20)
    }

    // MARK: Watched calls

    private func watching() -> Circuit {
        var circuit = circuit(.slowCalls(0.5, longerThan: .seconds(8)))
        _ = circuit.admit(at: .second(100))
        return circuit
    }

    private func begins(_ pass: borrowing FreePass, at now: MonotonicInstant) -> UInt64 {
        var call = PolicyCall(breaker.ownCore)
        call.reading = now
        return pass.began(&call)
    }

    private func succeeds(
        _ pass: borrowing FreePass, in generation: UInt64, from began: MonotonicInstant, at now: MonotonicInstant
    ) -> Bool {
        var call = PolicyCall(breaker.ownCore)
        call.reading = now
        return pass.succeeded(generation, began: began, &call)
    }

    @Test("watched calls are admitted within their stretch, and only calls that also end in it are batched")
    func watched() {
        let circuit = watching()
        let pass = FreePass(circuit)
        let (now, last) = (MonotonicInstant.second(100), MonotonicInstant(nanoseconds: 100_999_999_999))
        #expect(pass.generation == 0 && begins(pass, at: now) == 1 && begins(pass, at: last) == 1)
        #expect(
            begins(pass, at: .second(101)) == 0 && begins(pass, at: MonotonicInstant(nanoseconds: 99_999_999_999)) == 0)
        #expect(succeeds(pass, in: 1, from: now, at: last) == true)
        #expect(succeeds(pass, in: 1, from: now, at: .second(101)) == false)
        #expect(succeeds(pass, in: 1, from: .second(99), at: last) == false)
        #expect(succeeds(pass, in: 2, from: now, at: last) == false)
        #expect(pass.presentTally == CircuitTally(began: 2, succeeded: 1))
        #expect(pass.takeTally() == CircuitTally(began: 2, succeeded: 1))
        #expect(begins(pass, at: now) == 0 && succeeds(pass, in: 1, from: now, at: now) == false)
        pass.update(circuit)
        #expect(begins(pass, at: now) == 1 && pass.takeTally() == CircuitTally(began: 1, succeeded: 0))
    }

    @Test("32 767 watched calls are batched, then a call must ask")
    func fullOfCalls() {
        let pass = FreePass(watching())
        var begun = 0
        while begun < 100_000, begins(pass, at: .second(100)) != 0 { begun += 1 }
        var ended = 0
        while ended < 100_000, succeeds(pass, in: 1, from: .second(100), at: .second(100)) { ended += 1 }
        #expect(
            pass.takeTally() == CircuitTally(began: 0x7FFF, succeeded: 0x7FFF) && begun == 0x7FFF && ended == 0x7FFF)
    }
}
