import Foundation

/// The range of a chart's axis and its ticks at round numbers.
struct ChartAxis {
    var low: Double
    var high: Double
    var isLogarithmic = false
    var ticks: [(value: Double, label: String)] = []

    /// 0 at the low end, 1 at the high end. Values outside are at the edge.
    func position(of value: Double) -> Double {
        let share =
            isLogarithmic
            ? log10(max(value, low) / low) / log10(high / low) : (value - low) / (high - low)
        return min(1, max(0, share))
    }

    static func linear(_ values: [Double], maximum: Double?) -> ChartAxis {
        var axis = ChartAxis(low: min(0, values.min() ?? 0), high: max(0, values.max() ?? 0))
        let limit = maximum.flatMap { $0.isFinite && $0 > axis.low ? $0 : nil }
        axis.high = limit ?? axis.high
        if axis.high - axis.low < 1e-200 { axis.high = axis.low + 1 }
        let step = roundedUp((axis.high - axis.low) / 5)
        axis.low = (axis.low / step + 1e-9).rounded(.down) * step
        if limit == nil { axis.high = (axis.high / step - 1e-9).rounded(.up) * step }
        let largest = max(axis.high, -axis.low)
        axis.ticks = axis.multiples(of: step).map { ($0, number($0, step: step, like: largest)) }
        return axis
    }

    /// - Parameter values: Positive numbers.
    static func logarithmic(_ values: [Double], maximum: Double?) -> ChartAxis {
        var axis = ChartAxis(low: values.min() ?? 1, high: values.max() ?? 1, isLogarithmic: true)
        if let maximum, maximum.isFinite, maximum > axis.low { axis.high = maximum }
        // Over a wide range, ticks at 1, 2 and 5 would be too close to each other.
        let isWide = axis.high > axis.low * 200
        axis.low = isWide ? pow(10, log10(axis.low).rounded(.down)) : 1 / roundedUp(1 / axis.low)
        if maximum != axis.high { axis.high = isWide ? pow(10, log10(axis.high).rounded(.up)) : roundedUp(axis.high) }
        if axis.high < axis.low * 1.5 { (axis.low, axis.high) = (axis.low / 10, axis.high * 10) }
        let exponents = Int(log10(axis.low).rounded(.down))...Int(log10(axis.high).rounded(.up))
        let kept = exponents.filter { $0 % (isWide ? exponents.count / 8 + 1 : 1) == 0 }
        let ticks = kept.flatMap { power in (isWide ? [1] : [1, 2, 5]).map { $0 * pow(10, Double(power)) } }
        axis.ticks = ticks.filter { $0 > axis.low * 0.999 && $0 < axis.high * 1.001 }.map { ($0, number($0)) }
        return axis
    }

    /// From the lowest to the highest value.
    static func range(_ values: [Double]) -> ChartAxis {
        var axis = ChartAxis(low: values.min() ?? 0, high: values.max() ?? 1)
        if axis.high - axis.low < 1e-12 * max(1, abs(axis.low)) { axis.high = axis.low + max(1, abs(axis.low)) }
        let step = roundedUp((axis.high - axis.low) / 6)
        axis.ticks = axis.multiples(of: step).map { ($0, number($0, step: step, like: axis.high)) }
        return axis
    }

    static func time(_ values: [Double]) -> ChartAxis {
        var axis = ChartAxis(low: values.min() ?? 0, high: values.max() ?? 1)
        let least = max(1e-6, 1e-12 * abs(axis.low))
        if axis.high - axis.low < least { axis.high = axis.low + max(1, least) }
        let span = axis.high - axis.low
        let steps: [Double] = [15, 30, 60, 120, 300, 600, 900, 1800, 3600]
        let step =
            span <= 60
            ? roundedUp(span / 6) : steps.first { $0 >= span / 6 } ?? roundedUp(span / 6 / 3600) * 3600
        // A run of 119.5 s ends at a tick.
        let (first, last) = ((axis.low / step).rounded(.down) * step, (axis.high / step).rounded(.up) * step)
        if axis.low - first < span * 0.05 { axis.low = min(first, axis.low) }
        if last - axis.high < span * 0.05 { axis.high = max(last, axis.high) }
        let ticks = axis.multiples(of: step).map { (value: $0, label: time($0, step: step)) }
        // Long labels don't fit at every tick on a phone.
        let every = ticks.map(\.label.count).reduce(0, +) * 8 / 320 + 1
        axis.ticks = stride(from: 0, to: ticks.count, by: every).map { ticks[$0] }
        return axis
    }

    /// A time as people say it: "30 s", "1.5 min", "2 h".
    static func time(_ seconds: Double, step: Double) -> String {
        let (unit, name): (Double, String) =
            switch (step, abs(seconds)) {
            case (1800..., 3600...): (3600, "h")
            case (30..., 60...): (60, "min")
            default: (1, "s")
            }
        return "\(number(seconds / unit, step: step / unit, like: 1))\u{A0}\(name)"
    }

    static func time(_ seconds: Double) -> String {
        time(seconds, step: abs(seconds) < 120 ? 0.1 : abs(seconds) < 7200 ? 30 : 1800)
    }

    /// A number with three digits.
    static func number(_ value: Double) -> String { number(value, step: max(abs(value), 1e-200) / 100, like: value) }

    /// A number as people write it: "0.25", "1,500", "1.2 M".
    /// - Parameters:
    ///   - step: The difference that must stay visible.
    ///   - reference: The number that decides between "0.2 M" and "200 k".
    private static func number(_ value: Double, step: Double, like reference: Double) -> String {
        let size = abs(reference)
        if value == 0 { return "0" }
        if size >= 1e15 || size < 1e-3 && size > 0 { return String(format: "%.3g", value) }
        let scales = [(1e12, 1e12, "\u{A0}T"), (1e9, 1e9, "\u{A0}G"), (1e6, 1e6, "\u{A0}M"), (1e4, 1e3, "\u{A0}k")]
        let (_, unit, suffix) = scales.first { size >= $0.0 } ?? (0, 1, "")
        let decimals = max(0, min(9, -Int(log10(step / unit * 1.000001).rounded(.down))))
        var parts = String(format: "%.\(decimals)f", abs(value) / unit).split(separator: ".").map(String.init)
        if parts.count == 2 { parts[1] = String(parts[1].reversed().drop { $0 == "0" }.reversed()) }
        for place in stride(from: parts[0].count - 3, to: 0, by: -3) {
            parts[0].insert(",", at: parts[0].index(parts[0].startIndex, offsetBy: place))
        }
        let digits = parts.filter { !$0.isEmpty }.joined(separator: ".")
        return digits == "0" ? "0" : (value < 0 ? "−" : "") + digits + suffix
    }

    private func multiples(of step: Double) -> [Double] {
        let (first, last) = ((low / step - 1e-6).rounded(.up), (high / step + 1e-6).rounded(.down))
        return stride(from: first, through: last, by: 1).map { $0 * step + 0 }
    }

    /// The next of 1, 2 and 5 × 10ⁿ.
    private static func roundedUp(_ value: Double) -> Double {
        let power = pow(10, log10(value).rounded(.down))
        return power * ([1, 2, 5].first { $0 * power >= value * 0.999999 } ?? 10)
    }
}
