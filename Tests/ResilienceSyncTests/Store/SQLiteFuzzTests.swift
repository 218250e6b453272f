#if SQLite
    import FuzzOracles
    import TestSupport
    import Testing

    @Suite(.heavy) struct SQLiteFuzzTests {
        @Test("the corpus of rows is read column by column, each of an unexpected type as empty")
        func rows() async throws {
            let corpus = try Corpus("StoredRow")
            let asWritten = try await corpus.check { try StoredRowOracle.check($0) }
            #expect(asWritten > 0 && asWritten < corpus.inputs.count)
        }

        @Test("5 000 mutated rows are read column by column, each of an unexpected type as empty")
        func mutatedRows() async throws {
            let taken = try await Corpus("StoredRow").checkMutations(5_000, seed: 3) { try StoredRowOracle.check($0) }
            #expect(taken > 20)
        }

        @Test("the corpus of damaged files is opened and works, or is refused and left as it is")
        func files() async throws {
            let corpus = try Corpus("QueueFile")
            let opened = try await corpus.check { try await QueueFileOracle.check($0) }
            #expect(opened > 0 && opened < corpus.inputs.count)
        }

        @Test("100 mutated files are opened and work, or are refused and left as they are")
        func mutatedFiles() async throws {
            let taken = try await Corpus("QueueFile").checkMutations(100, seed: 4) {
                try await QueueFileOracle.check($0)
            }
            #expect(taken > 10)
        }
    }
#endif
