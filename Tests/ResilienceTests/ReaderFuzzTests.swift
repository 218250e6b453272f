import FuzzOracles
import TestSupport
import Testing

/// Runs the fuzzers' checks for about a second each: see `Tests/Fuzzing`.
@Suite(.heavy) struct ReaderFuzzTests {
    struct Reader: Sendable, CustomTestStringConvertible {
        let name: String
        let mutations: Int
        let seed: UInt64
        /// At least this many mutated inputs must be accepted; otherwise the test would try only rejections.
        let least: Int
        let check: @Sendable ([UInt8]) async throws -> Bool

        var testDescription: String { name }
    }

    private static let readers =
        [
            Reader(name: "Configuration", mutations: 2_000, seed: 7, least: 50) { try ConfigurationOracle.check($0) },
            Reader(name: "CircuitSnapshot", mutations: 2_000, seed: 12, least: 50) {
                try CircuitSnapshotOracle.check($0)
            },
            Reader(name: "HTTPVerdict", mutations: 50_000, seed: 429, least: 10_000) {
                try HTTPVerdictOracle.check($0)
            },
            Reader(name: "HTTPEndpoint", mutations: 20_000, seed: 404, least: 1_000) {
                try HTTPEndpointOracle.check($0)
            },
            Reader(name: "OriginFields", mutations: 50_000, seed: 506, least: 2_000) {
                try OriginFieldsOracle.check($0)
            },
            Reader(name: "RetryAfter", mutations: 20_000, seed: 20_240_229, least: 1_000) {
                try RetryAfterOracle.check($0)
            },
            Reader(name: "DeadlineField", mutations: 50_000, seed: 504, least: 5_000) {
                try DeadlineFieldOracle.check($0)
            },
            Reader(name: "Recording", mutations: 300, seed: 11, least: 20) { try RecordingOracle.check($0) },
        ] + stored

    #if SQLite
        private static let stored = [
            Reader(name: "StoredRow", mutations: 5_000, seed: 3, least: 20) { try StoredRowOracle.check($0) },
            Reader(name: "QueueFile", mutations: 100, seed: 4, least: 10) { try await QueueFileOracle.check($0) },
        ]
    #else
        private static let stored: [Reader] = []
    #endif

    @Test("every input of the corpus is read correctly, or rejected without any change", arguments: readers)
    func replay(reader: Reader) async throws {
        let corpus = try Corpus(reader.name)
        let taken = try await corpus.check(reader.check)
        #expect(taken > 0 && taken < corpus.inputs.count)
    }

    @Test("thousands of mutated inputs are read correctly, or rejected without any change", arguments: readers)
    func mutations(reader: Reader) async throws {
        let taken = try await Corpus(reader.name).checkMutations(reader.mutations, seed: reader.seed, reader.check)
        #expect(taken > reader.least)
    }
}
