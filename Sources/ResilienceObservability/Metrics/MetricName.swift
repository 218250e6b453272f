#if Metrics
    /// The names of all metrics, as they are in Prometheus: an exporter need not change them.
    ///
    /// The guide has them in a table, and the dashboard in Docs/Grafana uses them; tests hold both to this list.
    enum MetricName: String, Sendable, Hashable, CaseIterable, Comparable {
        case calls = "resilience_calls_total"
        case callDuration = "resilience_call_duration_seconds"
        case callAttempts = "resilience_call_attempts"
        case attempts = "resilience_attempts_total"
        case attemptDuration = "resilience_attempt_duration_seconds"
        case waitDuration = "resilience_wait_duration_seconds"
        case events = "resilience_events_total"

        case circuits = "resilience_circuits"
        case circuitFailures = "resilience_circuit_failures"
        case permitsInUse = "resilience_permits_in_use"
        case permitsLimit = "resilience_permits_limit"
        case queueLength = "resilience_queue_length"
        case shedding = "resilience_shedding"
        case adaptiveLatency = "resilience_adaptive_limit_latency_seconds"
        case adaptiveBaseline = "resilience_adaptive_limit_baseline_seconds"
        case throttleAvailable = "resilience_throttle_available"
        case throttleWait = "resilience_throttle_wait_seconds"
        case adaptiveRejection = "resilience_adaptive_throttle_rejection"
        case chaosIsOn = "resilience_chaos_on"
        case retriesLeft = "resilience_retries_left"
        case hedgeDelay = "resilience_hedge_delay_seconds"
        case hedgesLeft = "resilience_hedges_left"
        case cacheEntries = "resilience_cache_entries"
        case cacheCost = "resilience_cache_cost"
        case flights = "resilience_flights"
        case flightsWaiting = "resilience_flights_waiting"
        case flightsAbandoned = "resilience_flights_abandoned"
        case endpoints = "resilience_endpoints"
        case endpointsEjected = "resilience_endpoints_ejected"
        case endpointPanic = "resilience_endpoint_panic"
        case syncPending = "resilience_sync_pending"
        case syncInFlight = "resilience_sync_in_flight"
        case syncDead = "resilience_sync_dead"
        case syncOldestAge = "resilience_sync_oldest_age_seconds"
        case syncRate = "resilience_sync_rate"

        /// The names of the metric's labels, in order.
        var labels: [String] {
            switch self {
            case .calls, .callDuration, .callAttempts, .attempts, .attemptDuration: ["pipeline", "outcome"]
            case .waitDuration, .circuitFailures, .permitsInUse, .permitsLimit, .queueLength, .shedding,
                .adaptiveLatency, .adaptiveBaseline, .throttleAvailable, .throttleWait, .adaptiveRejection,
                .retriesLeft, .hedgeDelay, .hedgesLeft, .cacheEntries, .cacheCost, .flights, .flightsWaiting,
                .flightsAbandoned, .endpoints, .endpointsEjected, .endpointPanic, .chaosIsOn:
                ["pipeline", "policy"]
            case .events: ["pipeline", "policy", "event"]
            case .circuits: ["pipeline", "policy", "state"]
            case .syncPending, .syncInFlight, .syncDead, .syncOldestAge, .syncRate: ["queue"]
            }
        }

        static func < (lhs: MetricName, rhs: MetricName) -> Bool { lhs.rawValue < rhs.rawValue }
    }

    /// Names that do not come from a policy.
    enum LabelValue {
        /// The pipeline of a policy that is used without one.
        static let none = "none"
        /// What comes after as many other names as are told apart.
        static let other = "other"
    }
#endif
