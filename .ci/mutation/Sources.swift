import Foundation

/// A source of a library, and the tests that run for its changes, the fast and sensitive ones first: tests named after
/// it, tests of its folder or with one of its types, then the long ones of all these. Tests with many threads are left
/// out, and tests of the sources' text.
struct Source {
    let path: String
    let text: String

    static let long =
        "StoreContractTests|PoliciesContractTests|KillTests|Exploration|SimulationTests|WalkTests|/walk\\(|/rounding\\("

    /// The sources whose paths contain one of these parts; all if there are no parts.
    static func all(containing parts: some Collection<String>) throws -> [Source] {
        try FileManager.default.subpathsOfDirectory(atPath: "Sources").sorted()
            .filter { $0.hasSuffix(".swift") && $0.hasPrefix("Resilience") }
            .map { "Sources/\($0)" }
            .filter { path in parts.isEmpty || parts.contains(where: path.contains) }
            .map { Source(path: $0, text: try String(contentsOf: URL(filePath: $0), encoding: .utf8)) }
    }

    var name: String { URL(filePath: path).deletingPathExtension().lastPathComponent }
    /// The tests of `Sources/X/Y` are in `Tests/XTests/Y`.
    var testTarget: String { "\(path.split(separator: "/")[1])Tests" }

    /// Regular expressions: which tests to run, and which of these to leave out.
    func tests() throws -> [(filter: String, skip: String?)] {
        let folder = path.split(separator: "/").dropFirst(2).dropLast().first.map { "\($0)/" } ?? ""
        let types = text.matches(of: #/(?m)^(?:[a-z]+ )*(?:class|struct|enum|protocol|extension) (\w+)/#).map(\.1)
        let mention = try Regex("\\b(\(types.isEmpty ? name : types.joined(separator: "|")))\\b")
        let stem = String(name.prefix { $0 != "+" }).replacing(#/(StateMachine|Slot|Error|Event)$/#, with: "")

        var named: [String] = []
        var near: [String] = []
        for test in try FileManager.default.subpathsOfDirectory(atPath: "Tests/\(testTarget)").sorted()
        where test.hasSuffix("Tests.swift") && test.firstMatch(of: #/Linearizability|Stress|Concurrency/#) == nil {
            let text = try String(contentsOf: URL(filePath: "Tests/\(testTarget)/\(test)"), encoding: .utf8)
            if text.contains("repository.") { continue }
            let name = URL(filePath: test).deletingPathExtension().lastPathComponent
            if name.hasPrefix(stem) {
                named.append(name)
            } else if !folder.isEmpty && test.hasPrefix(folder) || text.firstMatch(of: mention) != nil {
                near.append(name)
            }
        }
        let files = [named, near, named + near].map { "/(\($0.joined(separator: "|")))\\.swift:" }
        return [(files[0], Self.long), (files[1], Self.long), ("^(?=.*(\(Self.long))).*\(files[2])", nil)]
    }
}
