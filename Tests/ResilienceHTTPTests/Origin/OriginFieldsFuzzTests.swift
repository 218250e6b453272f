import FuzzOracles
import TestSupport
import Testing

@Suite(.heavy) struct OriginFieldsFuzzTests {
    let corpus: Corpus

    init() throws { corpus = try Corpus("OriginFields") }

    @Test("the corpus of priorities and attempts is read as it must be, and written as it is read")
    func replay() async throws {
        let read = try await corpus.check { try OriginFieldsOracle.check($0) }
        #expect(read > 0 && read < corpus.inputs.count)
    }

    @Test("50 000 mutated priorities and attempts are read as they must be")
    func mutations() async throws {
        let read = try await corpus.checkMutations(50_000, seed: 506) { try OriginFieldsOracle.check($0) }
        #expect(read > 2_000)
    }
}
