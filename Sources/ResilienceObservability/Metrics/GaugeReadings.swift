#if Metrics
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

        mutating func add(_ pipeline: Pipeline) {
            for status in pipeline.statuses { add(status, in: pipeline.name) }
            for retry in pipeline.policies(of: Retry.self) {
                guard let budget = retry.budget else { continue }
                add(.retriesLeft, [pipeline.name, retry.name], Double(budget.retriesLeft))
            }
        }

        mutating func add(_ status: PolicyStatus, in pipeline: String?) {
            let names = [pipeline ?? LabelValue.none, status.policy]
            switch status.detail {
            case let circuit as CircuitBreakerStatus:
                for state in [CircuitState.closed, .halfOpen, .open] {
                    add(.circuits, names + [state.label], circuit.state == state ? 1 : 0)
                }
                add(.circuitFailures, names, Double(circuit.failureCount))
            case let bulkhead as BulkheadStatus:
                add(.permitsInUse, names, Double(bulkhead.inUse))
                add(.permitsLimit, names, Double(bulkhead.limit))
                add(.queueLength, names, Double(bulkhead.queued))
                add(.shedding, names, bulkhead.isShedding ? 1 : 0)
                // Unknown before the first window is over.
                if let latency = bulkhead.adaptive?.latency { add(.adaptiveLatency, names, latency.inSeconds) }
                if let baseline = bulkhead.adaptive?.baseline { add(.adaptiveBaseline, names, baseline.inSeconds) }
            case let throttle as ThrottleStatus:
                // A throttle without a rate has no number of calls to show.
                if throttle.available != .max { add(.throttleAvailable, names, Double(throttle.available)) }
                add(.throttleWait, names, throttle.timeUntilNext.inSeconds)
                add(.queueLength, names, Double(throttle.queued))
            case let throttle as AdaptiveThrottleStatus:
                add(.adaptiveRejection, names, throttle.rejection)
            case let chaos as ChaosStatus:
                add(.chaosIsOn, names, chaos.isOn ? 1 : 0)
            case let hedge as HedgeStatus:
                // Unknown as long as there are too few latencies.
                if let delay = hedge.delay { add(.hedgeDelay, names, delay.inSeconds) }
                add(.hedgesLeft, names, Double(hedge.hedgesLeft))
            case let pool as EndpointPoolStatus:
                add(.endpoints, names, Double(pool.endpoints.count))
                add(.endpointsEjected, names, Double(pool.ejected))
                add(.endpointPanic, names, pool.isPanicking ? 1 : 0)
            default: break
            }
        }

        mutating func add(_ status: CacheStatus, of cache: String) {
            let names = [LabelValue.none, cache]
            add(.cacheEntries, names, Double(status.count))
            add(.cacheCost, names, Double(status.cost))
            add(status.loads, of: cache)
        }

        mutating func add(_ status: SingleFlightStatus, of flights: String) {
            let names = [LabelValue.none, flights]
            add(.flights, names, Double(status.flights))
            add(.flightsWaiting, names, Double(status.waiting))
            add(.flightsAbandoned, names, Double(status.abandoned))
        }

        mutating func add(_ status: SyncStatus, of queue: String) {
            add(.syncPending, [queue], Double(status.pending))
            add(.syncInFlight, [queue], Double(status.inFlight))
            add(.syncDead, [queue], Double(status.dead))
            add(.syncOldestAge, [queue], status.oldestAge?.inSeconds ?? 0)
            if let rate = status.rate { add(.syncRate, [queue], rate) }
        }

        private mutating func add(_ metric: MetricName, _ names: [String], _ value: Double) {
            values[GaugeKey(metric: metric, values: names.map(\.asLabel)), default: 0] += value
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
#endif
