import Foundation
import TestSupport
import Testing

/// Holds Docs/Verification.md to what it says.
@Suite(.heavy) struct VerificationTests {
    private static func testSources() throws -> String {
        let folder = repository.appending(path: "Tests")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return try (files?.allObjects ?? []).compactMap { $0 as? URL }
            .filter { $0.pathExtension == "swift" && $0.lastPathComponent != "VerificationTests.swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }
            .joined()
    }

    private static func rows() throws -> [(label: String, text: String)] {
        let document = try String(
            contentsOf: repository.appending(path: "Docs/Verification.md"), encoding: .utf8)
        return document.split(separator: "\n").filter { $0.hasPrefix("| ") }.map { line in
            let cells = line.split(separator: "|", maxSplits: 1)
            return (cells[0].trimmingCharacters(in: .whitespaces), String(cells.last ?? ""))
        }
    }

    /// The readers that `.ci/fuzz` fuzzes: the folders that hold a fuzzer.
    private static func fuzzers() throws -> [String] {
        let folder = repository.appending(path: "Tests/Fuzzing")
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .map { $0.lastPathComponent }
            .filter { FileManager.default.fileExists(atPath: folder.appending(path: "\($0)/\($0).swift").path) }
            .sorted()
    }

    private static func structs(in sources: String) -> Set<Substring> {
        Set(sources.split(separator: "struct ").map { $0.prefix { $0.isLetter || $0.isNumber } })
    }

    private static func quoted(in text: String) -> [String] {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
            .map { String($0.element) }
    }

    @Test("every fuzzer is on Docs/Verification.md, in Package.swift, and has a corpus, and there are no others")
    func fuzzed() throws {
        let fuzzers = try Self.fuzzers()
        #expect(fuzzers.count >= 9)
        let row = try #require(try Self.rows().first { $0.label.hasPrefix("fuzzing:") })
        let listed = Self.quoted(in: row.text).filter { !$0.contains(" ") }
        #expect(listed.sorted() == fuzzers)
        let package = try String(contentsOf: repository.appending(path: "Package.swift"), encoding: .utf8)
        let list = try #require(package.firstMatch(of: /for reader in \[([^\]]*)\]/))
        let built = list.1.matches(of: /"(\w+)"/).map { String($0.output.1) }
        #expect(built.sorted() == fuzzers)
        for fuzzer in fuzzers {
            let corpus = repository.appending(path: "Tests/Fuzzing/Corpus/\(fuzzer)")
            let inputs = try FileManager.default.contentsOfDirectory(atPath: corpus.path)
            #expect(!inputs.isEmpty, "\(fuzzer)")
        }
    }

    @Test("every name in the filters of .ci/thread-sanitizer is in the name of a suite")
    func sanitized() throws {
        let script = try String(contentsOf: repository.appending(path: ".ci/thread-sanitizer"), encoding: .utf8)
        let suites = Self.structs(in: try Self.testSources())
        let names = script.matches(of: /'([\w|]+)'/).flatMap { $0.output.1.split(separator: "|") }
        #expect(names.count > 20)
        for name in names {
            let isThere = suites.contains { $0.contains(name) }
            #expect(isThere, "\(name)")
        }
    }

    @Test("every test that Docs/Verification.md names is there, under that name")
    func names() throws {
        let fuzzers = try Self.fuzzers()
        // One search in all of the sources for each name would take seconds.
        let sources = try Self.testSources()
        let quoted = Set(sources.split(separator: "\""))
        let structs = Self.structs(in: sources)
        for row in try Self.rows() {
            for name in row.text.split(separator: "`").enumerated().filter({ $0.offset % 2 == 1 }).map(\.element) {
                let isSuite = name.hasSuffix("Tests") || ["ReadmeExamples", "Linearizability"].contains(String(name))
                let commands = [".ci/", "Benchmarks/", "Tests/", "swift ", "taskset ", "RESILIENCE_EFFORT="]
                let isElsewhere = commands.contains { name.hasPrefix($0) }
                let isCode = (["Timeout", "ResilienceTesting"] + fuzzers).contains(String(name))
                if isElsewhere || isCode { continue }
                // Not in the expectation, which would print all of the sources.
                let isThere = (isSuite ? structs : quoted).contains(name)
                #expect(isThere, "\(row.label) names \(name)")
            }
        }
    }

    @Test("every answer in .ci/mutants.answers is about a line that is there")
    func answers() throws {
        let text = try String(contentsOf: repository.appending(path: ".ci/mutants.answers"), encoding: .utf8)
        let keys = text.split(separator: "\n").filter { $0.hasPrefix("Sources/") }.map {
            $0.components(separatedBy: " | ")
        }
        #expect(keys.count > 200)
        for key in keys {
            // The same text may stand in a source more than once: then it is followed by a number.
            let line = key.dropFirst().dropLast().joined(separator: " | ").replacing(#/ \(\d+\)$/#, with: "")
            let isThere =
                (try? String(contentsOf: repository.appending(path: key[0]), encoding: .utf8).contains(line)) == true
            #expect(isThere, "\(key[0]): \(line)")
        }
    }

    @Test("every label from A1 to C8 and P1 to P49 has a row")
    func labels() throws {
        let labels = try Self.rows().flatMap {
            $0.label.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let expected =
            (1...12).map { "A\($0)" } + (1...15).map { "B\($0)" } + (1...8).map { "C\($0)" } + (1...49).map { "P\($0)" }
        #expect(expected.filter { !labels.contains($0) } == [])
    }
}
