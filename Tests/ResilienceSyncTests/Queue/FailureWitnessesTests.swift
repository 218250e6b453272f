import Foundation
import Resilience
import ResilienceTesting
import TestSupport
import Testing

@testable import ResilienceSync

/// Whether a failure is the mutation's own fault.
@Suite(.heavy) struct FailureWitnessesTests {
    private var witnesses = FailureWitnesses()
    private let poison = LaneHead(1, "poison")

    /// This many other mutations of this kind succeed, or fail for the first time.
    private mutating func others(_ delivered: Int, failing failed: Int = 0, _ kind: String = "one") {
        for number in 0..<delivered { witnesses.delivered(LaneHead(Int64(1_000 + number), "well", kind)) }
        for number in 0..<failed {
            _ = witnesses.failed(LaneHead(Int64(2_000 + number), "ill", kind), sent: witnesses.tally(of: kind))
        }
    }

    /// The failures in sequence, with what happens between them.
    private mutating func counts(_ between: [(delivered: Int, failed: Int)]) -> [Bool] {
        between.map { delivered, failed in
            let sent = witnesses.tally(of: "one")
            others(delivered, failing: failed)
            return witnesses.failed(poison, sent: sent)
        }
    }

    @Test(
        "a failure counts in full if nine of ten mutations, this one included, get through, and in part if fewer do",
        arguments: [
            (9, 0, [1]), (1_000, 0, [1, 2, 3]), (8, 0, [2, 3, 4]), (90, 10, [2]), (90, 9, [1, 2]),
            (125, 100, [3]), (80, 100, [4]), (1, 0, [4]), (0, 0, []), (0, 9, []),
        ])
    mutating func shares(delivered: Int, failed: Int, counted: [Int]) {
        let counts = counts(Array(repeating: (delivered, failed), count: counted.last ?? 50))
        #expect(counts.indices.filter { counts[$0] }.map { $0 + 1 } == counted)
    }

    @Test("for a mutation, only results since its last failure count")
    mutating func since() {
        let counts = counts([(50, 0), (0, 0), (0, 3), (50, 0)])
        #expect(counts == [true, false, false, true])
    }

    @Test("mutations of another kind don't count: they may have another server")
    mutating func kinds() {
        let sent = witnesses.tally(of: "one")
        others(100, "two")
        let isItsOwn = witnesses.failed(poison, sent: sent)
        #expect(!isItsOwn)
    }

    @Test("a mutation's success or death ends its series of failures")
    mutating func forgotten() {
        _ = counts([(0, 0), (0, 0), (0, 0)])
        #expect(witnesses.failures(of: 1) == 3)
        witnesses.forget(1)
        #expect(witnesses.failures(of: 1) == 0)
        _ = counts([(0, 0)])
        witnesses.delivered(poison)
        #expect(witnesses.failures(of: 1) == 0)
        _ = counts([(0, 0)])
        witnesses.forgetAll()
        #expect(witnesses.failures(of: 1) == 0)
    }

    @Test("however many mutations fail and never return, only the latest are remembered")
    mutating func bounded() {
        let most = FailureWitnesses.most
        for position in 1...Int64(most + 1) {
            _ = witnesses.failed(LaneHead(position, "\(position)"), sent: FailureWitnesses.Tally())
        }
        #expect(witnesses.failures(of: 1) == 0 && witnesses.failures(of: Int64(most / 2)) == 0)
        #expect(witnesses.failures(of: Int64(most)) == 1 && witnesses.failures(of: Int64(most / 2 + 2)) == 1)
    }
}

