import Foundation

/// A place that can be changed.
struct Site {
    let range: Range<Int>
    /// Inserted before the range, with the mutant's number for `#` and the place's own operator for `@`.
    let before: String
    /// Inserted after the range; nil if `before` replaces it.
    var after: String?
    let from: String
    let to: [String]

    var source = ""
    var line = 0
    /// The text of the line, to identify the place.
    var text = ""
    /// The number of the first change.
    var first = 0

    init(_ range: Range<Int>, _ before: String, _ after: String? = nil, from: String, to: [String]) {
        (self.range, self.before, self.after, self.from, self.to) = (range, before, after, from, to)
    }

    var key: String { "\(source) | \(text) | \(from)" }

    /// Whether this is the second half of a change in two places, with the number and the key of the first.
    var isTwin: Bool { to.isEmpty }

    var mutants: [Mutant] {
        to.enumerated().map { Mutant(number: first + $0, line: line, key: "\(key) → \($1)") }
    }
}

struct Mutant {
    let number: Int
    let line: Int
    /// Stable when other lines of the source change.
    let key: String
    var shown: String { "\(number) \(key.replacing(" | ", with: ":\(line) | ", maxReplacements: 1))" }
}

/// The places of a source that can be changed, in order. If two begin together, the wider one is first.
func sites(in source: String, named path: String) -> [Site] {
    let lines = source.split(separator: "\n", omittingEmptySubsequences: false).map(Line.init)
    let constants = lines.flatMap { line in line.matches(#"\blet (\w+):"#, group: 1).map { line[$0] } }
    var initializer: String?
    // Lines of a text, and the indentation of an enum whose raw values are SQL.
    var isText = false
    var enumeration: String?
    var all: [Site] = []
    var seen: [String: Int] = [:]
    // The last statement that fills its line, to swap with the next one.
    var last: (line: Int, statement: Range<Int>)?
    for (index, line) in lines.enumerated() {
        let startsInitializer = !line.matches(#"^ *(\w+ )*init\("#).isEmpty
        if startsInitializer { initializer = line.indentation }
        if !line.matches(#"\benum \w+: String\b"#).isEmpty { enumeration = line.indentation }
        var found = line.sql(isText: isText, isConstant: enumeration != nil)
        var statements: [Site] = []
        if !isText {
            found += line.words() + line.conditions() + line.preconditions() + line.fields()
            // Assignments that an initializer needs stay.
            statements = line.statements { initializer == nil && !constants.contains($0) }
            found += statements
        }
        // A comment may contain such a text.
        let isComment = !isText && String(line.text).trimmingCharacters(in: .whitespaces).hasPrefix("//")
        if !isComment, String(line.text).contains("\"\"\"") { isText.toggle() }
        let whole = statements.first { $0.range == line.filled }?.range
        if let whole, let last, last.line == index - 1, last.statement.lowerBound == whole.lowerBound,
            Line.orderMatters(lines[index - 1][last.statement], line[whole])
        {
            all.append(
                Site(swapping: lines[index - 1], last.statement, with: line[whole], in: path, at: index, &seen))
            found.append(Site(twinOf: all[all.count - 1], whole, lines[index - 1][last.statement]))
        }
        last = whole.map { (index, $0) }
        if line.code.contains("#available") { found = [] }
        if !isText, line.code.trimmingCharacters(in: .whitespaces).hasPrefix("}") {
            if line.indentation == initializer { initializer = nil }
            if line.indentation == enumeration { enumeration = nil }
        }
        if startsInitializer && line.code.trimmingCharacters(in: .whitespaces).hasSuffix("}") { initializer = nil }
        found.sort { ($0.range.lowerBound, $1.range.upperBound) < ($1.range.lowerBound, $0.range.upperBound) }
        for var site in found {
            if site.isTwin {
                site.line = index + 1
                all.append(site)
                continue
            }
            (site.source, site.line) = (path, index + 1)
            site.text = String(line.text).trimmingCharacters(in: .whitespaces)
            seen[site.key, default: 0] += 1
            if let count = seen[site.key], count > 1 { site.text += " (\(count))" }
            all.append(site)
        }
    }
    return all.sorted {
        ($0.line, $0.range.lowerBound, $1.range.upperBound) < ($1.line, $1.range.lowerBound, $0.range.upperBound)
    }
}

extension Site {
    /// The statement of this line, executed in place of the next one.
    init(
        swapping line: Line, _ statement: Range<Int>, with next: String, in path: String, at number: Int,
        _ seen: inout [String: Int]
    ) {
        self.init(
            statement, "if mutantHolds(#) { ", " } else { \(next) }", from: "then \(next)", to: ["the other way round"])
        (source, self.line) = (path, number)
        text = String(line.text).trimmingCharacters(in: .whitespaces)
        seen[key, default: 0] += 1
        if let count = seen[key], count > 1 { text += " (\(count))" }
    }

    /// The next statement, executed in place of this one.
    init(twinOf first: Site, _ statement: Range<Int>, _ previous: String) {
        self.init(statement, "if mutantHolds(#) { ", " } else { \(previous) }", from: first.from, to: [])
        (source, text) = (first.source, first.text)
    }
}
