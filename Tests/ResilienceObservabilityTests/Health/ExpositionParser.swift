/// Reads Prometheus' text format, version 0.0.4, and accepts nothing outside the format.
struct ExpositionParser {
    struct Sample: Hashable {
        let name: String
        let labels: [String: String]
        let value: Double
    }

    struct Malformed: Error, CustomStringConvertible {
        let line: String
        let why: String

        var description: String { "\(why): \(line)" }
    }

    private(set) var samples: [Sample] = []
    private(set) var types: [String: String] = [:]
    private var helped: Set<String> = []
    private var current: String?
    private var seen: Set<String> = []

    init(_ text: String) throws {
        // Compared as bytes, because a character may contain a line feed.
        guard text.isEmpty || text.utf8.last == 0x0A else {
            throw Malformed(line: text, why: "no line feed at the end")
        }
        for line in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast() {
            try read(String(decoding: line, as: UTF8.self))
        }
    }

    private mutating func read(_ line: String) throws {
        func check(_ condition: Bool, _ why: String) throws { if !condition { throw Malformed(line: line, why: why) } }
        if line.hasPrefix("#") {
            let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
            try check(words.count == 4 && ["HELP", "TYPE"].contains(words[1]), "no HELP or TYPE")
            try check(Self.isName(words[2]), "no name")
            if words[1] == "HELP" {
                try check(helped.insert(words[2]).inserted, "a second HELP")
                current = words[2]
            } else {
                try check(current == words[2] && types[words[2]] == nil, "a TYPE without its HELP, or a second one")
                try check(["gauge", "counter", "histogram"].contains(words[3]), "an unknown type")
                try check(words[3] != "counter" || words[2].hasSuffix("_total"), "a counter not called _total")
                types[words[2]] = words[3]
            }
            return
        }
        var rest = Array(line.unicodeScalars)[...]
        let name = Self.take(&rest) { $0 != "{" && $0 != " " }
        let family =
            ["_bucket", "_sum", "_count"].compactMap { ending in
                name.hasSuffix(ending) ? String(name.dropLast(ending.count)) : nil
            }.first { types[$0] == "histogram" } ?? name
        try check(Self.isName(name) && types[family] != nil && current == family, "a sample outside of its family")
        try check(types[family] != "histogram" || family != name, "a histogram with a plain sample")
        var labels: [String: String] = [:]
        if rest.first == "{" {
            repeat {
                rest.removeFirst()
                let label = Self.take(&rest) { $0 != "=" }
                try check(Self.isName(label) && !label.contains(":"), "no label name: \(label)")
                try check(rest.prefix(2).elementsEqual("=\"".unicodeScalars), "a label without a quoted value")
                rest.removeFirst(2)
                var value = String.UnicodeScalarView()
                while let scalar = rest.first, scalar != "\"" {
                    rest.removeFirst()
                    try check(scalar != "\0", "a null")
                    guard scalar == "\\" else {
                        value.append(scalar)
                        continue
                    }
                    guard let escaped = rest.popFirst() else { throw Malformed(line: line, why: "cut") }
                    switch escaped {
                    case "\\", "\"": value.append(escaped)
                    case "n": value.append("\n")
                    default: throw Malformed(line: line, why: "an unknown escape")
                    }
                }
                try check(rest.popFirst() == "\"", "a value without an end")
                try check(labels.updateValue(String(value), forKey: label) == nil, "a label twice")
            } while rest.first == ","
            try check(rest.popFirst() == "}", "labels without an end")
        }
        try check(rest.popFirst() == " ", "no space before the value")
        let number = String(String.UnicodeScalarView(rest))
        let value: Double? =
            switch number {
            case "+Inf": .infinity
            case "-Inf": -.infinity
            case "NaN": .nan
            default: number.contains(/^-?[0-9.]+(e[+-][0-9]+)?$/) ? Double(number) : nil
            }
        guard let value else { throw Malformed(line: line, why: "no number: \(number)") }
        try check((labels["le"] != nil) == (family != name && name.hasSuffix("_bucket")), "a bound out of place")
        let key = "\(name) \(labels.sorted { $0.key < $1.key })"
        try check(seen.insert(key).inserted, "a sample twice")
        samples.append(Sample(name: name, labels: labels, value: value))
    }

    func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        samples.first { $0.name == name && $0.labels == labels }?.value
    }

    private static func take(
        _ rest: inout ArraySlice<Unicode.Scalar>, while condition: (Unicode.Scalar) -> Bool
    ) -> String {
        let taken = rest.prefix(while: condition)
        rest = rest.dropFirst(taken.count)
        return String(String.UnicodeScalarView(taken))
    }

    private static func isName(_ text: String) -> Bool { text.contains(/^[a-zA-Z_:][a-zA-Z0-9_:]*$/) }
}
