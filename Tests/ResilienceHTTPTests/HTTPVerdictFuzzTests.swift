import FuzzOracles
import TestSupport
import Testing

@Suite(.heavy) struct HTTPVerdictFuzzTests {
    let corpus: Corpus

    init() throws { corpus = try Corpus("HTTPVerdict") }

    @Test("the corpus of responses means nothing that can't be")
    func replay() async throws {
        let failures = try await corpus.check { try HTTPVerdictOracle.check($0) }
        #expect(failures > 0 && failures < corpus.inputs.count)
    }

    @Test("50 000 mutated responses mean nothing that can't be")
    func mutations() async throws {
        let taken = try await corpus.checkMutations(50_000, seed: 429) { try HTTPVerdictOracle.check($0) }
        #expect(taken > 10_000)
    }
}
