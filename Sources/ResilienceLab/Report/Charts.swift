import Foundation
import Resilience
import ResilienceSimulation

extension SimulationResult {
    /// The charts of a run, over time.
    func charts() -> [ReportPage.Chart] {
        let rate = 1 / (interval / .seconds(1))
        func series(
            _ name: String, _ style: ReportPage.Style = .line, _ value: (Interval) -> Double?
        ) -> ReportPage.Series {
            ReportPage.Series(
                name: name, points: intervals.map { ($0.begins / .seconds(1), value($0)) }, style: style)
        }
        func milliseconds(_ share: Double) -> (Interval) -> Double? {
            { $0.latency.quantile(share).map { $0 / .milliseconds(1) } }
        }
        let bands = troubles.map {
            ReportPage.Band(from: $0.begins / .seconds(1), to: $0.ends / .seconds(1), name: $0.kind.text)
        }
        func chart(
            _ title: String, _ unit: String, isLogarithmic: Bool = false, maximum: Double? = nil,
            _ series: [ReportPage.Series]
        ) -> ReportPage.Chart {
            ReportPage.Chart(
                title: title, unit: unit, series: series, bands: bands, isLogarithmic: isLogarithmic, maximum: maximum)
        }
        var charts = [
            chart(
                "Calls and requests", "a second",
                [
                    series("calls", .area) { Double($0.offered) * rate },
                    series("requests to the service") { Double($0.requests) * rate },
                    series("calls that succeed") { Double($0.succeeded) * rate },
                ]
                    + (capacity.isFinite
                        ? [series("the service's capacity", .dashed) { _ in capacity }] : [])),
            chart(
                "Time of calls that succeed", "ms", isLogarithmic: true,
                [
                    series("p50", .line, milliseconds(0.5)), series("p90", .line, milliseconds(0.9)),
                    series("p99", .line, milliseconds(0.99)),
                ]),
            chart(
                "Attempts per call", "attempts",
                [series("attempts per call") { $0.offered == 0 ? nil : Double($0.attempts) / Double($0.offered) }]),
        ]
        if intervals.contains(where: { $0.openCircuits > 0 }) {
            charts.append(
                chart(
                    "Open circuits", "% of clients", maximum: 100,
                    [series("open", .area) { 100 * $0.openCircuits }]))
        }
        if intervals.contains(where: { $0.queued > 0 }) {
            charts.append(
                chart("Requests that wait in the service", "requests", [series("waiting", .area) { Double($0.queued) }])
            )
        }
        return charts
    }

    /// The facts of a run, for a row of a table.
    static let head = [
        "", "success before", "during", "whole run", "p50", "p99", "attempts per call", "most", "peak load",
        "recovers after", "not ended",
    ]

    func row(_ name: String) -> [String] {
        [
            name, successBefore.percent, successDuring.percent, Optional(success).percent,
            latency.quantile(0.5)?.text ?? "–", latency.quantile(0.99)?.text ?? "–",
            amplification.text(2), peakAmplification.text(2), capacity.isFinite ? "\((100 * peakLoad).text(0)) %" : "–",
            timeToRecover.map { "\(Int($0 / .seconds(1))) s" } ?? "never", "\(unfinished)",
        ]
    }
}

extension Trouble.Kind {
    var text: String {
        switch self {
        case .outage: "outage"
        case .partition(let share): "no answers for \((100 * share).text(0)) % of the clients"
        case .brownOut(let slower): "\(slower.text(0)) times as slow"
        case .errors(let share): "\((100 * share).text(0)) % errors"
        case .rateLimit(let rate, _): "429 above \(rate.text(0))/s"
        case .stragglers(let share, let slower): "\((100 * share).text(0)) % \(slower.text(0)) times as slow"
        case .capacity(let share): "\((100 * share).text(0)) % of the workers"
        case .slowStart(let share): "from \((100 * share).text(0)) % of the workers"
        case .surge(let factor): "\(factor.text(1)) times the calls"
        }
    }
}

extension Double? {
    var percent: String { map { "\((100 * $0).text(1)) %" } ?? "–" }
}

extension Double {
    /// With this number of decimal places.
    func text(_ places: Int) -> String { String(format: "%.\(places)f", self) }
}
