#if Demo
    import Foundation

    /// The report for people.
    struct Table: CustomStringConvertible {
        let report: Report

        var description: String {
            var rows = [["", "naive", "toolkit"]]
            func row(_ name: String, _ cell: (RunResult) -> String) {
                rows.append([name, cell(report.naive), cell(report.toolkit)])
            }
            row("requests sent") { $0.requests.grouped }
            row("429s") { $0.throttled.grouped }
            row("delivered") { $0.delivered.grouped }
            row("duplicates") { $0.duplicates.grouped }
            row("lost") { $0.lost.grouped }
            row("drain time") { $0.seconds.secondsText }
            row("best possible") { _ in report.bestSeconds.secondsText }
            row("time ÷ best") { $0.ratioToBest?.fixed(2) ?? "–" }
            return Self.aligned(rows)
        }

        /// One sentence per run.
        var conclusion: String {
            let scale = report.timeScale == 1 ? "" : " Its waits were multiplied by \(report.timeScale)."
            return "By hand: \(figures(of: report.naive)).\(scale)\n"
                + "Through the toolkit: \(figures(of: report.toolkit))."
        }

        private func figures(of result: RunResult) -> String {
            let each = report.mutations == 0 ? "no" : (Double(result.requests) / Double(report.mutations)).fixed(2)
            return "\(each) requests per mutation, \(result.lost.grouped) of \(report.mutations.grouped) lost"
        }

        private static func aligned(_ rows: [[String]]) -> String {
            let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
            let lines = rows.map { row in
                row.enumerated().map { column, cell in
                    let space = String(repeating: " ", count: widths[column] - cell.count)
                    return column == 0 ? cell + space : "   " + space + cell
                }.joined()
            }
            let rule = String(repeating: "─", count: lines[0].count)
            return ([lines[0], rule] + lines.dropFirst()).joined(separator: "\n")
        }
    }

    extension Int {
        /// As 12,345, in every locale.
        var grouped: String { formatted(.number.locale(Locale(identifier: "en_US"))) }
    }

    extension Double {
        func fixed(_ decimals: Int) -> String { String(format: "%.\(decimals)f", self) }

        var secondsText: String { "\(fixed(1)) s" }
    }
#endif