/// A backlog behind the guide's pipeline in an outage, on a bad day, and with a mutation that breaks its server.
@Suite(.timeLimit(.minutes(20))) struct OutageTests {
    /// - Parameter chance: The share of calls that fail although the server is healthy.
    private func run(
        pending: Int, for seconds: Double, counting: FailureCounting = .whileOthersSucceed, poison: Set<String> = [],
        chance: Double = 0, verdict: Verdict = .transient, seed: UInt64 = 1, arriving: Double? = nil,
        isWell: @escaping @Sendable (Double) -> Bool
    ) throws -> (dead: [String], pending: Int) {
        let (clock, store) = (ManualClock(), MemoryStore())
        let random = Locked(SeededGenerator(seed: seed))
        return try clock.run(maxSteps: 100_000_000) {
            let start = clock.now
            let pipeline = Pipeline("outbox", timeBase: clock) {
                CircuitBreaker("api", timeBase: clock)
                Timeout(limit: .seconds(30))
            }
            let queue = SyncQueue(
                store: store, pipeline: pipeline, configuration: SyncQueueConfiguration(failureCounting: counting)
            ) { mutation in
                _ = await PolicyWaiter().wait(until: clock.now + .milliseconds(50), on: clock)
                let isLucky = random.withLock { Double.random(in: 0..<1, using: &$0) } >= chance
                if poison.contains(mutation.id) || !isLucky || !isWell(start.duration(to: clock.now) / .seconds(1)) {
                    throw Judgement(verdict: verdict)
                }
            }
            try await queue.enqueue(Mutation.many(pending))
            queue.trigger()
            var number = pending
            if let arriving {
                while start.duration(to: clock.now) < .seconds(seconds) {
                    _ = await PolicyWaiter().wait(until: clock.now + .seconds(arriving), on: clock)
                    number += 1
                    try await queue.enqueue(
                        Mutation(id: "late\(number)", entity: "late\(number)", kind: "create", payload: Data()))
                    queue.trigger()
                }
            } else {
                _ = await PolicyWaiter().wait(until: start + .seconds(seconds), on: clock)
            }
            await queue.stop()
            return (try await queue.dead().map(\.mutation.id), try await queue.status.pending)
        }
    }

    private struct Judgement: Error, VerdictConvertible { let verdict: Verdict }

    @Test(
        "in an outage of any length no mutation dies, and afterwards all are delivered (P45)",
        arguments: [(1, 20), (20, 3600), (100, 8 * 3600)] as [(Int, Double)], [Verdict.transient, .uncertain])
    func outage(of pending: (Int, Double), verdict: Verdict) throws {
        let (count, length) = pending
        let (dead, left) = try run(pending: count, for: length + 900, verdict: verdict) { $0 > length }
        #expect(dead.isEmpty && left == 0)
    }

    @Test("if every failure counts, a long outage makes a mutation dead: this is why the rule is a setting")
    func seedsRule() throws {
        let (dead, _) = try run(pending: 1, for: 100, counting: .always) { $0 > 60 }
        #expect(dead == ["0"])
    }

    @Test("with a server that is up for a minute and down for five, no mutation dies (P45)")
    func flapping() throws {
        let (dead, left) = try run(pending: 100, for: 7200) { $0.truncatingRemainder(dividingBy: 360) > 300 }
        #expect(dead.isEmpty && left == 0)
    }

    @Test("with a server that fails a third of its calls, no mutation dies (P45)", arguments: UInt64(1)...3)
    func badDay(seed: UInt64) throws {
        let (dead, left) = try run(pending: 300, for: 7200, chance: 0.33, seed: seed) { _ in true }
        #expect(dead.isEmpty && left == 0)
    }

    @Test("a mutation that breaks its server dies, and no other mutation does (P45)")
    func poisonous() throws {
        let (dead, left) = try run(pending: 50, for: 300, poison: ["7"], arriving: 1) { _ in true }
        #expect(dead == ["7"] && left <= 1)
    }

    @Test("a poison mutation that comes first also dies, although its failures open the breaker; others get through")
    func poisonousFirst() throws {
        let (dead, left) = try run(pending: 1, for: 1800, poison: ["0"], arriving: 5) { _ in true }
        #expect(dead == ["0"] && left <= 1)
    }

    @Test(
        "a mutation that always fails, and opens the breaker each time, does not keep out a later mutation",
        arguments: [20, 80, 500])
    func newcomer(after seconds: Double) throws {
        let clock = ManualClock()
        let delivered = ScriptedOperation<Mutation, Void>(fallback: .success(()))
        try clock.run(maxSteps: 10_000_000) {
            let pipeline = Pipeline("outbox", timeBase: clock) {
                CircuitBreaker("api", timeBase: clock)
                Timeout(limit: .seconds(30))
            }
            let queue = SyncQueue(store: MemoryStore(), pipeline: pipeline) { mutation in
                if mutation.id == "p1" { throw Judgement(verdict: .transient) }
                try await delivered(mutation)
            }
            try await queue.enqueue(Mutation("p1"))
            queue.trigger()
            _ = await PolicyWaiter().wait(until: clock.now + .seconds(seconds), on: clock)
            try await queue.enqueue(Mutation("g1"))
            queue.trigger()
            _ = await PolicyWaiter().wait(until: clock.now + .seconds(300), on: clock)
            await queue.stop()
        }
        #expect(delivered.inputs.map(\.id) == ["g1"])
    }

    @Test("ten mutations that break their server do not shield each other")
    func tenPoisonous() throws {
        let poison = Set((0..<10).map { "\($0)" })
        let (dead, left) = try run(pending: 100, for: 3600, poison: poison, arriving: 1) { _ in true }
        #expect(Set(dead) == poison && left <= 1)
    }

    @Test("a failing mutation without others is kept: nobody can tell whose fault it is")
    func alone() throws {
        let (dead, left) = try run(pending: 1, for: 3600, poison: ["0"]) { _ in true }
        #expect(dead.isEmpty && left == 1)
    }
}
