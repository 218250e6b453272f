import Resilience
import ResilienceSimulation

/// A scenario that ships with the lab.
struct LabScenario: Sendable {
    /// A number that a user can change.
    struct Setting: Sendable {
        let name: String
        let standard: Double
        let range: ClosedRange<Double>
        let help: String

        init(_ name: String, _ standard: Double, _ range: ClosedRange<Double>, _ help: String) {
            (self.name, self.standard, self.range, self.help) = (name, standard, range, help)
        }
    }

    /// The settings of a run.
    struct Values: Sendable {
        fileprivate let numbers: [String: Double]

        subscript(name: String) -> Double {
            guard let number = numbers[name] else { preconditionFailure("the scenario has no setting \(name)") }
            return number
        }

        func whole(_ name: String) -> Int { Int(self[name].rounded()) }
        func seconds(_ name: String) -> Duration { .seconds(self[name]) }
        func milliseconds(_ name: String) -> Duration { .seconds(self[name] / 1000) }
    }

    let name: String
    let title: String
    /// What one sees, and why.
    let lead: String
    let settings: [Setting]
    private let run: @Sendable (UInt64, Values) throws -> LabReport

    init(
        _ name: String, _ title: String, _ lead: String, _ settings: [Setting],
        _ run: @escaping @Sendable (_ seed: UInt64, Values) throws -> LabReport
    ) {
        (self.name, self.title, self.lead, self.settings, self.run) = (name, title, lead, settings, run)
    }

    static let all = [jitter, layers, metastable, stragglers, phones, queues, breaker, shedding, deploy, zone]

    static func named(_ name: String) throws -> LabScenario {
        guard let scenario = all.first(where: { $0.name == name }) else {
            let names = all.map(\.name).joined(separator: ", ")
            throw LabProblem("there is no scenario \"\(name)\", but \(names)")
        }
        return scenario
    }

    /// - Parameter set: "name=number" each.
    func values(_ set: [String]) throws -> Values {
        var numbers = Dictionary(uniqueKeysWithValues: settings.map { ($0.name, $0.standard) })
        for text in set {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let setting = settings.first(where: { $0.name == parts.first }) else {
                let names = settings.map(\.name).joined(separator: ", ")
                throw LabProblem("\(name) has no setting \"\(parts.first ?? "")\", but \(names)")
            }
            guard parts.count == 2, let number = Double(parts[1]), setting.range.contains(number) else {
                throw LabProblem(
                    "\(setting.name) must be \(setting.range.lowerBound.short) to \(setting.range.upperBound.short)"
                )
            }
            numbers[setting.name] = number
        }
        return Values(numbers: numbers)
    }

    func report(seed: UInt64, _ values: Values) throws -> LabReport {
        var report = try run(seed, values)
        report.page.title = title
        report.page.lead = lead
        return report
    }
}

extension LabReport {
    /// A report of runs of one service, one under the other.
    init(_ runs: [(name: String, result: SimulationResult)]) {
        figures = runs.flatMap { name, result in
            [
                ("\(name): success", result.success), ("\(name): attempts per call", result.amplification),
                ("\(name): most attempts per call", result.peakAmplification),
                ("\(name): peak load", result.capacity.isFinite ? result.peakLoad : nil),
                ("\(name): p99 ms", result.latency.quantile(0.99).map { $0 / .milliseconds(1) }),
                ("\(name): recovery s", result.timeToRecover.map { $0 / .seconds(1) }),
                ("\(name): not ended", Double(result.unfinished)),
            ]
        }
        page = ReportPage(
            sections: [
                ReportPage.Section(
                    title: "What callers saw",
                    tables: [ReportPage.Table(head: SimulationResult.head, rows: runs.map { $1.row($0) })], charts: [])
            ]
                + runs.map { name, result in
                    ReportPage.Section(title: name, text: "", tables: [], charts: result.charts())
                })
    }

    /// A report of figures by a number.
    init(
        _ title: String, by key: String, head: [String], rows: [(Double, [Double?])], unit: String,
        isLogarithmic: Bool = false
    ) {
        figures = rows.flatMap { value, cells in
            zip(head, cells).map { ("\(key) \(value.short): \($0)", $1) }
        }
        page = ReportPage(sections: [
            ReportPage.Section(
                title: title,
                tables: [
                    ReportPage.Table(
                        head: [key] + head,
                        rows: rows.map { value, cells in [value.short] + cells.map { $0?.short ?? "–" } })
                ],
                charts: [
                    ReportPage.Chart(
                        title: title, unit: unit,
                        series: head.indices.map { index in
                            ReportPage.Series(
                                name: head[index], points: rows.map { ($0.0, $0.1[index]) }, style: .line)
                        }, bands: [], isLogarithmic: isLogarithmic, maximum: nil, xUnit: key)
                ])
        ])
    }
}
