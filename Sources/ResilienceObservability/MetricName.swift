/// The names of all metrics, as they are in Prometheus: an exporter need not change them. ``ResilienceMetrics`` and
/// ``HealthReport/prometheusText(counts:)`` both write these.
///
/// The guide has them in a table, and the dashboard in Docs/Grafana uses them; tests hold all of them to this list.
enum MetricName: String, Sendable, Hashable, CaseIterable, Comparable {
    case healthStatus = "resilience_health_status"
    case components = "resilience_components"
    case componentsOmitted = "resilience_components_omitted"
    case componentStatus = "resilience_component_status"

    case calls = "resilience_calls_total"
    case callDuration = "resilience_call_duration_seconds"
    case callAttempts = "resilience_call_attempts"
    case attempts = "resilience_attempts_total"
    case attemptDuration = "resilience_attempt_duration_seconds"
    case waitDuration = "resilience_wait_duration_seconds"
    case events = "resilience_events_total"
    case eventsUncounted = "resilience_events_uncounted_total"

    case circuits = "resilience_circuits"
    case circuitFailures = "resilience_circuit_failures"
    case circuitProbe = "resilience_circuit_probe_seconds"
    case permitsInUse = "resilience_permits_in_use"
    case permitsLimit = "resilience_permits_limit"
    case queueLength = "resilience_queue_length"
    case shedding = "resilience_shedding"
    case adaptiveLatency = "resilience_adaptive_limit_latency_seconds"
    case adaptiveBaseline = "resilience_adaptive_limit_baseline_seconds"
    case throttleAvailable = "resilience_throttle_available"
    case throttleWait = "resilience_throttle_wait_seconds"
    case throttleHeld = "resilience_throttle_held_seconds"
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
    case syncUp = "resilience_sync_up"
    case syncPending = "resilience_sync_pending"
    case syncBytes = "resilience_sync_bytes"
    case syncInFlight = "resilience_sync_in_flight"
    case syncDead = "resilience_sync_dead"
    case syncOldestAge = "resilience_sync_oldest_age_seconds"
    case syncRate = "resilience_sync_rate"
    case syncPaused = "resilience_sync_paused_seconds"

    enum Kind: String, Sendable {
        case gauge, counter, histogram
    }

    var kind: Kind {
        switch self {
        case .calls, .attempts, .events, .eventsUncounted: .counter
        case .callDuration, .callAttempts, .attemptDuration, .waitDuration: .histogram
        case .healthStatus, .components, .componentsOmitted, .componentStatus, .circuits, .circuitFailures,
            .circuitProbe, .permitsInUse, .permitsLimit, .queueLength, .shedding, .adaptiveLatency, .adaptiveBaseline,
            .throttleAvailable, .throttleWait, .throttleHeld, .adaptiveRejection, .chaosIsOn, .retriesLeft, .hedgeDelay,
            .hedgesLeft, .cacheEntries, .cacheCost, .flights, .flightsWaiting, .flightsAbandoned, .endpoints,
            .endpointsEjected, .endpointPanic, .syncUp, .syncPending, .syncBytes, .syncInFlight, .syncDead,
            .syncOldestAge, .syncRate, .syncPaused:
            .gauge
        }
    }

    /// Whether only a report of a ``HealthMonitor`` has it.
    var isOfReport: Bool {
        [.healthStatus, .components, .componentsOmitted, .componentStatus, .eventsUncounted].contains(self)
    }

    /// The names of the metric's labels, in order.
    var labels: [String] {
        switch self {
        case .healthStatus, .componentsOmitted, .eventsUncounted: []
        case .components: ["status"]
        case .componentStatus: ["registry", "component"]
        case .calls, .callDuration, .callAttempts, .attempts, .attemptDuration: ["pipeline", "outcome"]
        case .waitDuration, .circuitFailures, .circuitProbe, .permitsInUse, .permitsLimit, .queueLength, .shedding,
            .adaptiveLatency, .adaptiveBaseline, .throttleAvailable, .throttleWait, .throttleHeld, .adaptiveRejection,
            .retriesLeft, .hedgeDelay, .hedgesLeft, .cacheEntries, .cacheCost, .flights, .flightsWaiting,
            .flightsAbandoned, .endpoints, .endpointsEjected, .endpointPanic, .chaosIsOn:
            ["pipeline", "policy"]
        case .events: ["pipeline", "policy", "event"]
        case .circuits: ["pipeline", "policy", "state"]
        case .syncUp, .syncPending, .syncBytes, .syncInFlight, .syncDead, .syncOldestAge, .syncRate, .syncPaused:
            ["queue"]
        }
    }

    /// What it shows, in one line.
    var help: String {
        switch self {
        case .healthStatus: "The status of the service: 0 up, 1 degraded, 2 down."
        case .components: "Components of the service, by status."
        case .componentsOmitted: "Components that are counted but not listed here."
        case .componentStatus: "The status of a component: 0 up, 1 degraded, 2 down."
        case .calls: "Calls of a pipeline, by how they ended."
        case .callDuration: "How long calls took, with all attempts and waits."
        case .callAttempts: "How many attempts a call made."
        case .attempts: "Attempts of a pipeline's calls, by how they ended."
        case .attemptDuration: "How long attempts took."
        case .waitDuration: "How long calls waited for a policy."
        case .events: "Events of policies and queues, by kind."
        case .eventsUncounted: "Events beyond the limit of keys, of any kind."
        case .circuits: "Circuits in this state."
        case .circuitFailures: "Failures that a circuit counts."
        case .circuitProbe: "Time to the next probe of an open circuit."
        case .permitsInUse: "Calls inside a bulkhead."
        case .permitsLimit: "Calls that a bulkhead lets in at the same time."
        case .queueLength: "Calls that wait for a bulkhead or a throttle."
        case .shedding: "Whether a bulkhead is overloaded and rejects waiting calls."
        case .adaptiveLatency: "How long the latest calls took."
        case .adaptiveBaseline: "How long a call takes that finds no queue."
        case .throttleAvailable: "Calls that a throttle would let through now."
        case .throttleWait: "How long until a new call could go."
        case .throttleHeld: "How much longer a throttle holds all calls."
        case .adaptiveRejection: "The share of calls that is rejected, 0 to 1."
        case .chaosIsOn: "Whether a chaos policy is on."
        case .retriesLeft: "Retries that the budget still allows."
        case .hedgeDelay: "How long a call waits before its first hedge."
        case .hedgesLeft: "Hedges that the budget still allows."
        case .cacheEntries: "Values and failures that a cache keeps."
        case .cacheCost: "What they cost together."
        case .flights: "Loads and flights that somebody waits for."
        case .flightsWaiting: "Calls that wait for them."
        case .flightsAbandoned: "Loads and flights that still run though nobody waits any more."
        case .endpoints: "Endpoints of a pool."
        case .endpointsEjected: "Endpoints of a pool that are ejected."
        case .endpointPanic: "Whether a pool uses all endpoints since too few are left."
        case .syncUp: "Whether the store of a sync queue answers."
        case .syncPending: "Mutations that are not acknowledged."
        case .syncBytes: "Bytes of the payloads of those mutations."
        case .syncInFlight: "Mutations that were sent and not answered."
        case .syncDead: "Dead mutations."
        case .syncOldestAge: "How long the first pending mutation has waited."
        case .syncRate: "Requests per second that the server is believed to allow."
        case .syncPaused: "How much longer a sync queue sends nothing."
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
