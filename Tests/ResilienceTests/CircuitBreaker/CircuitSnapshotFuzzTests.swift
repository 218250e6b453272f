import FuzzOracles
import TestSupport
import Testing

/// What the fuzzer does, in a second: see `Tests/Fuzzing`.
@Suite(.heavy) struct CircuitSnapshotFuzzTests {
    let corpus: Corpus

    init() throws { corpus = try Corpus("CircuitSnapshot") }

    @Test("every snapshot of the corpus is rejected with nothing changed, or a breaker goes on from it")
    func replay() async throws {
        let taken = try await corpus.check { try CircuitSnapshotOracle.check($0) }
        #expect(taken > 0 && taken < corpus.inputs.count)
    }

    @Test("so are 2 000 mutated ones")
    func mutations() async throws {
        let taken = try await corpus.checkMutations(2_000, seed: 12) { try CircuitSnapshotOracle.check($0) }
        #expect(taken > 50)
    }
}
