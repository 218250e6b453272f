extension ReportPage.Chart {
    /// A file of its own, in the reader's colour scheme.
    func svg() -> String {
        let drawing = ChartDrawing(self)
        var (x, y) = (48.0, 46.0)
        let legend = series.enumerated().map { index, series in
            let name = series.name.shortened(to: 70)
            if x > 48, x + 30 + name.estimatedWidth > 624 { (x, y) = (48, y + 20) }
            defer { x += 48 + name.estimatedWidth }
            return "<g transform=\"translate(\(x) \(y - 9))\">\(ChartDrawing.key(series.style, index))"
                + "<text class=\"name\" x=\"28\" y=\"9\">\(name.escapedForMarkup)</text></g>\n"
        }
        let height = y + 10 + drawing.height
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 \(height)" width="640" role="img" class="chart" \
            aria-label="\(drawing.description.escapedForMarkup)">
            <style>\(ChartDrawing.style)</style>
            <rect width="640" height="\(height)" style="fill:var(--back)"/>
            <text x="48" y="22" class="title">\("\(title) (\(unit))".shortened(to: 70).escapedForMarkup)</text>
            \(legend.joined())<svg x="48" y="\(y + 10)" width="564" height="\(drawing.height)" overflow="visible">
            \(drawing.content)
            </svg>
            </svg>

            """
    }
}

/// A chart without title and legend. It fills the width that it is given; text and lines are never scaled.
struct ChartDrawing {
    /// The colours are close to those of Okabe and Ito, darker on white and lighter on black.
    static let style = """
        :root{color-scheme:light dark;--back:#fff;--text:#1f2328;--dim:#57606a;--rule:#d8dee4;--band:#6e778126;
        --c0:#0072b2;--c1:#d55e00;--c2:#00805d;--c3:#b8578f;--c4:#1f2328;--c5:#9f3fff}
        @media(prefers-color-scheme:dark){:root{--back:#0d1117;--text:#e6edf3;--dim:#9aa4af;--rule:#30363d;
        --band:#9aa4af33;--c0:#56b4e9;--c1:#f28c38;--c2:#1fc796;--c3:#e29ac2;--c4:#e6edf3;--c5:#f0e442}}
        .chart text{font:12px system-ui,sans-serif;fill:var(--dim)}.chart .title{font-weight:600;font-size:15px}
        .chart .title,.chart .name{fill:var(--text)}.chart path{vector-effect:non-scaling-stroke}
        .grid{stroke:var(--rule)}.band{fill:var(--band)}.area{fill:currentColor;fill-opacity:.25}
        .line,.dashed,.dot{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}
        .dashed{stroke-dasharray:6 4}.dot{stroke-width:5;stroke-linecap:round}
        """

    let chart: ReportPage.Chart
    private let lines: [[(x: Double, y: Double?)]]
    private let x: ChartAxis
    private let y: ChartAxis
    private let shades: [Shade]
    private let top: Double
    private let plotHeight = 160.0

    var height: Double { top + plotHeight + 24 }
    private var isEmpty: Bool { lines.joined().allSatisfy { $0.y == nil } }

    /// A band as shares of the width, and the row of its name above the plot.
    private struct Shade {
        var from: Double
        var to: Double
        var name: String
        var interval: String
        var row: Int?
        /// Where the name begins, or where it ends if it is longer than the space to the right.
        var anchor = 0.0
        var isAtEnd = false
    }

    init(_ chart: ReportPage.Chart) {
        self.chart = chart
        lines = chart.series.map { $0.drawnPoints(positive: chart.isLogarithmic) }
        let values = lines.joined().compactMap(\.y)
        y = chart.isLogarithmic ? .logarithmic(values, maximum: chart.maximum) : .linear(values, maximum: chart.maximum)
        let places = lines.joined().map(\.x)
        x = chart.xUnit == nil ? .time(places) : .range(places)
        shades = Self.shades(values.isEmpty ? [] : chart.bands, x)
        top = Double(shades.compactMap(\.row).max() ?? -1) * 18 + 24
    }

    /// Names that don't fit into three rows on a phone are left out.
    private static func shades(_ bands: [ReportPage.Band], _ x: ChartAxis) -> [Shade] {
        var taken: [[ClosedRange<Double>]] = [[], [], []]
        return bands.filter { $0.from <= $0.to && $0.to >= x.low && $0.from <= x.high }.map { band in
            let (from, to) = (max(band.from, x.low), min(band.to, x.high))
            let interval = "\(ChartAxis.time(from)) to \(ChartAxis.time(to))"
            var shade = Shade(from: x.position(of: from), to: x.position(of: to), name: band.name, interval: interval)
            let width = (band.name.shortened(to: 40).estimatedWidth + 8) / 290
            shade.isAtEnd = shade.from + width > 1
            shade.anchor = !shade.isAtEnd ? shade.from : shade.to >= width ? shade.to : 1
            let start = shade.isAtEnd ? shade.anchor - width : shade.anchor
            shade.row = taken.firstIndex { !$0.contains { $0.overlaps(start...start + width) } }
            if let row = shade.row { taken[row].append(start...start + width) }
            return shade
        }
    }

    /// One sentence for those who can't see the chart.
    var description: String {
        if isEmpty { return "\(chart.title): no data." }
        let ranges = chart.series.indices.map(range).joined(separator: ", ")
        let ends = [x.low, x.high].map { value in
            chart.xUnit.map { "\(ChartAxis.number(value)) \($0)" } ?? ChartAxis.time(value)
        }
        return "\(chart.title), in \(chart.unit), from \(ends[0]) to \(ends[1]): \(ranges)"
            + shades.prefix(3).map { "; \($0.name) from \($0.interval)" }.joined() + "."
    }

    /// The inside of an `<svg>` that is `height` pixels high.
    var content: String {
        let base = top + plotHeight
        if isEmpty {
            return "<text x=\"50%\" y=\"\(base / 2)\" text-anchor=\"middle\">No data</text>"
                + "<line class=\"grid\" x2=\"100%\" y1=\"\(base)\" y2=\"\(base)\"/>"
        }
        let bands = shades.map { shade in
            let start = shade.row.map { Double($0) * 18 } ?? top
            let width = percent(max(0.003, shade.to - shade.from))
            return "<rect class=\"band\" x=\"\(percent(shade.from))\" width=\"\(width)\" y=\"\(start)\" "
                + "height=\"\(base - start)\">"
                + "<title>\("\(shade.name), \(shade.interval)".escapedForMarkup)</title></rect>"
        }
        let names = shades.filter { $0.row != nil }.map { shade in
            "<text class=\"name\" x=\"\(percent(shade.anchor))\" dx=\"\(shade.isAtEnd ? -4 : 4)\" "
                + "y=\"\((shade.row ?? 0) * 18 + 14)\" text-anchor=\"\(shade.isAtEnd ? "end" : "start")\">"
                + "\(shade.name.shortened(to: 40).escapedForMarkup)</text>"
        }
        let rules = y.ticks.map { value, label in
            let height = top + height(of: value)
            return "<line class=\"grid\" x2=\"100%\" y1=\"\(height)\" y2=\"\(height)\"/>"
                + "<text x=\"-6\" y=\"\(height + 4)\" text-anchor=\"end\">\(label)</text>"
        }
        let times = x.ticks.map { value, label in
            let place = percent(x.position(of: value))
            return "<line class=\"grid\" x1=\"\(place)\" x2=\"\(place)\" y1=\"\(base)\" y2=\"\(base + 5)\"/>"
                + "<text x=\"\(place)\" y=\"\(base + 19)\" text-anchor=\"middle\">\(label)</text>"
        }
        let indices = chart.series.indices
        let ordered =
            indices.filter { chart.series[$0].style == .area } + indices.filter { chart.series[$0].style != .area }
        return (bands + rules + times + names).joined(separator: "\n") + """

            <svg y="\(top)" width="100%" height="\(plotHeight)" viewBox="0 0 1000 \(plotHeight)" \
            preserveAspectRatio="none" overflow="visible">
            \(ordered.map(marks).joined(separator: "\n"))
            </svg>
            """
    }

    /// What the legend shows beside a name, 22 by 10 pixels.
    static func key(_ style: ReportPage.Style, _ index: Int) -> String {
        style == .area ? paths(style, index, "M0 1H22", "M0 1H22V10H0z") : paths(style, index, "M0 5H22", "")
    }

    private func marks(_ index: Int) -> String {
        let base = height(of: max(y.low, min(0, y.high)))
        var (stroke, area, dots) = ("", "", "")
        for run in lines[index].split(whereSeparator: { $0.y == nil }) {
            let places = run.map { "\(tenth(x.position(of: $0.x) * 1000)) \(height(of: $0.y ?? 0))" }
            let line = "M" + places.joined(separator: "L")
            let (first, last) = (x.position(of: run[run.startIndex].x), x.position(of: run[run.endIndex - 1].x))
            if run.count == 1 { dots += "\(line)h.01" }
            stroke += line
            area += "\(line)L\(tenth(last * 1000)) \(base)H\(tenth(first * 1000))z"
        }
        let title = "\(range(index)) \(chart.unit)".escapedForMarkup
        return Self.paths(chart.series[index].style, index, stroke, area, dots, title)
    }

    private static func paths(
        _ style: ReportPage.Style, _ index: Int, _ stroke: String, _ area: String, _ dots: String = "",
        _ title: String = ""
    ) -> String {
        let line = style == .dashed ? "dashed" : "line"
        let paths = [(style == .area ? area : "", "area"), (stroke, line), (dots, "dot")].filter { !$0.0.isEmpty }
        return "<g style=\"color:var(--c\(index % 6))\">" + (title.isEmpty ? "" : "<title>\(title)</title>")
            + paths.map { "<path class=\"\($0.1)\" d=\"\($0.0)\"/>" }.joined() + "</g>"
    }

    private func range(_ index: Int) -> String {
        let values = lines[index].compactMap(\.y)
        guard let least = values.min(), let most = values.max() else { return "\(chart.series[index].name) no data" }
        return "\(chart.series[index].name) \(ChartAxis.number(least)) to \(ChartAxis.number(most))"
    }

    private func height(of value: Double) -> Double { tenth((1 - y.position(of: value)) * plotHeight) }
    private func percent(_ share: Double) -> String { "\((share * 10_000).rounded() / 100)%" }
    private func tenth(_ value: Double) -> Double { (value * 10).rounded() / 10 }
}

extension ReportPage.Series {
    /// About 600 points: of each of 300 stretches the lowest, the highest and the first gap.
    func drawnPoints(positive: Bool) -> [(x: Double, y: Double?)] {
        let points = points.filter { abs($0.x) < 1e15 }.map { x, y in
            (x: x, y: y.flatMap { abs($0) < 1e200 && (!positive || $0 > 1e-200) ? $0 : nil })
        }
        guard points.count > 600 else { return points }
        var kept: Set = [0, points.count - 1]
        for stretch in 0..<300 {
            let indices = points.count * stretch / 300..<points.count * (stretch + 1) / 300
            let values = indices.filter { points[$0].y != nil }
            func isLower(_ left: Int, _ right: Int) -> Bool { (points[left].y ?? 0) < (points[right].y ?? 0) }
            let gap = indices.first { points[$0].y == nil }
            kept.formUnion([values.min(by: isLower), values.max(by: isLower), gap].compactMap(\.self))
        }
        return kept.sorted().map { points[$0] }
    }
}

extension String {
    fileprivate func shortened(to limit: Int) -> String { count <= limit ? self : prefix(limit - 1) + "…" }

    /// In pixels, in letters of 12 pixels.
    fileprivate var estimatedWidth: Double { Double(count) * 6.6 }
}
