import Foundation

/// A line of source, its strings and comments blanked out.
struct Line {
    let text: [Character]
    let code: String

    init(_ line: Substring) {
        text = Array(line)
        var code = ""
        var inString = false
        /// The open parentheses of each enclosing interpolation; interpolations are in strings, and contain strings.
        var interpolations: [Int] = []
        for (index, character) in text.enumerated() {
            if !inString, line.dropFirst(index).hasPrefix("//") { break }
            switch character {
            case "\"": inString.toggle()
            case "(" where inString && index > 0 && text[index - 1] == "\\":
                interpolations.append(0)
                inString = false
            case "(" where !inString && !interpolations.isEmpty: interpolations[interpolations.count - 1] += 1
            case ")" where !inString && interpolations.last == 0:
                interpolations.removeLast()
                inString = true
            case ")" where !inString && !interpolations.isEmpty: interpolations[interpolations.count - 1] -= 1
            default: break
            }
            let isCode = !inString && interpolations.isEmpty && character.isASCII
            code.append(isCode ? character : " ")
        }
        self.code = code.padding(toLength: text.count, withPad: " ", startingAt: 0)
    }

    func matches(_ pattern: String, group: Int = 0) -> [Range<Int>] {
        let expression = try! NSRegularExpression(pattern: pattern)  // the patterns are all below
        return expression.matches(in: code, range: NSRange(location: 0, length: text.count))
            .compactMap { Range($0.range(at: group)) }
    }

    /// The first place of `end` after `start` outside all brackets. The end of the line counts as a closing brace.
    func find(_ end: String, after start: Int) -> Int? {
        var depth = 0
        let characters = Array(code + "}")
        for index in start..<characters.count {
            if depth == 0, String(characters[index...]).hasPrefix(end) { return index }
            if "([{".contains(characters[index]) { depth += 1 }
            if ")]}".contains(characters[index]) { depth -= 1 }
        }
        return nil
    }

    subscript(_ range: Range<Int>) -> String { String(text[range]) }
}

