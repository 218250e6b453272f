import Foundation
import ResilienceSync
import ResilienceTesting
import Testing

@testable import RetryStormInput

@Suite struct MutationReaderTests {
    private func read(_ text: String) throws -> [Mutation] { try read(Array(text.utf8)) }

    private func read(_ bytes: [UInt8]) throws -> [Mutation] {
        var reader = MutationReader()
        try reader.take(bytes)
        return try reader.finish()
    }

    private func line(_ id: String = "1", payload: String = "{}") -> String {
        #"{"id": "\#(id)", "entity": "e", "kind": "create", "payload": \#(payload)}"#
    }

    @Test("reads one mutation a line")
    func readsOneMutationALine() throws {
        let mutations = try read(line("1") + "\n" + line("2", payload: "[1]") + "\n")
        #expect(mutations.map(\.id) == ["1", "2"])
        #expect(mutations.map(\.entity) == ["e", "e"])
        #expect(mutations.map(\.kind) == ["create", "create"])
        #expect(mutations.map(\.payload) == [Data("{}".utf8), Data("[1]".utf8)])
    }

    @Test(
        "blank lines and line ends do not matter",
        arguments: ["\u{FEFF}LINE", "LINE\r\n", "\n\nLINE\n \t\r\n\n", "  LINE  "])
    func blankLinesAndLineEndsDoNotMatter(shape: String) throws {
        #expect(try read(shape.replacing("LINE", with: line())).count == 1)
    }

    @Test(
        "a payload is any value and stays as it is written",
        arguments: [
            "null", "true", "false", "0", "-0.5e+10", "12345678901234567890123", "0.1", "1e999", #""é \u00e9 \n""#,
            "[]",
            "[1, [2, {}]]", #"{ "a" : {"a": 1} , "b":[ ]}"#,
        ])
    func aPayloadIsAnyValueAndStaysAsItIsWritten(payload: String) throws {
        #expect(try read(line(payload: payload)).first?.payload == Data(payload.utf8))
    }

