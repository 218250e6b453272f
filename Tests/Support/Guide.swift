package import Foundation

/// The package's folder.
package let repository = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

/// The products that have policies.
package let policyProducts = ["Resilience", "ResilienceTraffic"]

/// A page of the documentation whose code must compile in a test.
package struct Guide: Sendable, CustomStringConvertible {
    /// The file's name without the extension.
    package let name: String
    package let text: String

    package var description: String { name }

    private init(_ file: URL) throws {
        name = file.deletingPathExtension().lastPathComponent
        text = try String(contentsOf: file, encoding: .utf8)
    }

    /// The page of this name in a module's documentation catalog.
    package init(_ name: String, of module: String = "Resilience") throws {
        try self.init(repository.appending(path: "Sources/\(module)/\(module).docc/\(name).md"))
    }

    /// All pages: README.md, and those in Docs and in the documentation catalogs of the policies.
    package static func all() throws -> [Guide] {
        let pages = (["Docs"] + policyProducts.map { "Sources/\($0)/\($0).docc" }).flatMap { files("md", in: $0) }
        return try ([repository.appending(path: "README.md")] + pages).map(Guide.init)
    }

    /// The lines of the page's code.
    package var code: [String] {
        let blocks = text.components(separatedBy: "```swift\n").dropFirst()
        return Self.lines(of: blocks.map { $0.components(separatedBy: "\n```")[0] }.joined(separator: "\n"))
    }

    /// The page's lines of code that no test of the page's name contains: `RetryGuideExamples.swift` belongs to
    /// `RetryGuide.md`. The gateway's page uses the gateway's own code.
    package func codeWithoutTest() throws -> [String] {
        let own =
            name == "AServiceInFifteenMinutes"
            ? Self.files("swift", in: "Sources/ResilientGateway")
            : Self.tests.filter { $0.lastPathComponent.lowercased().hasPrefix(name.lowercased()) }
        let compiled = Set(try own.flatMap { Self.lines(of: try String(contentsOf: $0, encoding: .utf8)) })
        return code.filter { !compiled.contains($0) }
    }

    /// The pages of a module with an adapter.
    package static func pages(of module: String) throws -> [Guide] {
        try files("md", in: "Sources/\(module)/\(module).docc").map(Guide.init)
    }

    /// The page's lines of code that no test of its module contains, whatever their line breaks.
    package func codeWithoutTest(of module: String) throws -> [String] { try Self.withoutTest(code, of: module) }

    /// A row of the table of libraries in Docs/Integrations.md.
    package struct Adoption: Sendable, CustomStringConvertible {
        /// The library's name.
        package let description: String
        /// The module of the library's adapter.
        package let module: String
        /// The lines that users of the library write.
        package let code: [String]

        /// The lines that no test of the module contains.
        package func codeWithoutTest() throws -> [String] { try Guide.withoutTest(code, of: module) }
    }

    /// The rows of the table of libraries. A row without a module has the previous row's module.
    package static func adoptions() throws -> [Adoption] {
        let page = try Guide(repository.appending(path: "Docs/Integrations.md"))
        let heading = "\n| library | trait, product | lines |\n|---|---|---|\n"
        let table = page.text.components(separatedBy: heading).last ?? ""
        var rows: [Adoption] = []
        for row in table.components(separatedBy: "\n").prefix(while: { $0.hasPrefix("|") }) {
            // The first and the last cell are empty: they are outside the row's outer bars.
            let cells = row.components(separatedBy: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 5 else {
                rows.append(Adoption(description: row, module: "", code: []))
                continue
            }
            let module = quoted(in: cells[2]).last ?? rows.last?.module ?? ""
            rows.append(Adoption(description: cells[1], module: module, code: quoted(in: cells[3])))
        }
        return rows
    }

    /// The text between backticks.
    private static func quoted(in text: String) -> [String] {
        text.components(separatedBy: "`").enumerated().filter { !$0.offset.isMultiple(of: 2) }.map(\.element)
    }

    private static func withoutTest(_ code: [String], of module: String) throws -> [String] {
        let tests = try files("swift", in: "Tests/\(module)Tests").map { try String(contentsOf: $0, encoding: .utf8) }
        let compiled = withoutSpaces(lines(of: tests.joined(separator: "\n")).joined())
        return code.filter { !compiled.contains(withoutSpaces($0)) }
    }

    private static func withoutSpaces(_ text: String) -> String { text.filter { !$0.isWhitespace && $0 != "," } }

    private static let tests = files("swift", in: "Tests")

    private static func files(_ pathExtension: String, in folder: String) -> [URL] {
        let files = FileManager.default.enumerator(
            at: repository.appending(path: folder), includingPropertiesForKeys: nil)
        return (files?.allObjects ?? []).compactMap { $0 as? URL }.filter { $0.pathExtension == pathExtension }
    }

    /// The line without comments and the formatter's choices: spaces, and trailing commas.
    private static func lines(of code: String) -> [String] {
        code.split(separator: "\n").map { line in
            let words = String(line).components(separatedBy: "//")[0].split(separator: " ").joined(separator: " ")
            return words.hasSuffix(",") ? String(words.dropLast()) : words
        }
        // A manifest's line can't be in a test.
        .filter { !$0.isEmpty && !$0.hasPrefix(".package(") }
    }
}
