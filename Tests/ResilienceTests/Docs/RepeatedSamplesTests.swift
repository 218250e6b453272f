import Foundation
import TestSupport
import Testing

/// The code in the documentation: pages, and comments in the sources.
private enum Samples {
    /// Method names of operations that do harm if done twice.
    private static let effects =
        #"\.(post|create|insert|add|append|charge|pay|submit|send|enqueue|increment|transfer|order)\w*\("#

    /// The calls in a block of code that may be repeated although they do harm if done twice.
    static func unsafeRepetitions(in code: String) throws -> [String] {
        let lines = code.components(separatedBy: "\n")
        let declaration = try Regex<(Substring, Substring)>(#"(\w+)(?:: Pipeline)? = Pipeline\("#)
        let call = try Regex<(Substring, Substring)>(#"(\w+)\.(?:run|runHedged|runBlocking|open)\b"#)
        var repeating: Set<Substring> = []
        var found: [String] = []
        for (index, line) in lines.enumerated() {
            // A statement continues up to its closing brace.
            let rest = lines[index...].prefix(8)
            let end = rest.firstIndex { $0.hasPrefix("}") && $0 != rest.first } ?? rest.endIndex - 1
            let statement = rest[...end].joined(separator: "\n")
            let saysSo = statement.contains("isIdempotent: true") || statement.contains(".uncertain]")
            if let name = line.firstMatch(of: declaration)?.1 {
                if saysSo { repeating.insert(name) } else { repeating.remove(name) }
            }
            guard let name = line.firstMatch(of: call)?.1, saysSo || repeating.contains(name) else { continue }
            let inBody = try statement.contains(Regex(effects)) && !statement.lowercased().contains("idempotencykey")
            if inBody { found.append(line.trimmingCharacters(in: .whitespaces)) }
        }
        return found
    }

    static func all() throws -> [(place: String, code: String)] {
        let roots = ["README.md", "Docs", "Sources"].map { repository.appending(path: $0) }
        let files = roots.flatMap { root -> [URL] in
            let inside = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)?.allObjects ?? []
            return [root] + inside.compactMap { $0 as? URL }
        }.filter { ["md", "swift"].contains($0.pathExtension) }
        return try files.flatMap { file in
            let text = try String(contentsOf: file, encoding: .utf8).replacing(
                try Regex(#"(?m)^ *///? ?"#), with: { _ in "" })
            return text.components(separatedBy: "```swift\n").dropFirst().map { block in
                (file.lastPathComponent, block.components(separatedBy: "\n```")[0])
            }
        }
    }
}

@Suite struct RepeatedSamplesTests {
    @Test("no sample in any document repeats a call that does harm if done twice (P75)")
    func samples() throws {
        let samples = try Samples.all()
        #expect(samples.count > 200)
        for (place, code) in samples {
            let found = try Samples.unsafeRepetitions(in: code)
            #expect(found.isEmpty, "\(place)")
        }
    }

    @Test("a sample that repeats a harmful call is found")
    func planted() throws {
        for code in [
            "let pipeline = Pipeline(\"a\", isIdempotent: true) {\n    Retry()\n}\ntry await pipeline.run { try await client.post(order) }",
            "try await pipeline.run(options: RunOptions(isIdempotent: true)) {\n    try await bank.transfer(sum)\n}",
            "let hedged = Pipeline(\"a\", isIdempotent: true) { Hedge() }\nlet a = try await hedged.runHedged { try await db.insert(row) }",
        ] {
            #expect(try Samples.unsafeRepetitions(in: code).count == 1)
            #expect(try Samples.unsafeRepetitions(in: code.replacing("isIdempotent: true", with: "")).isEmpty)
        }
    }
}
