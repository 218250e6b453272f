#if Dashboard
    import Resilience
    import ResilienceObservability

    /// The contents of the page at one moment.
    struct DashboardState: Sendable, Equatable {
        struct Summary: Sendable, Equatable, Encodable {
            let name: String
            let status: HealthStatus
            let totals: HealthTotals
            /// The end of the newest bar of all rates, and a bar's length, in milliseconds; nil without a counter.
            let barsEnd: Int?
            let barLength: Int?
        }

        /// A pipeline with its policies, a registry of policies, or all policies and queues outside both.
        struct Section: Sendable, Equatable, Encodable {
            let id: String
            /// nil for policies and queues outside a pipeline or a registry with a name.
            let name: String?
            /// The registry of the pipeline.
            let group: String?
            var isRequired = false
            var status = HealthStatus.up
            /// nil if the pipeline's calls are not counted, or not counted separately.
            var rates: CallRates.Rates?
            /// The ids of its rows, in order.
            var rows: [String] = []
        }

        let now: Int
        let summary: Summary
        /// In the page's order.
        let sections: [Section]
        let rows: [DashboardRow]

        /// - Parameters:
        ///   - rates: The rates of all pipelines; nil without a counter.
        ///   - since: How far back the page shows changes.
        init(_ report: HealthReport, _ timelines: Timelines, _ rates: CallRates? = nil, since: Int, at now: Int) {
            self.now = now
            summary = Summary(
                name: report.name, status: report.status, totals: report.totals, barsEnd: rates?.barsEnd,
                barLength: rates?.barLength)
            let counts = Dictionary(report.components.compactMap { $0.pipeline }.map { ($0, 1) }, uniquingKeysWith: +)
            var (sections, rows): ([Section], [DashboardRow]) = ([], [])
            for component in report.components.sorted(by: { $0.place < $1.place }) {
                var section = component.section
                if sections.last?.id == section.id { section = sections.removeLast() }
                section.status = max(section.status, component.status)
                // Pipelines of the same name share their counts.
                if let pipeline = component.pipeline, counts[pipeline] == 1 {
                    section.rates = rates?.rates(of: pipeline)
                }
                let own = DashboardRow.rows(of: component, timelines, since: since, at: now)
                section.rows += own.map(\.id)
                rows += own
                sections.append(section)
            }
            (self.sections, self.rows) = (sections, rows)
        }

        /// Returns this state for a client that has an earlier one: times that differ only by imprecise measurement
        /// stay as they were.
        func settled(on old: DashboardState) -> DashboardState {
            let before = Dictionary(old.rows.map { ($0.id, $0) }) { first, _ in first }
            return DashboardState(
                now: now, summary: summary, sections: sections,
                rows: rows.map { row in
                    var row = row
                    if let old = before[row.id] { row.keepTimes(of: old) }
                    return row
                })
        }

        private init(now: Int, summary: Summary, sections: [Section], rows: [DashboardRow]) {
            (self.now, self.summary, self.sections, self.rows) = (now, summary, sections, rows)
        }
    }

    extension HealthComponent {
        private var source: Int { Int(id.prefix { $0 != "/" && $0 != "#" }) ?? .max }

        /// The place on the page: pipelines first, then registries, then all other components, each in the monitor's
        /// order, and in a registry by name. The status does not matter, so that nothing moves when it changes.
        fileprivate var place: (kind: Int, source: Int, name: String, id: String) {
            (pipeline != nil ? 0 : group != nil ? 1 : 2, source, name, id)
        }

        /// Its section, without the rows.
        fileprivate var section: DashboardState.Section {
            if pipeline != nil {
                return DashboardState.Section(id: id, name: name, group: group, isRequired: isRequired)
            }
            // No component has this id.
            return DashboardState.Section(id: group == nil ? "others" : "all/\(source)", name: group, group: nil)
        }
    }

    extension DashboardRow {
        static func rows(
            of component: HealthComponent, _ timelines: Timelines, since: Int, at now: Int
        ) -> [DashboardRow] {
            if let problem = component.problem {
                return [
                    DashboardRow(
                        id: "\(component.id)#0", component: component.id, place: 0, name: component.name,
                        fullName: component.fullName(), kind: "queue", status: component.status,
                        facts: Facts(problem: problem), timeline: nil)
                ]
            }
            return component.policies.enumerated().map { place, policy in
                let kind = policy.kind.inWords
                // A policy without a name of its own is shown with the name of its kind.
                let name = policy.policy == policy.kind ? kind : policy.policy
                let known = timelines.timeline(of: .init(component: component.id, place: place), since: since)
                return DashboardRow(
                    id: "\(component.id)#\(place)", component: component.id, place: place,
                    name: component.pipeline == nil ? component.name : name,
                    fullName: component.fullName(name), kind: kind, status: component.status,
                    facts: Facts(policy, at: now),
                    timeline: (policy.status as? CircuitBreakerStatus).map {
                        Timeline(
                            state: $0.state, before: known?.before ?? $0.state, since: known?.since,
                            marks: known?.marks ?? [])
                    })
            }
        }
    }

    extension HealthComponent {
        /// - Parameter policy: A policy's name, which may begin with the component's.
        fileprivate func fullName(_ policy: String? = nil) -> String {
            let own = policy.map { $0 == name || $0.hasPrefix("\(name) ") ? $0 : "\(name) \($0)" } ?? name
            return (group.map { "\($0) " } ?? "") + own
        }
    }

    extension String {
        /// A Swift name as separate words.
        fileprivate var inWords: String {
            reduce(into: "") { words, letter in words += letter.isUppercase ? " \(letter.lowercased())" : "\(letter)" }
        }
    }
#endif
