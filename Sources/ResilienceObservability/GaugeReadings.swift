import Resilience
import ResilienceSync

/// What one gauge shows: its metric and labels.
struct GaugeKey: Hashable, Sendable, Comparable {
    let metric: MetricName
    /// In the order of the metric's labels: pipeline and policy, and perhaps the state; or the queue.
    let values: [String]

    /// The gauge that shows the sum of what has no gauge of its own.
    var overflow: GaugeKey {
        let names = zip(metric.labels, values).map { $0 == "state" ? $1 : LabelValue.other }
        return GaugeKey(metric: metric, values: names)
    }

    /// What is bounded: the names, without the state.
    var names: [String] { metric == .circuits ? Array(values.dropLast()) : values }

    static func < (lhs: GaugeKey, rhs: GaugeKey) -> Bool {
        lhs.metric == rhs.metric ? lhs.values.lexicographicallyPrecedes(rhs.values) : lhs.metric < rhs.metric
    }
}

/// The state of everything that is watched, at one moment. What has the same names is added up.
struct GaugeReadings: Sendable {
    private(set) var values: [GaugeKey: Double] = [:]
    private let label: @Sendable (String) -> String

    /// - Parameter label: Returns a name as the value of a label.
    init(label: @escaping @Sendable (String) -> String = \.asLabel) { self.label = label }

    mutating func add(_ component: HealthComponent) {
        for policy in component.policies { add(policy, in: component.pipeline) }
        for (retry, left) in component.retriesLeft ?? [:] {
            add(.retriesLeft, unlessUnlimited: left, [component.pipeline ?? LabelValue.none, retry])
        }
        let names = [LabelValue.none, component.name]
        if let cache = component.cache {
            add(.cacheEntries, names, Double(cache.count))
            add(.cacheCost, names, Double(cache.cost))
        }
        if let flights = component.flights ?? component.cache?.loads {
            add(.flights, names, Double(flights.flights))
            add(.flightsWaiting, names, Double(flights.waiting))
            add(.flightsAbandoned, names, Double(flights.abandoned))
        }
        if let queue = component.queue { add(queue, of: component.name) }
    }

    mutating func add(_ policy: PolicyHealth, in pipeline: String?) {
        let names = [pipeline ?? LabelValue.none, policy.policy]
        if let circuit = policy.circuit {
            for state in [CircuitState.closed, .halfOpen, .open] {
                add(.circuits, names + [state.label], circuit.state == state ? 1 : 0)
            }
            add(.circuitFailures, names, Double(circuit.failureCount))
            if let remaining = circuit.timeRemaining { add(.circuitProbe, names, remaining.writtenSeconds) }
        }
        if let bulkhead = policy.bulkhead {
            add(.permitsInUse, names, Double(bulkhead.inUse))
            add(.permitsLimit, unlessUnlimited: bulkhead.limit, names)
            add(.queueLength, names, Double(bulkhead.queued))
            add(.shedding, names, bulkhead.isShedding ? 1 : 0)
            // Unknown before the first window is over.
            if let latency = bulkhead.adaptive?.latency { add(.adaptiveLatency, names, latency.writtenSeconds) }
            if let baseline = bulkhead.adaptive?.baseline { add(.adaptiveBaseline, names, baseline.writtenSeconds) }
        }
        if let throttle = policy.throttle {
            add(.throttleAvailable, unlessUnlimited: throttle.available, names)
            add(.throttleWait, names, throttle.timeUntilNext.writtenSeconds)
            add(.throttleHeld, names, (policy.heldFor ?? .zero).writtenSeconds)
            add(.queueLength, names, Double(throttle.queued))
        }
        if let throttle = policy.adaptiveThrottle { add(.adaptiveRejection, names, throttle.rejection) }
        if let chaos = policy.chaos { add(.chaosIsOn, names, chaos.isOn ? 1 : 0) }
        if let hedge = policy.hedge {
            // Unknown as long as there are too few latencies.
            if let delay = hedge.delay { add(.hedgeDelay, names, delay.writtenSeconds) }
            add(.hedgesLeft, unlessUnlimited: hedge.hedgesLeft, names)
        }
        if let pool = policy.endpointPool {
            add(.endpoints, names, Double(pool.endpoints.count))
            add(.endpointsEjected, names, Double(pool.ejected))
            add(.endpointPanic, names, pool.isPanicking ? 1 : 0)
        }
    }

    private mutating func add(_ queue: QueueHealth, of name: String) {
        add(.syncUp, [name], queue.status == nil ? 0 : 1)
        guard let status = queue.status else { return }
        add(.syncPending, [name], Double(status.pending))
        add(.syncBytes, [name], Double(status.bytes))
        add(.syncInFlight, [name], Double(status.inFlight))
        add(.syncDead, [name], Double(status.dead))
        add(.syncOldestAge, [name], (status.oldestAge ?? .zero).writtenSeconds)
        if let rate = status.rate { add(.syncRate, [name], rate) }
        add(.syncPaused, [name], (queue.pausedFor ?? .zero).writtenSeconds)
    }

    /// What has no limit has no number to show.
    private mutating func add(_ metric: MetricName, unlessUnlimited number: Int, _ names: [String]) {
        if number != .max { add(metric, names, Double(number)) }
    }

    private mutating func add(_ metric: MetricName, _ names: [String], _ value: Double) {
        values[GaugeKey(metric: metric, values: names.map(label)), default: 0] += value
    }

    /// Returns the readings of a bounded number of names: those beyond it are added up under `other`.
    /// - Parameters:
    ///   - limit: How many names there may be, 1 or more.
    ///   - known: The names that have gauges already, which come first.
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

extension CircuitState {
    fileprivate var label: String {
        switch self {
        case .closed: "closed"
        case .open: "open"
        case .halfOpen: "half_open"
        }
    }
}
