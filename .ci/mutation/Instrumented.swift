import Foundation

/// The source with all its switches, and the place of each: line, column in bytes.
func instrumented(_ source: String, _ sites: [Site]) -> (text: String, places: [(Int, Int, Site)]) {
    var places: [(Int, Int, Site)] = []
    let byLine = Dictionary(grouping: sites, by: \.line)
    let lines = source.split(separator: "\n", omittingEmptySubsequences: false).enumerated().map { index, line in
        guard let sites = byLine[index + 1] else { return String(line) }
        let original = Array(line)
        var result = ""
        for position in 0...original.count {
            // Inner ones end first and begin last; a replacement hides what it replaces.
            for site in sites.reversed() where site.range.upperBound == position { result += site.after ?? "" }
            for site in sites where site.range.lowerBound == position {
                places.append((index + 1, result.utf8.count + 1, site))
                result += site.before.replacing("#", with: "\(site.first)").replacing("@", with: symbol(site.first))
            }
            let isReplaced = sites.contains { $0.after == nil && $0.range.contains(position) }
            if position < original.count, !isReplaced { result.append(original[position]) }
        }
        return result
    }
    // At the end, where it moves no line. A module can't import itself.
    let ending = byLine.isEmpty || sites[0].source.hasPrefix("Sources/Resilience/") ? "" : "\nimport Resilience\n"
    // The one place where constant SQL is used.
    let text = lines.joined(separator: "\n").replacing("sql: sql.rawValue", with: "sql: mutantSQL(sql.rawValue)")
    return (text + ending, places)
}

/// An operator that is unique to a place.
func symbol(_ number: Int) -> String {
    String("\(number)".compactMap(\.wholeNumberValue).map { Array("∀∂∃∅∇∈∉∋∏∑")[$0] })
}

/// The declarations of the operators, and other declarations that the switches need.
func support(_ sites: [Site]) throws -> String {
    try sites.reduce(into: String(contentsOf: URL(filePath: ".ci/mutants.runtime.swift"), encoding: .utf8)) {
        text, site in
        guard let known = operators.values.first(where: { site.before == "@" && $0.forms[0] == site.from }) else {
            return
        }
        let name = symbol(site.first)
        text += "infix operator \(name): \(known.precedence)Precedence\n"
        for signature in known.signatures {
            text += "public func \(name) \(signature) {\n"
            for (index, form) in known.forms.dropFirst().enumerated() {
                text += "    if mutant == \(site.first + index) { return \(form) }\n"
            }
            text += "    return \(known.forms[0])\n}\n"
        }
    }
}
