import FuzzOracles
import TestSupport
import Testing

@Suite(.heavy) struct HTTPEndpointFuzzTests {
    let corpus: Corpus

    init() throws { corpus = try Corpus("HTTPEndpoint") }

    @Test("the corpus of endpoints makes short and harmless keys")
    func replay() async throws {
        let changed = try await corpus.check { try HTTPEndpointOracle.check($0) }
        #expect(changed > 0 && changed < corpus.inputs.count)
    }

    @Test("20 000 mutated endpoints make short and harmless keys")
    func mutations() async throws {
        let changed = try await corpus.checkMutations(20_000, seed: 404) { try HTTPEndpointOracle.check($0) }
        #expect(changed > 1_000)
    }
}
