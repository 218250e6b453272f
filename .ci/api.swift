// Compares the public interface with the checked-in one, and finds undocumented declarations.
//
// `api SYMBOLS BASELINE [--update]`: SYMBOLS is a folder of symbol graphs, BASELINE one with a file for each product.

import Foundation

struct Graph: Decodable {
    struct Identifier: Decodable { let precise: String }
    struct Fragment: Decodable { let spelling: String }
    struct Position: Decodable { let line: Int }
    struct Range: Decodable { let start: Position }
    struct Line: Decodable {
        let text: String
        let range: Range?
    }
    struct Comment: Decodable {
        let uri: String?
        let lines: [Line]

        /// The same for a requirement and those who inherit its comment.
        var place: String { Graph.place(uri, lines.first?.range?.start) }
    }
    struct Parameter: Decodable {
        let name: String
        let internalName: String?
        let declarationFragments: [Fragment]?
    }
    struct Constraint: Decodable {
        let kind: String
        let lhs: String
        let rhs: String

        var text: String { "\(lhs) \(kind == "sameType" ? "==" : ":") \(rhs)" }
    }
    struct Extension: Decodable { let constraints: [Constraint]? }
    struct Signature: Decodable { let parameters: [Parameter]? }
    struct Location: Decodable {
        let uri: String
        let position: Position
    }
    struct Symbol: Decodable {
        let identifier: Identifier
        let pathComponents: [String]
        let accessLevel: String
        let docComment: Comment?
        let declarationFragments: [Fragment]?
        let functionSignature: Signature?
        let swiftExtension: Extension?
        let location: Location?

        var name: String { pathComponents.last ?? "" }
        var path: String { pathComponents.joined(separator: ".") }

        /// A declaration of the sources, rather than of the compiler, or a page for the extensions of a type.
        var isWritten: Bool {
            ["public", "open"].contains(accessLevel) && location != nil
                && !identifier.precise.contains("::SYNTHESIZED::") && !identifier.precise.hasPrefix("s:e:")
        }

        var place: String { Graph.place(location?.uri, location?.position) }

        var line: String {
            let text = (declarationFragments ?? []).map(\.spelling).joined()
            let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            return "\(path): \(words)\((swiftExtension?.constraints).text)"
        }
    }
    struct Relationship: Decodable {
        let kind: String
        let source: String
        let target: String
        let targetFallback: String?
        let swiftConstraints: [Constraint]?
    }

    let symbols: [Symbol]
    let relationships: [Relationship]

    static func place(_ uri: String?, _ position: Position?) -> String {
        "Sources/\(uri?.split(separator: "/Sources/", maxSplits: 1).last ?? ""):\((position?.line ?? 0) + 1)"
    }
}

extension [Graph.Constraint]? {
    var text: String {
        let texts = (self ?? []).map(\.text).sorted()
        return texts.isEmpty ? "" : " [where \(texts.joined(separator: ", "))]"
    }
}

/// Requirements of protocols of the standard library and of Foundation, which document them.
let known: Set<String> = [
    "==(_:_:)", "<(_:_:)", "hash(into:)", "encode(to:)", "init(from:)", "init(rawValue:)", "rawValue", "description",
    "debugDescription", "errorDescription", "id", "next()", "next(isolation:)", "makeAsyncIterator()",
    "init(stringLiteral:)",
    "minimumResolution", "sleep(until:tolerance:)", "advanced(by:)", "duration(to:)",
]

/// The symbol graphs of all products, and their relationships.
struct API {
    private let graphs: [(product: String, graph: Graph)]
    private let relationships: [Graph.Relationship]
    private let byName: [String: Graph.Symbol]
    private let requirements: Set<String>
    private let defaults: Set<String>
    private(set) var complaints: [String] = []

