import Foundation
import TestSupport
import Testing

/// Checks the names in the .ci scripts. `.ci/labels` checks the labels of the tests.
@Suite(.heavy) struct VerificationTests {
    private static func testSources() throws -> String {
        let folder = repository.appending(path: "Tests")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return try (files?.allObjects ?? []).compactMap { $0 as? URL }
            .filter { $0.pathExtension == "swift" && $0.lastPathComponent != "VerificationTests.swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }
            .joined()
    }

    /// The readers that `.ci/fuzz` fuzzes: the folders with a fuzzer.
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

    @Test("Package.swift builds exactly the existing fuzzers, and each has a corpus")
    func fuzzed() throws {
        let fuzzers = try Self.fuzzers()
        #expect(fuzzers.count >= 9)
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

    @Test("every filter name in .ci/thread-sanitizer is part of a suite's name")
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
}
