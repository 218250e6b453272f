import FuzzOracles
import TestSupport
import Testing

@Suite(.heavy) struct MutationReaderFuzzTests {
    let corpus: Corpus

    init() throws { corpus = try Corpus("MutationReader") }

    @Test("the corpus of files is read as another reader of JSON reads it")
    func replay() async throws {
        let taken = try await corpus.check { try MutationReaderOracle.check($0) }
        #expect(taken > 0 && taken < corpus.inputs.count)
    }

    @Test("10 000 mutated files are read as another reader of JSON reads them")
    func mutations() async throws {
        let taken = try await corpus.checkMutations(10_000, seed: 8259) { try MutationReaderOracle.check($0) }
        #expect(taken > 100)
    }
}
