/// Writes metrics in Prometheus' text format, version 0.0.4:
/// https://prometheus.io/docs/instrumenting/exposition_formats/
///
/// Families are written in the order in which they were declared, and the samples of each in the order of their labels,
/// so that two pages can be compared line by line. No two samples of a family have the same labels.
struct PrometheusText {
    enum Kind: String {
        case gauge
        case counter
    }

    /// The labels of a sample, in the order in which they are written. One without a value is left out, which means
    /// the same as an empty one.
    typealias Labels = [(name: String, value: String?)]

    private struct Family {
        let name: String
        let kind: Kind
        let help: String
        var samples: [String: Double] = [:]
    }

    private var families: [Family] = []
    private var places: [String: Int] = [:]

    /// Declares a family. One without samples is not written.
    mutating func declare(_ name: String, _ kind: Kind, _ help: String) {
        places[name] = families.count
        families.append(Family(name: name, kind: kind, help: help))
    }

    /// Adds a sample to a family that was declared. A counter adds up samples of the same labels. A gauge numbers them:
    /// the last label of the second, but for a `state`, ends with "#2".
    mutating func add(_ name: String, _ labels: Labels, _ value: Double) {
        guard let place = places[name] else { return }
        var text = Self.text(labels)
        if families[place].kind == .counter {
            families[place].samples[text, default: 0] += value
            return
        }
        var number = 2
        while families[place].samples[text] != nil {
            var numbered = labels
            guard let last = numbered.lastIndex(where: { $0.value != nil && $0.name != "state" }) else { return }
            numbered[last].value = "\(numbered[last].value ?? "")#\(number)"
            text = Self.text(numbered)
            number += 1
        }
        families[place].samples[text] = value
    }

    var text: String {
        var text = ""
        for family in families where !family.samples.isEmpty {
            text += "# HELP \(family.name) \(Self.escapedHelp(family.help))\n"
            text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
            for (labels, value) in family.samples.sorted(by: { $0.key < $1.key }) {
                text += "\(family.name)\(labels) \(Self.number(value))\n"
            }
        }
        return text
    }

    private static func text(_ labels: Labels) -> String {
        let pairs = labels.compactMap { label in
            label.value.flatMap { $0.isEmpty ? nil : "\(label.name)=\"\(escaped($0))\"" }
        }
        return pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}"
    }

    /// Scalar by scalar: "\r\n" is one character of a string, and would hide its line feed.
    private static func escaped(_ value: String) -> String {
        var text = String.UnicodeScalarView()
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": text.append(contentsOf: "\\\\".unicodeScalars)
            case "\"": text.append(contentsOf: "\\\"".unicodeScalars)
            case "\n": text.append(contentsOf: "\\n".unicodeScalars)
            // Readers may take it for the end of the text.
            case "\0": text.append("\u{FFFD}")
            default: text.append(scalar)
            }
        }
        return String(text)
    }

    private static func escapedHelp(_ help: String) -> String {
        help.split(separator: "\\", omittingEmptySubsequences: false).joined(separator: "\\\\")
            .split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\\n")
    }

    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        // As a whole number where it is one and a double holds it exactly.
        if value == value.rounded(), abs(value) < 9_007_199_254_740_992 { return "\(Int64(value))" }
        return "\(value)"
    }
}