    @Test("names may be escaped and others are passed over")
    func namesMayBeEscapedAndOthersArePassedOver() throws {
        let mutations = try read(
            ##"{"\u0069d":"a\"b","x":[{}],"payload":1,"entity":"\u00e9","kind":"k"}"##)
        #expect(mutations.first?.id == "a\"b")
        #expect(mutations.first?.entity == "é")
    }

    @Test(
        "says what is wrong",
        arguments: [
            ("", "there is no mutation in it"), ("\n \n", "there is no mutation in it"),
            ("x", "not a JSON object (column 1)"), ("[]", "not a JSON object (column 1)"),
            ("{}", "\"id\" is missing"), (#"{"id":"1"}"#, "\"entity\" is missing"),
            (#"{"id":"1","entity":"e"}"#, "\"kind\" is missing"),
            (#"{"id":"1","entity":"e","kind":"k"}"#, "\"payload\" is missing"),
            (#"{"id":1}"#, "\"id\" is not a string"), (#"{"id":""}"#, "\"id\" is empty"),
            (#"{"id":"1","entity":null}"#, "\"entity\" is not a string"),
            (#"{"id":"\ud800"}"#, "\"id\" is not a string that can be read"),
            (#"{"id":"1","id":"2"}"#, "\"id\" is there twice (column 16)"),
            (#"{"id":"1"} {}"#, "something follows the object (column 12)"),
            (#"{"id":"1",}"#, "\"\"\" expected (column 11)"), (#"{"id" "1"}"#, "\":\" expected (column 7)"),
            (#"{"id":tru}"#, "not a JSON value (column 7)"), (#"{"id":01}"#, "\",\" expected (column 8)"),
            (#"{"id":1.}"#, "a digit expected (column 9)"), (#"{"id":"#, "ends too early (column 7)"),
            (#"{"id":"1"#, "a string without an end (column 9)"),
            (#"{"id":"\x"}"#, "unknown escape in a string (column 10)"),
            (#"{"id":"\u12g4"}"#, "\\u without four hexadecimal digits (column 12)"),
            ("{\"id\":\"\t\"}", "control character in a string (column 9)"),
        ])
    func saysWhatIsWrong(text: String, reason: String) {
        #expect { try read(text) } throws: { ($0 as? MutationReader.BadInput)?.reason == reason }
    }

    @Test("names the line")
    func namesTheLine() {
        var bad = MutationReader.BadInput(line: 4, reason: "not a JSON object (column 1)")
        #expect(throws: bad) { try read(line("1") + "\n\n" + line("2") + "\nx\n" + line("3")) }
        bad.file = "backlog.jsonl"
        #expect("\(bad)" == "backlog.jsonl:4: not a JSON object (column 1)")
        #expect("\(MutationReader.BadInput(line: nil, reason: "empty", file: "f"))" == "f: empty")
    }

    @Test("an id may be there once")
    func anIDMayBeThereOnce() {
        #expect(throws: MutationReader.BadInput(line: 3, reason: "id \"1\" is on line 1 already")) {
            try read(line("1") + "\n" + line("2") + "\n" + line("1"))
        }
    }

    @Test("a line has an end")
    func aLineHasAnEnd() {
        let longest = MutationReader.longestLine
        #expect(throws: MutationReader.BadInput(line: 2, reason: "longer than \(longest) bytes")) {
            try read(line() + "\n" + String(repeating: " ", count: longest + 1))
        }
    }

    @Test("nesting has an end")
    func nestingHasAnEnd() throws {
        func nested(_ depth: Int) -> String {
            line(payload: String(repeating: "[", count: depth) + String(repeating: "]", count: depth))
        }
        #expect(try read(nested(JSONScanner.deepest)).count == 1)
        #expect(throws: MutationReader.BadInput.self) { try read(nested(JSONScanner.deepest + 1)) }
        #expect(throws: MutationReader.BadInput.self) { try read(nested(400_000)) }
    }

    @Test("refuses what is not UTF-8")
    func refusesWhatIsNotUTF8() {
        #expect(throws: MutationReader.BadInput(line: 1, reason: "not UTF-8")) {
            try read(Array(line().utf8) + [0xFF])
        }
    }

    @Test("a key fits into a header and differs where the id does")
    func aKeyFitsIntoAHeaderAndDiffersWhereTheIDDoes() {
        #expect(MutationReader.key(of: "evt-1") == "evt-1")
        #expect(MutationReader.key(of: "a\r\nX: é%") == "a%0D%0AX%3A%20%C3%A9%25")
        #expect(MutationReader.key(of: String(repeating: "a", count: 255)) != nil)
        #expect(MutationReader.key(of: String(repeating: "a", count: 256)) == nil)
        #expect(MutationReader.key(of: String(repeating: "é", count: 43)) == nil)
    }

    @Test("a file that is not there is an error")
    func aFileThatIsNotThereIsAnError() {
        #expect(throws: (any Error).self) { try MutationReader.read(path: "/nonexistent/backlog.jsonl") }
    }

    @Test("any bytes end in mutations or an error however they are cut", arguments: 0..<200 as Range<UInt64>)
    func anyBytesEndInMutationsOrAnErrorHoweverTheyAreCut(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "d8", "id", "\"id\"", "\"1\"", "\"payload\"", "-", "0",
            "1.", "e", "null", "tru", "\n", " ", "\r", "é", "\u{FEFF}", line("1"), line("2"),
        ]
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 0...40, using: &random) {
            if Int.random(in: 0..<10, using: &random) == 0 {
                bytes.append(UInt8.random(in: .min ... .max, using: &random))
            } else {
                bytes += (pieces.randomElement(using: &random) ?? "").utf8
            }
        }
        let whole = Result { try read(bytes) }
        let cut = Result {
            var reader = MutationReader()
            var rest = bytes[...]
            while !rest.isEmpty {
                let length = Int.random(in: 1...rest.count, using: &random)
                try reader.take(rest.prefix(length))
                rest = rest.dropFirst(length)
            }
            return try reader.finish()
        }
        switch (whole, cut) {
        case (.success(let whole), .success(let cut)):
            #expect(whole.map(\.payload) == cut.map(\.payload) && !whole.isEmpty)
        case (.failure(let whole), .failure(let cut)):
            #expect(whole as? MutationReader.BadInput == cut as? MutationReader.BadInput)
        default:
            Issue.record("\(whole) but cut \(cut)")
        }
    }
}

@Suite struct MutationGeneratorTests {
    @Test("the same seed makes the same mutations")
    func theSameSeedMakesTheSameMutations() {
        #expect(MutationGenerator.mutations(50, seed: 7) == MutationGenerator.mutations(50, seed: 7))
        #expect(
            MutationGenerator.mutations(1, seed: 7)[0].idempotencyKey
                != MutationGenerator.mutations(1, seed: 8)[0].idempotencyKey)
    }

    @Test("no two have an id or a key in common and every payload is JSON")
    func noTwoHaveAnIDOrAKeyInCommonAndEveryPayloadIsJSON() throws {
        let mutations = MutationGenerator.mutations(1000, seed: .max)
        #expect(Set(mutations.map(\.id)).count == 1000)
        #expect(Set(mutations.map(\.idempotencyKey)).count == 1000)
        for mutation in mutations {
            var scanner = JSONScanner(Array(mutation.payload))
            _ = try scanner.value()
            #expect(scanner.isAtEnd)
        }
    }

    @Test("some change what is there already")
    func someChangeWhatIsThereAlready() {
        let mutations = MutationGenerator.mutations(1000, seed: 1)
        let updates = mutations.count { $0.kind == "update" }
        #expect((60...200).contains(updates))
        #expect(Set(mutations.map(\.entity)).count == 1000 - updates)
    }
}
