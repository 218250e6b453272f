import FuzzOracles
import TestSupport
import Testing

@Suite(.heavy) struct DeadlineFieldFuzzTests {
    let corpus: Corpus

    init() throws { corpus = try Corpus("DeadlineField") }

    @Test("the corpus of deadlines is read as it must be, and written no longer")
    func replay() async throws {
        let read = try await corpus.check { try DeadlineFieldOracle.check($0) }
        #expect(read > 0 && read < corpus.inputs.count)
    }

    @Test("50 000 mutated deadlines are read as they must be, and written no longer")
    func mutations() async throws {
        let read = try await corpus.checkMutations(50_000, seed: 504) { try DeadlineFieldOracle.check($0) }
        #expect(read > 5_000)
    }
}