extension Line {
    /// Operators, literals, names.
    func words() -> [Site] {
        var sites: [Site] = []
        for range in matches(#"(?<= )[-+*/<>=!&|]+(?= )"#) {
            guard let known = operators[self[range]], !code.hasPrefix("extension"), !code.contains("static func ")
            else {
                continue
            }
            sites.append(Site(range, "@", from: known.forms[0], to: Array(known.forms[1...])))
        }
        for range in matches(#"(?<![\w.$])\d+(?![\w.])"#) {
            guard let number = Int(self[range]) else { continue }
            sites.append(Site(range, "mutantNumber(#, ", ")", from: "\(number)", to: ["\(number + 1)"]))
        }
        // The text before the colon or the equals sign of a case is a pattern.
        let patterns = matches(#"\bcase "#).map { word in
            word.upperBound..<(find(":", after: word.upperBound) ?? find(" = ", after: word.upperBound) ?? text.count)
        }
        for range in matches(#"(?<![\w.])(?<!while )(true|false)\b"#)
        where !patterns.contains(where: { $0.overlaps(range) }) {
            sites.append(Site(range, "mutantNot(#, ", ")", from: self[range], to: ["!\(self[range])"]))
        }
        for range in matches(#"(?<![\w.])(min|max)\(|(?<=\.)saturating\w+\("#) {
            guard let changes = calls[self[range]] else { continue }
            sites.append(Site(range, "\(self[range].dropLast())Mutant(#, ", from: self[range], to: changes))
        }
        for range in matches(#"(?<=return |[?:=] )\.\w+(?![\w(.])"#) {
            guard let other = answers[String(self[range].dropFirst())],
                !patterns.contains(where: { $0.overlaps(range) })
            else { continue }
            sites.append(
                Site(range, "mutantChoice(#, \(self[range]), .\(other))", from: self[range], to: [".\(other)"]))
        }
        return sites
    }

    /// Whether the order of two statements may matter: of calls, and of assignments if one uses a value that the other
    /// sets.
    static func orderMatters(_ first: String, _ second: String) -> Bool {
        // Values that are written by name are read by name, in any order.
        if [first, second].allSatisfy({ $0.hasPrefix("try container.encode") }) { return false }
        let assignment = #/^([\w.]+) (&?[-+*\/]|>>|<<)?= /#
        guard let set = first.prefixMatch(of: assignment), let then = second.prefixMatch(of: assignment) else {
            return true
        }
        return first.contains(then.1) || second.contains(set.1)
    }

    /// Preconditions that continue on the next line; the others are left out as statements.
    func preconditions() -> [Site] {
        matches(#"^ *precondition\($"#).map {
            Site($0, "\(self[$0])!mutantHolds(#) || ", from: "precondition", to: ["left out"])
        }
    }

    /// Values that are made without one of their fields that has a default.
    func fields() -> [Site] {
        matches(#"(?<![\w.@#])[A-Z]\w*\("#).flatMap { name -> [Site] in
            guard let end = find(")", after: name.upperBound), !code.dropFirst(end + 1).hasPrefix(" {") else {
                return []
            }
            var arguments: [Range<Int>] = []
            var start = name.upperBound
            while start < end {
                let comma = min(find(", ", after: start) ?? end, end)
                arguments.append(start..<comma)
                start = comma + 2
            }
            guard arguments.count > 1 else { return [] }
            return arguments.filter { self[$0].contains(": ") }.map { argument in
                let others = arguments.filter { $0 != argument }.map { self[$0] }.joined(separator: ", ")
                return Site(
                    name.lowerBound..<end + 1, "(mutantHolds(#) ? ", " : \(self[name])\(others)))",
                    from: self[argument],
                    to: ["left out"])
            }
        }
    }

    var indentation: String { String(text.prefix { $0 == " " }) }

    /// The possible changes in a statement of SQL.
    ///
    /// - Parameters:
    ///   - isText: Whether the whole line is part of a statement.
    ///   - isConstant: Whether the compiler must know the text, which then holds its changes as comments for
    ///     `mutantSQL`.
    func sql(isText: Bool, isConstant: Bool) -> [Site] {
        let string = String(text)
        var parts: [Range<Int>] = []
        if isText {
            parts = [0..<text.count]
        } else if let match = string.firstMatch(
            of: #/"((?:SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|ALTER) [^"]*)"?/#)
        {
            let start = string.distance(from: string.startIndex, to: match.output.1.startIndex)
            parts = [start..<start + match.output.1.count]
        }
        return parts.flatMap { part -> [Site] in
            // Up to the first interpolation: text after it is rare, and has quotes of its own.
            let characters = text[part]
            let statement = String(characters).components(separatedBy: "\\(")[0].components(separatedBy: "--")[0]
            return changesOfSQL.flatMap { pattern, changes -> [Site] in
                let expression = try! NSRegularExpression(pattern: pattern)  // the patterns are all below
                let whole = NSRange(location: 0, length: (statement as NSString).length)
                return expression.matches(in: statement, range: whole).compactMap { match in
                    guard let range = Range(match.range) else { return nil }
                    let found = (statement as NSString).substring(with: match.range)
                    let to = changes(found)
                    let place = part.lowerBound + range.lowerBound..<part.lowerBound + range.upperBound
                    let alternatives = to.map { isConstant ? "~\($0)" : ", \"\($0)\"" }.joined()
                    return Site(
                        place, isConstant ? "/*m#\(alternatives)*/" : "\\(mutantText(#, \"",
                        isConstant ? "/*m*/" : "\"\(alternatives)))", from: "SQL \(found)",
                        to: to.map { $0.allSatisfy { $0 == " " } ? "left out" : $0 })
                }
            }
        }
    }

    /// Where the line has text.
    var filled: Range<Int> {
        let start = text.prefix { $0 == " " }.count
        return start..<start + code.trimmingCharacters(in: .whitespaces).count
    }

    /// Replaces each part of a condition by true and by false, and a binding by one that does not match.
    func conditions() -> [Site] {
        var sites: [Site] = []
        var conditions: [Range<Int>] = []
        for range in matches(#"\b(if|guard|while) "#) {
            let end = self[range] == "guard " ? " else {" : " {"
            if let end = find(end, after: range.upperBound) { conditions.append(range.upperBound..<end) }
        }
        for range in matches(#"^ *(case|for) .* where "#) {
            let end = find(code.contains("case ") ? ":" : " {", after: range.upperBound)
            if let end { conditions.append(range.upperBound..<end) }
        }
        for condition in conditions {
            var start = condition.lowerBound
            while start < condition.upperBound {
                let end = min(find(", ", after: start) ?? condition.upperBound, condition.upperBound)
                let part = self[start..<end]
                if ["let ", "var ", "case "].contains(where: part.hasPrefix) {
                    sites.append(Site(end..<end, ", mutantHolds(#)", from: part, to: ["no match"]))
                } else if part != "true" {
                    sites.append(Site(start..<end, "mutantCondition(#, ", ")", from: part, to: ["true", "false"]))
                }
                start = end + 2
            }
        }
        let ternary = #"(?:^ +|return |switch |[{:,] |(?<![=!<>])= |\()([a-z][\w.]*(\([^()]*\))?) \? "#
        for range in matches(ternary, group: 1) {
            sites.append(Site(range, "mutantNot(#, ", ")", from: self[range], to: ["!\(self[range])"]))
        }
        return sites
    }

    /// Leaves out assignments and calls.
    func statements(maySet: (String) -> Bool) -> [Site] {
        var sites: [Site] = []
        var starts = matches(#"^ *|\{ "#).map(\.upperBound)
        for range in matches(#"^ *(case|default)\b"#) {
            if let colon = find(": ", after: range.upperBound) { starts.append(colon + 2) }
        }
        let isValue = !matches(#" -> .*\}|\bvar \w+: .* \{|\.map \{"#).isEmpty
        for start in Set(starts) {
            guard let end = find("}", after: start) else { continue }
            let length = code.dropFirst(start).prefix(end - start).trimmingCharacters(in: .whitespaces).count
            let statement = Line(self[start..<start + length][...])
            let set = statement.matches(#"^(?:self\.)?([a-z]\w*)[\w.\[\]]* (&?[-+*/]|>>|<<)?= "#, group: 1).first
            let call =
                #"^(_ = )?(try )?(await )?(?!(min|max|private|if|for|guard|while|switch|return|case|let|var|func|init|get|set|defer|do|repeat|deinit|willSet|didSet)\b)[a-z][\w.\[\]?!]*(\(.*\)|(\(.*\))? ?\{ .* \})$"#
            let called = isValue ? [] : statement.matches(call)
            let isPart = !statement.matches(#"^(?:self\.)?+[a-z]\w*+[.\[]"#).isEmpty
            guard set.map({ maySet(isPart ? "" : statement[$0]) }) ?? !called.isEmpty else { continue }
            let text = String(statement.text)
            sites.append(Site(start..<start + length, "if mutantHolds(#) { ", " }", from: text, to: ["left out"]))
        }
        return sites
    }
}
