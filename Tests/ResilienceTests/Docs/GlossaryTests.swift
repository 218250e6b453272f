import Foundation
import TestSupport
import Testing

/// Holds Docs/Glossary.md to what it says.
@Suite struct GlossaryTests {
    private static func tables() throws -> (used: [String], unused: [String]) {
        let text = try String(contentsOf: repository.appending(path: "Docs/Glossary.md"), encoding: .utf8)
        let parts = text.components(separatedBy: "\n## Not used\n")
        let words = parts.map { part in
            part.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst().map {
                $0.split(separator: "|")[0].trimmingCharacters(in: .whitespaces)
            }
        }
        return (words[0], words[1].flatMap { $0.components(separatedBy: ", ") })
    }

    @Test("each word stands once, in order")
    func order() throws {
        let words = try Self.tables().used
        #expect(words.count > 80)
        #expect(words == words.sorted { $0.lowercased() < $1.lowercased() } && Set(words).count == words.count)
    }

    @Test("no source of the libraries has a word that is not used")
    func unused() throws {
        let unused = try Self.tables().unused
        #expect(unused.contains("refuse") && unused.contains("set aside"))
        let expression = try Regex("(?i)\\b(\(unused.joined(separator: "|")))")
        for folder in ["Resilience", "ResilienceSync", "ResilienceTesting", "ResilienceSyncTesting"] {
            let url = repository.appending(path: "Sources/\(folder)")
            let files = (FileManager.default.enumerator(at: url, includingPropertiesForKeys: nil)?.allObjects ?? [])
                .compactMap { $0 as? URL }.filter { ["swift", "md"].contains($0.pathExtension) }
            #expect(!files.isEmpty)
            for file in files {
                let found = try String(contentsOf: file, encoding: .utf8).firstMatch(of: expression)?.output[0]
                    .substring
                #expect(found == nil, "\(file.lastPathComponent)")
            }
        }
    }
}
