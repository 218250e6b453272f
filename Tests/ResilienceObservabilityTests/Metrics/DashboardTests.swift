#if Metrics
    import Foundation
    import MetricsTestKit
    import Resilience
    import ResilienceTraffic
    @testable import ResilienceObservability
    import ResilienceTesting
    import TestSupport
    import Testing

    /// Checks the dashboard and the guide against the names in the code.
    @Suite struct DashboardTests {
        private static func text(_ path: String) throws -> String {
            try String(contentsOf: repository.appending(path: path), encoding: .utf8)
        }

        private static func names(in text: some StringProtocol) -> Set<String> {
            Set(String(text).matches(of: /resilience_[a-z_]+/).map { String($0.output) })
        }

        /// Metrics that only a report has.
        private static let ofReport: [Metric] = [
            .healthStatus, .components, .componentsOmitted, .componentStatus, .eventsUncounted,
        ]
        /// Other metrics of a service that uses everything.
        private static let shown = EveryGauge.metrics + Metric.own.filter { !ofReport.contains($0) }
        private static var exported: [String: Metric] {
            Dictionary(
                uniqueKeysWithValues: (shown + ofReport).flatMap { metric in metric.samples.map { ($0, metric) } })
        }

        /// The queries of the panels, and of the variables.
        private static func expressions(in json: Any) -> [String] {
            switch json {
            case let object as [String: Any]:
                object.flatMap { key, value in
                    (key == "expr" || key == "definition")
                        ? [value as? String].compactMap { $0 } : expressions(in: value)
                }
            case let list as [Any]: list.flatMap { expressions(in: $0) }
            default: []
            }
        }

        private static func dashboard() throws -> [String] {
            let data = try Data(contentsOf: repository.appending(path: "Docs/Grafana/resilience.json"))
            return expressions(in: try JSONSerialization.jsonObject(with: data))
        }

        private static func alerts() throws -> [String] {
            try text("Docs/Prometheus/alerts.yml").matches(of: /expr: (.+)/).map { String($0.1) }
        }

        @Test("the dashboard is JSON, and Prometheus has every metric in it")
        func dashboard() throws {
            let expressions = try Self.dashboard()
            #expect(expressions.count > 10)
            let used = Set(expressions.flatMap { Self.names(in: $0) })
            #expect(used.subtracting(Self.exported.keys) == [])
            let missing = Set(Self.shown).subtracting(used.compactMap { Self.exported[$0] }).map(\.name)
            #expect(missing == [], "the dashboard does not show them")
        }

        @Test("the dashboard and the alerts group and filter only by labels of the metric")
        func labels() throws {
            for expression in try Self.dashboard() + Self.alerts() {
                let allowed = Self.names(in: expression).compactMap { Self.exported[$0] }.map {
                    Set($0.labels + ["le"])
                }
                let inAll = allowed.dropFirst().reduce(allowed.first ?? []) { $0.intersection($1) }
                let filtered = expression.matches(of: /([a-z_]+)(?:=~|!~|!=|=)"/).map { String($0.1) }
                let grouped = expression.matches(of: /by \(([^)]*)\)/).flatMap {
                    $0.1.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
                }
                #expect(Set(filtered + grouped).subtracting(inAll) == [], "\(expression)")
            }
        }

        @Test("the guide's table has exactly the metrics, with their labels")
        func guide() throws {
            let guide = try Self.text(
                "Sources/ResilienceObservability/ResilienceObservability.docc/LogsMetricsTracesGuide.md")
            let rows = guide.split(separator: "\n").filter { $0.hasPrefix("| `resilience_") }
            for metric in Self.shown + Self.ofReport {
                let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
                let isThere = rows.contains { $0.hasPrefix("| `\(metric.name)` |") && $0.contains("| \(labels) |") }
                #expect(isThere, "\(metric.name) \(metric.help)")
            }
            #expect(rows.count == Self.shown.count + Self.ofReport.count)
        }

        // MARK: The answer of the shipped route

        /// A selector of a query, such as `resilience_circuits{state="open"}`, and the labels that the query groups by.
        private struct Selector {
            let metric: String
            let filters: [(label: String, sign: String, value: String)]
            let groups: [String]
        }

        private static func selectors(in expression: String) -> [Selector] {
            let groups = expression.matches(of: /by \(([^)]*)\)/).flatMap {
                $0.1.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            }
            return expression.matches(of: /(resilience_[a-z_]+)(?:\{([^}]*)\})?/).map { match in
                let filters = (match.2 ?? "").matches(of: /([a-z_]+)(=~|!~|!=|=)"([^"]*)"/).map {
                    (label: String($0.1), sign: String($0.2), value: String($0.3))
                }
                return Selector(metric: String(match.1), filters: filters, groups: groups)
            }
        }

        @Test(
            "every query of the dashboard and the alerts finds its labels in the text of the shipped route (P77)"
        )
        func scraped() throws {
            let now = EveryGauge.now
            let counter = EventCounter()
            for outcome in [Verdict.success, .transient, .throttled, .uncertain, .permanent, .rejected, .cancelled] {
                let events: [Pipeline.Event] =
                    switch outcome.kind {
                    case .success: [.attemptSucceeded(1, took: .zero), .succeeded(took: .zero, attempts: 1)]
                    case .cancelled: [.cancelled(took: .zero, attempts: 1)]
                    case .rejected, .transient, .throttled, .uncertain, .permanent:
                        [
                            .attemptFailed(1, outcome, took: .zero),
                            .failed(
                                outcome, took: .zero, attempts: 1,
                                waits: [PolicyWait(policy: "retry", duration: .seconds(1))]),
                        ]
                    }
                for event in events {
                    counter.receive(PolicyEvent(policy: "call", pipeline: "pay", time: now, detail: event))
                }
            }
            let rejection = Pipeline.Event.rejected(took: .zero, attempts: 0)
            counter.receive(PolicyEvent(policy: "call", pipeline: "pay", time: now, detail: rejection))
            let opening = CircuitBreaker.Event.opened(3, of: 3, for: .seconds(1))
            let reopening = CircuitBreaker.Event.reopened(for: .seconds(1))
            for event in [opening, reopening, .recovered] {
                counter.receive(PolicyEvent(policy: "b", pipeline: "pay", time: now, detail: event))
            }
            let report = HealthReport(
                name: "s", status: .up, totals: HealthTotals(), components: EveryGauge.components)
            let samples = try ExpositionParser(report.prometheusText(counts: counter.counts)).samples
            let (dashboard, alerts) = (try Self.dashboard(), try Self.alerts())
            #expect(dashboard.count > 40 && alerts.count > 8)
            for expression in dashboard + alerts {
                for selector in Self.selectors(in: expression) {
                    let found = samples.filter { sample in
                        sample.name == selector.metric && selector.groups.allSatisfy { sample.labels[$0] != nil }
                    }
                    #expect(!found.isEmpty, "\(selector.metric) of \(expression)")
                    for (label, sign, value) in selector.filters {
                        // A variable's value can be any name.
                        let names = value.hasPrefix("$") ? [".*"] : value.split(separator: "|").map(String.init)
                        for name in names {
                            let pattern = try Regex(name)
                            let isThere = found.contains { sample in
                                guard let own = sample.labels[label] else { return false }
                                return (own.wholeMatch(of: pattern) != nil) == sign.hasPrefix("=")
                            }
                            #expect(isThere, "\(label)\(sign)\(name) of \(expression)")
                        }
                    }
                }
            }
        }

        @Test("the route and swift-metrics report the same values of a service, with the same names and labels (P77)")
        func bothWays() async throws {
            struct Lost: Error, VerdictConvertible { var verdict: Verdict { .transient } }
            let (clock, backend, counter) = (ManualClock(), TestMetrics(), EventCounter())
            let metrics = ResilienceMetrics(factory: backend)
            let pipeline = Pipeline("pay", timeBase: clock, observers: PolicyObservers(metrics, counter)) {
                Retry(maxRetries: 1, backoff: .constant(.seconds(2)), budget: .tokens(capacity: 28))
                CircuitBreaker("b", tripping: .consecutiveFailures(3), timeBase: clock)
                Throttle("t", limit: .perSecond(1, burst: 5), timeBase: clock)
                Bulkhead("room", limit: 2, timeBase: clock)
                Hedge("twice", after: .constant(.milliseconds(200)), timeBase: clock)
            }
            let cache = CallCache<String, Int>(lifetime: CacheLifetime(freshFor: .seconds(1)), timeBase: clock)
            let alone = CircuitBreaker("alone", timeBase: clock)
            try clock.run {
                try await pipeline.run {}
                for _ in 0..<3 { _ = try? await pipeline.run { throw Lost() } }
            }
            metrics.watch {
                pipeline
                cache
                alone
            }
            await metrics.sample()
            let report = await HealthMonitor("s") {
                pipeline
                cache
                alone
            }.report()
            let read = try ExpositionParser(report.prometheusText(counts: counter.counts))
            let own = Set(Self.ofReport.map(\.name))
            func line(_ name: String, _ labels: [String: String], _ value: Double) -> String {
                "\(name) \(labels.sorted { $0.key < $1.key }) \(value)"
            }
            let route = Set(
                read.samples.filter { read.types[$0.name] != nil && !own.contains($0.name) }
                    .map { line($0.name, $0.labels, $0.value) })
            let meters = backend.meters.map {
                line($0.label, Dictionary(uniqueKeysWithValues: $0.dimensions), $0.lastValue ?? -1)
            }
            let counters = backend.counters.map {
                line($0.label, Dictionary(uniqueKeysWithValues: $0.dimensions), Double($0.totalValue))
            }
            #expect(route == Set(meters + counters))
            let histograms = Set(read.types.filter { $0.value == "histogram" }.keys)
            #expect(histograms == Set(backend.timers.map(\.label) + backend.recorders.map(\.label)))
        }
    }
#endif
