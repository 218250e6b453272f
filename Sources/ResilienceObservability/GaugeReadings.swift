import Resilience

/// The identity of a gauge: its metric and labels.
struct GaugeKey: Hashable, Sendable, Comparable {
    let metric: Metric
    /// The names of pipeline and policy.
    let names: [String]
    /// nil if the metric has no such label.
    let state: String?

    /// The gauge for the sum of all readings that have no gauge of their own.
    var overflow: GaugeKey {
        GaugeKey(metric: metric, names: names.map { _ in LabelValue.other }, state: state)
    }

    /// The label values, in the order of the metric's labels.
    var values: [String] { names + (state.map { [$0] } ?? []) }

    static func < (lhs: GaugeKey, rhs: GaugeKey) -> Bool {
        lhs.metric == rhs.metric ? lhs.values.lexicographicallyPrecedes(rhs.values) : lhs.metric < rhs.metric
    }
}

/// The state of all watched objects at one moment. Readings with the same names are added up.
struct GaugeReadings: Sendable {
    private(set) var values: [GaugeKey: Double] = [:]
    private let label: @Sendable (String) -> String

    /// - Parameter label: Returns a name as the value of a label.
    init(label: @escaping @Sendable (String) -> String = \.asLabel) { self.label = label }

    mutating func add(_ component: HealthComponent) {
        let pipeline = component.pipeline ?? LabelValue.none
        if component.isStored {
            add(.statusKnown, [pipeline, component.name], component.problem == nil ? 1 : 0)
        }
        for policy in component.policies {
            for reading in policy.readings {
                guard let metric = Metric(reading) else { continue }
                add(metric, [pipeline, policy.policy], state: reading.state, reading.value ?? 0)
            }
        }
    }

    private mutating func add(_ metric: Metric, _ names: [String], state: String? = nil, _ value: Double) {
        values[GaugeKey(metric: metric, names: names.map(label), state: state), default: 0] += value
    }

    /// Returns the readings of a bounded number of names: the readings of further names are added up under `other`.
    /// - Parameters:
    ///   - limit: The largest number of names, 1 or more.
    ///   - known: The names with existing gauges, which come first.
    func bounded(to limit: Int, preferring known: Set<[String]>) -> [GaugeKey: Double] {
        var names: Set<[String]> = []
        for name in Set(values.keys.map(\.names)) where known.contains(name) && names.count < limit {
            names.insert(name)
        }
        var bounded: [GaugeKey: Double] = [:]
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
            if names.count < limit { names.insert(key.names) }
            bounded[names.contains(key.names) ? key : key.overflow, default: 0] += value
        }
        return bounded
    }
}
