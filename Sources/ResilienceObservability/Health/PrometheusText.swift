import Resilience

/// Writes metrics in Prometheus' text format, version 0.0.4:
/// https://prometheus.io/docs/instrumenting/exposition_formats/
///
/// Metrics are written in the order of their names, and the samples of each in the order of their labels, so that two
/// pages can be compared line by line. Samples of a metric with the same labels are added up.
struct PrometheusText {
    private struct Family {
        let metric: Metric
        var numbers: [String: Double] = [:]
        var histograms: [String: CountedValues] = [:]
    }

    /// By name only: a user's policy may have another help text for the same name.
    private var families: [String: Family] = [:]

    /// - Parameter values: The values of the metric's labels. An empty value is left out, which means the same.
    mutating func add(_ metric: Metric, _ values: [String], _ number: Double) {
        families[metric.name, default: Family(metric: metric)].numbers[Self.labels(metric, values), default: 0] +=
            number
    }

    mutating func add(_ metric: Metric, _ values: [String], _ counted: CountedValues) {
        let labels = Self.labels(metric, values)
        if families[metric.name, default: Family(metric: metric)].histograms[labels]?.add(counted) == nil {
            families[metric.name]?.histograms[labels] = counted
        }
    }

    var text: String {
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            // The help is already on one line, so only backslashes need an escape.
            let help = family.metric.help.replacing("\\", with: "\\\\")
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(family.metric.kind.rawValue)\n"
            for (labels, number) in family.numbers.sorted(by: { $0.key < $1.key }) {
                text += "\(name)\(Self.braced(labels)) \(Self.number(number))\n"
            }
            for (labels, counted) in family.histograms.sorted(by: { $0.key < $1.key }) {
                var sum = 0
                for (bound, count) in zip(counted.bounds + [.infinity], counted.counts) {
                    sum = sum.saturatingAdding(count)
                    let bound = "le=\"\(Self.number(bound))\""
                    text += "\(name)_bucket{\(labels)\(labels.isEmpty ? "" : ",")\(bound)} \(sum)\n"
                }
                text += "\(name)_sum\(Self.braced(labels)) \(Self.number(counted.sum))\n"
                text += "\(name)_count\(Self.braced(labels)) \(sum)\n"
            }
        }
        return text
    }

    private static func labels(_ metric: Metric, _ values: [String]) -> String {
        zip(metric.labels, values).filter { !$0.1.isEmpty }.map { "\($0)=\"\(escaped($1))\"" }.joined(separator: ",")
    }

    private static func braced(_ labels: String) -> String { labels.isEmpty ? "" : "{\(labels)}" }

    /// Works scalar by scalar: "\r\n" is one `Character`, which would hide its line feed.
    private static func escaped(_ value: String) -> String {
        var text = String.UnicodeScalarView()
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": text.append(contentsOf: "\\\\".unicodeScalars)
            case "\"": text.append(contentsOf: "\\\"".unicodeScalars)
            case "\n": text.append(contentsOf: "\\n".unicodeScalars)
            // Readers may take a null character for the end of the text.
            case "\0": text.append("\u{FFFD}")
            default: text.append(scalar)
            }
        }
        return String(text)
    }

    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        // Written as a whole number if a double holds it exactly.
        if value == value.rounded(), abs(value) < 9_007_199_254_740_992 { return "\(Int64(value))" }
        return "\(value)"
    }
}
