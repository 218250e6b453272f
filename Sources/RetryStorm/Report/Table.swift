#if Demo
    /// The report for people.
    struct Table: CustomStringConvertible {
        let report: Report

        var description: String {
            let columns: [(String, RunResult)] = [("naive", report.naive), ("toolkit", report.toolkit)]
                .compactMap { name, result in result.map { (name, $0) } }
            var rows: [[String]] = [[""] + columns.map(\.0)]
            func row(_ name: String, _ cell: (RunResult) -> String) { rows.append([name] + columns.map { cell($0.1) }) }
            row("requests sent") { Self.grouped($0.requests) }
            row("429s") { Self.grouped($0.throttled) }
            row("delivered") { Self.grouped($0.delivered) }
            row("duplicates") { Self.grouped($0.duplicates) }
            row("lost") { Self.grouped($0.lost) }
            if columns.contains(where: { ($0.1.dead ?? 0) > 0 }) { row("dead") { Self.grouped($0.dead ?? 0) } }
            row("drain time") { Self.seconds($0.seconds) }
            if let best = report.bestSeconds {
                row("best possible") { _ in Self.seconds(best) }
                row("time ÷ best") { Self.ratio($0, best, of: report.mutations) }
            }
            return Self.aligned(rows)
        }

        /// One sentence per run.
        var conclusion: String {
            [report.naive.map { naive($0) }, report.toolkit.map { toolkit($0) }].compactMap { $0 }
                .joined(separator: "\n")
        }

        private func naive(_ result: RunResult) -> String {
            let scale = report.timeScale == 1 ? "" : " Its waits were multiplied by \(report.timeScale)."
            return "As the app did it: \(Self.each(result.requests, report.mutations)) requests a mutation, "
                + "\(Self.grouped(result.lost)) of \(Self.grouped(report.mutations)) lost.\(scale)"
        }

        private func toolkit(_ result: RunResult) -> String {
            "Through the toolkit: \(Self.each(result.requests, report.mutations)) requests a mutation, "
                + "\(Self.grouped(result.lost)) of \(Self.grouped(report.mutations)) lost."
        }

        private static func aligned(_ rows: [[String]]) -> String {
            let count = rows.first?.count ?? 0
            let widths = (0..<count).map { column in rows.map { $0[column].count }.max() ?? 0 }
            let lines = rows.map { row in
                row.enumerated().map { column, cell in
                    let space = String(repeating: " ", count: widths[column] - cell.count)
                    return column == 0 ? cell + space : "   " + space + cell
                }.joined()
            }
            let rule = String(repeating: "─", count: lines.first?.count ?? 0)
            return ([lines[0], rule] + lines.dropFirst()).joined(separator: "\n")
        }

        static func grouped(_ number: Int) -> String {
            var text = String(number.magnitude)
            var index = text.count - 3
            while index > 0 {
                text.insert(",", at: text.index(text.startIndex, offsetBy: index))
                index -= 3
            }
            return number < 0 ? "-" + text : text
        }

        static func seconds(_ seconds: Double) -> String { "\(fixed(seconds, 1)) s" }

        private static func each(_ requests: Int, _ mutations: Int) -> String {
            mutations == 0 ? "no" : fixed(Double(requests) / Double(mutations), 2)
        }

        private static func ratio(_ result: RunResult, _ best: Double, of mutations: Int) -> String {
            // The time says nothing about a run that did not finish.
            result.delivered < mutations || best <= 0 ? "–" : fixed(result.seconds / best, 2)
        }

        /// A number with this many decimals, independent of the locale.
        static func fixed(_ number: Double, _ decimals: Int) -> String {
            var scale = 1
            for _ in 0..<decimals { scale *= 10 }
            let scaled = (abs(number) * Double(scale)).rounded()
            guard scaled < 1e15 else { return "\(number)" }
            let (whole, rest) = Int(scaled).quotientAndRemainder(dividingBy: scale)
            let digits = String(rest)
            let fraction = String(repeating: "0", count: max(0, decimals - digits.count)) + digits
            return (number < 0 ? "-" : "") + "\(whole)" + (decimals > 0 ? ".\(fraction)" : "")
        }
    }
#endif
