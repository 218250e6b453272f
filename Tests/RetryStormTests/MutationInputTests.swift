#if Demo
    import Foundation
    import ResilienceSync
    import Testing

    @testable import RetryStorm

    @Suite struct MutationReaderTests {
        private func read(_ text: String) throws -> [Mutation] { try MutationReader.read(Data(text.utf8)) }

        private func line(_ id: String = "1", payload: String = "{}") -> String {
            #"{"id": "\#(id)", "entity": "e", "kind": "create", "payload": \#(payload)}"#
        }

        @Test("reads one mutation a line, with any JSON value as its payload")
        func lines() throws {
            let payloads = ["{}", "[1,[2,{}]]", "null", "true", "-0.5", #""é""#, #"{"a":{"b":1}}"#]
            let mutations = try read(payloads.enumerated().map { line("\($0)", payload: $1) }.joined(separator: "\n"))
            #expect(mutations.map(\.payload) == payloads.map { Data($0.utf8) })
            #expect(mutations.allSatisfy { $0.entity == "e" && $0.kind == "create" })
        }

        @Test("blank lines and line ends do not matter", arguments: ["LINE\r\n", "\n\nLINE\n \t\r\n\n", "  LINE  "])
        func blankLines(shape: String) throws {
            #expect(try read(shape.replacing("LINE", with: line())).count == 1)
        }

        @Test(
            "what is no mutation is an error that names the line",
            arguments: [
                ("", nil, "there is no mutation in it"), ("\n \n", nil, "there is no mutation in it"),
                ("\nx", 2, "not a JSON object"), ("[]", 1, "not a JSON object"),
                (#"{"id":"1""#, 1, "not a JSON object"),
                ("{}", 1, "\"id\" is missing, empty or not a string"),
                (#"{"id":1}"#, 1, "\"id\" is missing, empty or not a string"),
                (#"{"id":"1","payload":1}"#, 1, "\"entity\" is missing, empty or not a string"),
                (#"{"id":"1","entity":"e","kind":"","payload":1}"#, 1, "\"kind\" is missing, empty or not a string"),
                (#"{"id":"1","entity":"e","kind":"k"}"#, 1, "\"payload\" is missing"),
            ] as [(String, Int?, String)])
        func wrong(text: String, line: Int?, reason: String) {
            #expect(throws: MutationReader.BadInput(line: line, reason: reason)) { try read(text) }
        }

        @Test("an id may be there once, and has a key that fits into a header")
        func ids() {
            #expect(throws: MutationReader.BadInput(line: 3, reason: "id \"1\" is on line 1 already")) {
                try read([line("1"), line("2"), line("1")].joined(separator: "\n"))
            }
            #expect(MutationReader.key(of: "a\r\nX: é%") == "a%0D%0AX%3A%20%C3%A9%25")
            #expect(MutationReader.key(of: String(repeating: "é", count: 42)) != nil)
            #expect(MutationReader.key(of: String(repeating: "é", count: 43)) == nil)
        }

        @Test("nesting beyond any need, and bytes that are no text, are errors")
        func hostile() {
            let deep = String(repeating: "[", count: 400_000) + String(repeating: "]", count: 400_000)
            #expect(throws: MutationReader.BadInput.self) { try read(line(payload: deep)) }
            #expect(throws: MutationReader.BadInput.self) { try MutationReader.read(Data(line().utf8) + [0xFF]) }
        }

        @Test("a file that is not there is an error")
        func noFile() {
            #expect(throws: (any Error).self) { try MutationReader.read(path: "/nonexistent/backlog.jsonl") }
        }
    }

    @Suite struct MutationGeneratorTests {
        @Test("the same seed makes the same mutations, no two with an id or a key in common; some change what is there")
        func mutations() {
            #expect(MutationGenerator.mutations(50, seed: 7) == MutationGenerator.mutations(50, seed: 7))
            let mutations = MutationGenerator.mutations(1000, seed: .max)
            #expect(Set(mutations.map(\.id)).count == 1000 && Set(mutations.map(\.idempotencyKey)).count == 1000)
            let updates = mutations.count { $0.kind == "update" }
            #expect((60...200).contains(updates) && Set(mutations.map(\.entity)).count == 1000 - updates)
            #expect(mutations.allSatisfy { (try? JSONSerialization.jsonObject(with: $0.payload)) != nil })
        }
    }
#endif
