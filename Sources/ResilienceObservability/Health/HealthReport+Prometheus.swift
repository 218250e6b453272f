public import Resilience

extension HealthReport {
    /// The content type of ``prometheusText(counts:)``.
    public static var prometheusContentType: String { "text/plain; version=0.0.4; charset=utf-8" }

    /// Returns the report as metrics in Prometheus' text format, for a service without another metrics backend.
    ///
    /// ```swift
    /// let text = await health.report().prometheusText(counts: counter.counts)
    /// ```
    ///
    /// The metrics have the names, labels and outcomes of `ResilienceMetrics`, so the repository's dashboard in
    /// Docs/Grafana shows them. Only the components in the report are written: the monitor's limit bounds the page. The
    /// list of metrics is in <doc:LogsMetricsTracesGuide>.
    /// - Parameter counts: The counts of an `EventCounter`, for the metrics of calls, attempts, waits and events; nil,
    ///   the default, for none.
    /// - Returns: The text, which ends with a line feed.
    public func prometheusText(counts: EventCounts? = nil) -> String {
        var text = PrometheusText()
        text.add(.healthStatus, [], Double(status.level))
        for (label, count) in [
            ("up", totals.components - totals.degraded - totals.down), ("degraded", totals.degraded),
            ("down", totals.down),
        ] {
            text.add(.components, [label], Double(count))
        }
        text.add(.componentsOmitted, [], Double(totals.omitted))
        var readings = GaugeReadings(label: { bounded($0) })
        var seen: [[String]: Int] = [:]
        // Sorted by id, so that components of equal names keep their numbers, whatever their status.
        for component in components.sorted(by: { $0.id < $1.id }) {
            readings.add(component)
            let names = [component.group ?? "", component.name]
            seen[names, default: 0] += 1
            let number = seen[names] ?? 1
            text.add(
                .componentStatus, [names[0], number > 1 ? "\(component.name)#\(number)" : component.name],
                Double(component.status.level))
        }
        for (key, value) in readings.values { text.add(key.metric, key.values, value) }
        if let counts { text.add(counts) }
        return text.text
    }
}

extension PrometheusText {
    fileprivate mutating func add(_ counts: EventCounts) {
        func names(_ pipeline: String?, _ others: String...) -> [String] {
            ([pipeline ?? LabelValue.none] + others).map(bounded)
        }
        for (key, durations) in counts.calls {
            let labels = names(key.pipeline, key.outcome.rawValue)
            add(.calls, labels, Double(durations.count))
            add(.callDuration, labels, durations)
        }
        for (key, attempts) in counts.callAttempts {
            add(.callAttempts, names(key.pipeline, key.outcome.rawValue), attempts)
        }
        for (key, durations) in counts.attempts {
            let labels = names(key.pipeline, key.outcome.rawValue)
            add(.attempts, labels, Double(durations.count))
            add(.attemptDuration, labels, durations)
        }
        for (key, durations) in counts.waits { add(.waitDuration, names(key.pipeline, key.policy), durations) }
        for (key, count) in counts.byKey where !counts.measured.contains(key) {
            add(.events, names(key.pipeline, key.policy, key.kind), Double(count))
        }
        add(.eventsUncounted, [], Double(counts.others))
    }
}