    init(symbols folder: URL) throws {
        graphs = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".symbols.json") }.sorted()
            .map { file in
                let graph = try JSONDecoder().decode(Graph.self, from: Data(contentsOf: folder.appending(path: file)))
                return (String(file.prefix { $0 != "/" }), graph)
            }
        relationships = graphs.flatMap(\.graph.relationships)
        byName = Dictionary(
            graphs.flatMap(\.graph.symbols).map { ($0.identifier.precise, $0) }, uniquingKeysWith: { first, _ in first }
        )
        requirements = Set(relationships.filter { $0.kind == "requirementOf" }.map(\.source))
        defaults = Set(relationships.filter { $0.kind == "defaultImplementationOf" }.map(\.source))
    }

    /// A member needs no documentation if its type conforms to a protocol of ours that requires and documents it.
    private func inherited() -> (Graph.Symbol) -> Bool {
        let required = Dictionary(grouping: relationships.filter { $0.kind == "requirementOf" }, by: \.target)
            .mapValues { Set($0.compactMap { byName[$0.source]?.name }) }
        let conformances = Dictionary(grouping: relationships.filter { $0.kind == "conformsTo" }, by: \.source)
        let owners = Dictionary(
            relationships.filter { ["memberOf", "defaultImplementationOf"].contains($0.kind) }
                .map { ($0.source, $0.target) }, uniquingKeysWith: { first, _ in first })
        return { symbol in
            guard let owner = owners[symbol.identifier.precise] else { return false }
            // A default implementation may be related to the requirement itself.
            if requirements.contains(owner) { return true }
            let protocols = [owner] + (conformances[owner] ?? []).map(\.target)
            return protocols.contains { required[$0]?.contains(symbol.name) ?? false }
        }
    }

    mutating func checkDocumentation() {
        let isInherited = inherited()
        let products = Set(graphs.map(\.product))
        var styled: Set<String> = []
        // A parameter that sets a documented property needs no documentation.
        let properties = Set(graphs.flatMap(\.graph.symbols).filter { $0.docComment != nil }.map(\.path))
        for symbol in graphs.flatMap(\.graph.symbols) where symbol.isWritten && !known.contains(symbol.name) {
            guard let comment = symbol.docComment?.lines.map(\.text).joined(separator: "\n"), !comment.isEmpty else {
                if requirements.contains(symbol.identifier.precise) || !isInherited(symbol) {
                    complaints.append("\(symbol.place): \(symbol.path) has no documentation")
                }
                continue
            }
            // Some is inherited from other packages.
            if let place = symbol.docComment?.place, products.contains(where: { place.hasPrefix("Sources/\($0)/") }),
                styled.insert(place).inserted
            {
                checkStyle(of: symbol, comment, at: place)
            }
            for parameter in symbol.functionSignature?.parameters ?? [] {
                let names = [parameter.name, parameter.internalName].compactMap(\.self)
                let isThere = names.contains {
                    comment.contains("- Parameter \($0):") || comment.contains("  - \($0):")
                }
                let owner = symbol.path.components(separatedBy: ".init(").first ?? ""
                let isProperty =
                    symbol.path.contains(".init(") && names.contains { properties.contains("\(owner).\($0)") }
                if !isThere, !isProperty {
                    complaints.append("\(symbol.place): \(symbol.path) does not document its parameter \(names[0])")
                }
            }
        }
    }

    /// A summary of one sentence, then a blank line; what a function returns; what it throws.
    private mutating func checkStyle(of symbol: Graph.Symbol, _ comment: String, at place: String) {
        let summary = comment.components(separatedBy: "\n\n")[0].replacing(/`[^`]*`/, with: "`code`")
        if !summary.hasSuffix(".") || summary.contains(#/\n *- |[.!?]\)?\s+(?:[`A-Z]|nil\b|true\b|false\b)/#) {
            complaints.append("\(place): the documentation of \(symbol.path) begins with no line of one sentence")
        }
        guard symbol.functionSignature != nil else { return }
        // Without the parameters, whose closures may throw and return.
        var depth = 0
        let declaration = symbol.line.dropFirst(symbol.path.count).filter { character in
            depth += character == "(" ? 1 : character == ")" ? -1 : 0
            return depth == 0
        }
        if declaration.contains(/\bthrows\b/), !comment.contains("- Throws:") {
            complaints.append("\(place): \(symbol.path) does not document what it throws")
        }
        // What makes a value of its type reads as the value's name: `.perSecond(10)`.
        if declaration.contains("->"), !declaration.contains(/\bstatic\b/), !comment.contains("- Returns:"),
            !summary.contains(#/^(Returns|The|A|An|Whether|When|How)\b/#)
        {
            complaints.append("\(place): \(symbol.path) does not document what it returns")
        }
    }

    mutating func compareInterface(with baseline: URL, updates: Bool) throws {
        let products = Set(graphs.map(\.product))
        try FileManager.default.createDirectory(at: baseline, withIntermediateDirectories: true)
        let before = try FileManager.default.contentsOfDirectory(atPath: baseline.path)
            .map { String($0.prefix { $0 != "." }) }
        for product in Set(before).subtracting(products) { complaints.append("there is no symbol graph of \(product)") }
        if products.isEmpty { complaints.append("there is no symbol graph") }
        for product in products.sorted() {
            let lines = interface(of: product)
            let file = baseline.appending(path: product + ".txt")
            if updates {
                try (lines.joined(separator: "\n") + "\n").write(to: file, atomically: true, encoding: .utf8)
                continue
            }
            let before = try? String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
            for change in lines.difference(from: before ?? []) {
                switch change {
                case .insert(_, let line, _): complaints.append("\(product): new: \(line)")
                case .remove(_, let line, _): complaints.append("\(product): no longer there: \(line)")
                }
            }
        }
    }

    /// Each declaration as often as it occurs: two that read alike are two.
    private func interface(of product: String) -> [String] {
        let own = graphs.filter { $0.product == product }.map(\.graph)
        let declarations = own.flatMap(\.symbols).filter(\.isWritten).map { symbol in
            let name = symbol.identifier.precise
            return symbol.line
                + (requirements.contains(name) ? " [required]" : defaults.contains(name) ? " [default]" : "")
        }
        let conformances = own.flatMap(\.relationships).filter { $0.kind == "conformsTo" }.compactMap {
            relationship -> String? in
            let target = relationship.targetFallback ?? byName[relationship.target]?.path ?? relationship.target
            // The compiler derives these from the written protocol.
            guard !["Swift.SendableMetatype", "Swift.Copyable", "Swift.Escapable"].contains(target) else { return nil }
            let source = byName[relationship.source]?.path ?? relationship.source
            return "\(source): conforms to \(target)\(relationship.swiftConstraints.text)"
        }
        return (declarations + Set(conformances)).sorted()
    }
}

@main struct Main {
    static func main() throws {
        let arguments = CommandLine.arguments
        var api = try API(symbols: URL(filePath: arguments[1]))
        api.checkDocumentation()
        try api.compareInterface(
            with: URL(filePath: arguments[2]), updates: arguments.dropFirst(3).contains("--update"))
        guard !api.complaints.isEmpty else { return }
        api.complaints.forEach { print($0) }
        print("The interface differs from .ci/api, or lacks documentation. If intended: .ci/docs --update")
        exit(1)
    }
}
