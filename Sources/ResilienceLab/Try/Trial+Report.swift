import Resilience
import ResilienceSimulation

extension Trial {
    /// Tries the settings and their alternatives.
    func report() throws -> LabReport {
        let own = try run()
        let better = try alternatives(to: own)
        let cost = own.reduce(0) { $0 + $1.cost }
        var report = LabReport(own.map { ($0.name, $0.result) })
        report.page.title = recording == nil ? "\(name) against a day of troubles" : "\(name) against a recording"
        report.page.lead =
            recording.map(Self.lead) ?? """
                \(load.text(0)) calls a second from \(clients) clients, to a service that can serve \
                \(service.capacity.text(0)) a second. Each trouble begins after 30 s and lasts \(length.text). \
                "Recovers after" is how long after its end calls fail more than before.
                """
        report.page.sections[0].text = "The sum of what went wrong is \(cost.text(0)): \(Self.meaning)"
        report.page.sections.insert(section(better, besides: own, cost), at: 1)
        for (index, alternative) in better.enumerated() {
            report.figures.append(("alternative \(index + 1): sum", alternative.cost))
        }
        report.figures.insert(("sum", cost), at: 0)
        return report
    }

    private static func lead(_ recording: RecordedTraffic) -> String {
        let succeeded = recording.calls.count { $0.outcome == .success }
        return """
            \(recording.calls.count) recorded calls, of which \
            \(Optional(Double(succeeded) / Double(recording.calls.count)).percent) succeeded, come again when they \
            came. An attempt takes as long, and ends, as the recorded attempt that began nearest to it.
            """
    }

    private static let meaning = """
        for each trouble, the percentage of failed calls, plus the seconds until calls succeed again, plus 20 times \
        the share by which the busiest second exceeds the capacity.
        """

    private func section(_ better: [Alternative], besides own: [Outcome], _ cost: Double) -> ReportPage.Section {
        guard !better.isEmpty else {
            return ReportPage.Section(
                title: "What to change", text: "None of the changes that were tried is better on the whole.",
                tables: [],
                charts: [])
        }
        func cells(_ outcome: Outcome) -> String {
            let recovery = outcome.result.timeToRecover.map { "\(Int($0 / .seconds(1))) s" } ?? "never"
            return "\(Optional(outcome.result.success).percent), \(recovery)"
        }
        let rows =
            [["sum", cost.text(0)] + better.map { $0.cost.text(0) }]
            + own.indices.map { index in
                [own[index].name, cells(own[index])] + better.map { cells($0.outcomes[index]) }
            }
        return ReportPage.Section(
            title: "What to change",
            text: "The best of the changes that were tried, one at a time: success of the whole run, and recovery.",
            tables: [ReportPage.Table(head: ["", "these settings"] + better.map(\.change), rows: rows)], charts: [])
    }
}
