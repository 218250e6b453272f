import FuzzOracles
import TestSupport
import Testing

/// What the fuzzer does, in a second: see `Tests/Fuzzing`.
@Suite(.heavy) struct ConfigurationFuzzTests {
    let corpus: Corpus

    init() throws { corpus = try Corpus("Configuration") }

    @Test("every configuration of the corpus is an error, or makes a policy, and can be written and read again")
    func replay() async throws {
        let taken = try await corpus.check { try ConfigurationOracle.check($0) }
        #expect(taken > 0 && taken < corpus.inputs.count)
    }

    @Test("so is every one of 2 000 mutated ones")
    func mutations() async throws {
        let taken = try await corpus.checkMutations(2_000, seed: 7) { try ConfigurationOracle.check($0) }
        #expect(taken > 50)
    }
}
