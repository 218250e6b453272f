import FuzzOracles
import TestSupport
import Testing

/// What the fuzzer does, in a second: see `Tests/Fuzzing`.
@Suite(.heavy) struct RetryAfterFuzzTests {
    let corpus: Corpus

    init() throws { corpus = try Corpus("RetryAfter") }

    @Test("the corpus is read as the calendar and the grammar, told in another way, read it")
    func replay() async throws {
        let taken = try await corpus.check { try RetryAfterOracle.check($0) }
        #expect(taken > 0 && taken < corpus.inputs.count)
    }

    @Test("20 000 mutated values are read as the calendar and the grammar, told in another way, read them")
    func mutations() async throws {
        // If next to none were accepted, nothing but refusals was tried.
        let taken = try await corpus.checkMutations(20_000, seed: 20_240_229) { try RetryAfterOracle.check($0) }
        #expect(taken > 1_000)
    }
}
