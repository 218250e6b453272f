#if Metrics
    import Foundation
    @testable import ResilienceObservability
    import TestSupport
    import Testing

    /// Holds the dashboard and the guide to the names in the code.
    @Suite struct DashboardTests {
        private static func text(_ path: String) throws -> String {
            try String(contentsOf: repository.appending(path: path), encoding: .utf8)
        }

        private static func names(in text: some StringProtocol) -> Set<String> {
            Set(String(text).matches(of: /resilience_[a-z_]+/).map { String($0.output) })
        }

        private static var exported: [String: MetricName] {
            let histograms: Set<MetricName> = [.callDuration, .callAttempts, .attemptDuration, .waitDuration]
            var exported: [String: MetricName] = [:]
            for name in MetricName.allCases {
                let endings = histograms.contains(name) ? ["_bucket", "_sum", "_count"] : [""]
                for ending in endings { exported[name.rawValue + ending] = name }
            }
            return exported
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

        @Test("the dashboard is JSON, and every metric in it is one that Prometheus has")
        func dashboard() throws {
            let data = try Data(contentsOf: repository.appending(path: "Docs/Grafana/resilience.json"))
            let expressions = Self.expressions(in: try JSONSerialization.jsonObject(with: data))
            #expect(expressions.count > 10)
            let used = Set(expressions.flatMap { Self.names(in: $0) })
            #expect(used.subtracting(Self.exported.keys) == [])
            let missing = Set(MetricName.allCases).subtracting(used.compactMap { Self.exported[$0] })
            #expect(missing == [], "the dashboard does not show them")
        }

        @Test("the dashboard groups and filters by labels that the metric has")
        func labels() throws {
            let data = try Data(contentsOf: repository.appending(path: "Docs/Grafana/resilience.json"))
            for expression in Self.expressions(in: try JSONSerialization.jsonObject(with: data)) {
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

        @Test("the guide's table has every metric, with its labels, and no other")
        func guide() throws {
            let guide = try Self.text(
                "Sources/ResilienceObservability/ResilienceObservability.docc/LogsMetricsTracesGuide.md")
            let rows = guide.split(separator: "\n").filter { $0.hasPrefix("| `resilience_") }
            for name in MetricName.allCases {
                let labels = name.labels.map { "`\($0)`" }.joined(separator: ", ")
                let isThere = rows.contains { $0.hasPrefix("| `\(name.rawValue)` |") && $0.contains("| \(labels) |") }
                #expect(isThere, "\(name.rawValue)")
            }
            #expect(rows.count == MetricName.allCases.count)
        }
    }
#endif
