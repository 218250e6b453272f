/// What a run of the lab shows: figures by name, and a page.
struct LabReport {
    /// In the order in which they are shown.
    var figures: [(name: String, value: Double?)]
    var page: ReportPage

    /// The page's tables, for a terminal.
    var text: String {
        var lines = [page.title, page.lead]
        for section in page.sections where !section.tables.isEmpty {
            lines += ["", section.title]
            for table in section.tables { lines += [table.text] }
        }
        return lines.filter { !$0.isEmpty || lines.count > 1 }.joined(separator: "\n")
    }

    var json: String {
        let pairs = figures.map { name, value in
            "  \(Self.quoted(name)): " + (value.flatMap { $0.isFinite ? "\($0)" : nil } ?? "null")
        }
        return "{\n\(pairs.joined(separator: ",\n"))\n}"
    }

    private static func quoted(_ text: String) -> String {
        let characters = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"", "\\": "\\\(scalar)"
            case ..<" ": "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            default: "\(scalar)"
            }
        }
        return "\"\(characters.joined())\""
    }

    /// Two reports below one another, and their figures side by side.
    static func comparison(_ reports: [(name: String, report: LabReport)]) -> LabReport {
        var names: [String] = []
        for figure in reports.flatMap(\.report.figures) where !names.contains(figure.name) { names.append(figure.name) }
        let rows = names.map { name in
            [name] + reports.map { $0.report.value(of: name)?.short ?? "–" }
        }
        let page = ReportPage(
            title: reports.map(\.name).joined(separator: " and "), lead: "",
            sections: [
                ReportPage.Section(
                    title: "Side by side", text: "",
                    tables: [ReportPage.Table(head: [""] + reports.map(\.name), rows: rows)], charts: [])
            ]
                + reports.flatMap { name, report in
                    report.page.sections.map { section in
                        var section = section
                        section.title = "\(name): \(section.title)"
                        section.tables = []
                        return section
                    }
                })
        return LabReport(
            figures: reports.flatMap { name, report in report.figures.map { ("\(name): \($0.name)", $0.value) } },
            page: page)
    }

    /// The figures of several runs, in dependence on a setting.
    static func sweep(of scenario: LabScenario, _ key: String, _ runs: [(value: Double, report: LabReport)])
        -> LabReport
    {
        let names = runs.first?.report.figures.map(\.name) ?? []
        let page = ReportPage(
            title: "\(scenario.title): \(key)", lead: scenario.lead,
            sections: [
                ReportPage.Section(
                    title: "Figures by \(key)", text: "",
                    tables: [
                        ReportPage.Table(
                            head: [key] + names,
                            rows: runs.map { value, report in
                                [value.short] + names.map { report.value(of: $0)?.short ?? "–" }
                            })
                    ],
                    charts: names.map { name in
                        ReportPage.Chart(
                            title: name, unit: "by \(key)",
                            series: [
                                ReportPage.Series(
                                    name: name, points: runs.map { ($0.value, $0.report.value(of: name)) }, style: .line
                                )
                            ], bands: [], isLogarithmic: false, maximum: nil, xUnit: key)
                    })
            ])
        return LabReport(
            figures: runs.flatMap { value, report in
                // All digits: two values must not have one name.
                report.figures.map { ("\(key)=\(value): \($0.name)", $0.value) }
            }, page: page)
    }

    private func value(of name: String) -> Double? { figures.first { $0.name == name }?.value ?? nil }
}

extension Double {
    /// In four digits.
    var short: String {
        if self == rounded(), magnitude < 1e15 { return text(0) }
        return text(magnitude < 1 ? 4 : magnitude < 100 ? 2 : 0)
    }
}

extension ReportPage.Table {
    /// For a terminal.
    var text: String {
        let lines = [head] + rows
        let widths = head.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line in
            line.enumerated().map { column, cell in
                let space = String(repeating: " ", count: widths[column] - cell.count)
                return column == 0 ? cell + space : space + cell
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }
}
