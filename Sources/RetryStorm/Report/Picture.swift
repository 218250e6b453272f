#if Demo
    import Foundation

    /// An SVG of the requests in each second of both runs, on one scale.
    struct Picture {
        let report: Report
        var isDark = false

        /// Narrow enough to be read on a phone.
        private static let width = 480
        private static let left = 44
        private static let barsHeight = 110
        private static let panelHeight = 184

        private var text: String { isDark ? "#e5e7eb" : "#1f2937" }
        private var line: String { isDark ? "#4b5563" : "#d1d5db" }
        private var admitted: String { isDark ? "#60a5fa" : "#2563eb" }
        private var throttled: String { isDark ? "#fb923c" : "#ea580c" }

        /// - Parameter path: The path of the picture; the dark version is written beside it, with "~dark" in its name.
        static func write(_ report: Report, to path: String) throws {
            let url = URL(fileURLWithPath: path)
            let name = url.deletingPathExtension().lastPathComponent
            let dark = url.deletingLastPathComponent().appendingPathComponent("\(name)~dark.svg")
            try Picture(report: report).svg.write(to: url, atomically: true, encoding: .utf8)
            try Picture(report: report, isDark: true).svg.write(to: dark, atomically: true, encoding: .utf8)
        }

        var svg: String {
            let runs = [
                ("By hand, each request retried 3 times, each mutation 5 times", report.naive),
                ("Through the toolkit", report.toolkit),
            ]
            let most = runs.flatMap(\.1.perSecond).map(\.total).max() ?? 0
            let seconds = runs.map(\.1.perSecond.count).max() ?? 0
            let panels = runs.enumerated().map { index, run in
                panel(run.0, run.1, most: max(1, most), seconds: max(1, seconds), top: index * Self.panelHeight)
            }
            let height = runs.count * Self.panelHeight + 30
            return """
                <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Self.width) \(height)" width="640" role="img" \
                font-family="system-ui, sans-serif" font-size="13" fill="\(text)">
                <title>\(title(runs.map(\.1)))</title>
                \(panels.joined(separator: "\n"))
                \(legend(top: height - 10))
                </svg>

                """
        }

        private func title(_ runs: [RunResult]) -> String {
            "Requests in each second while \(report.mutations.grouped) mutations are drained: "
                + runs.map { "\($0.requests.grouped) requests, \($0.lost.grouped) mutations lost" }
                .joined(separator: "; ")
        }

        private func panel(_ name: String, _ run: RunResult, most: Int, seconds: Int, top: Int) -> String {
            let base = top + 48 + Self.barsHeight
            let step = Double(Self.width - Self.left) / Double(seconds)
            func height(_ count: Int) -> Double { Double(count) / Double(most) * Double(Self.barsHeight) }
            func bar(_ second: Int, _ count: Int, above below: Int, _ color: String) -> String? {
                if count == 0 { return nil }
                let y = Double(base) - height(below + count)
                return "<rect x=\"\(number(Double(Self.left) + Double(second) * step))\" y=\"\(number(y))\" "
                    + "width=\"\(number(step * 0.8))\" height=\"\(number(height(count)))\" fill=\"\(color)\"/>"
            }
            let bars = run.perSecond.enumerated().flatMap { second, counts in
                [
                    bar(second, counts.admitted, above: 0, admitted),
                    bar(second, counts.throttled, above: counts.admitted, throttled),
                ].compactMap(\.self)
            }
            let figures =
                "\(run.requests.grouped) requests, \(run.delivered.grouped) delivered, "
                + "\(run.lost.grouped) lost"
            let ticks = stride(from: 0, through: seconds, by: max(5, seconds / 10)).map {
                "<text x=\"\(number(Double(Self.left) + Double($0) * step))\" y=\"\(base + 16)\" "
                    + "font-size=\"11\" text-anchor=\"middle\">\($0) s</text>"
            }
            let limit = number(Double(base) - height(report.rate))
            return """
                <text x="0" y="\(top + 18)"><tspan font-weight="600">\(name)</tspan></text>
                <text x="0" y="\(top + 36)">\(figures)</text>
                <text x="\(Self.left - 6)" y="\(top + 58)" font-size="11" text-anchor="end">\(most)/s</text>
                <path d="M\(Self.left) \(top + 48)H\(Self.width)M\(Self.left) \(base)H\(Self.width)" stroke="\(line)"/>
                \((bars + ticks).joined(separator: "\n"))
                <text x="\(Self.left - 6)" y="\(limit)" font-size="11" text-anchor="end">\(report.rate)/s</text>
                <path d="M\(Self.left) \(limit)H\(Self.width)" stroke="\(text)" stroke-dasharray="4 3"/>
                """
        }

        private func legend(top: Int) -> String {
            """
            <rect x="0" y="\(top - 10)" width="11" height="11" fill="\(admitted)"/>
            <text x="17" y="\(top)">requests admitted</text>
            <rect x="150" y="\(top - 10)" width="11" height="11" fill="\(throttled)"/>
            <text x="167" y="\(top)">answered 429</text>
            <path d="M275 \(top - 4)h24" stroke="\(text)" stroke-dasharray="4 3"/>
            <text x="306" y="\(top)">the server's limit</text>
            """
        }

        private func number(_ value: Double) -> String { value.fixed(1) }
    }
#endif
