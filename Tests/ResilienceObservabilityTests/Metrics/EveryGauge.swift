import Resilience
import ResilienceTraffic
import ResilienceSync

@testable import ResilienceObservability

/// Components that have a reading for each gauge.
enum EveryGauge {
    static let now = MonotonicInstant(nanoseconds: 1_000_000_000)

    static var components: [HealthComponent] {
        let details: [any PolicyStatusDetail] = [
            CircuitBreakerStatus(state: .open, failureCount: 5, callCount: 9, timeRemaining: .seconds(3)),
            ThrottleStatus(available: 3), AdaptiveThrottleStatus(calls: 9, accepted: 3, rejection: 0.5),
            AdaptiveBulkheadStatus(
                bulkhead: BulkheadStatus(limit: 4, inUse: 2, queueLimit: 9, queued: 1, isShedding: true),
                adaptive: AdaptiveLimitStatus(range: 1...9, latency: .seconds(1), baseline: .seconds(1))),
            HedgeStatus(delay: .seconds(1), samples: 100, hedgesLeft: 3), ChaosStatus(isOn: true),
            EndpointPoolStatus(endpoints: [EndpointStatus(endpoint: "10.0.0.1")]),
        ]
        let flights = SingleFlightStatus(flights: 1, waiting: 2, abandoned: 0)
        return [
            component("0", "pay", pipeline: "pay", details + [RetryStatus(retriesLeft: 3)]),
            component("1", "c", [CacheStatus(count: 1, cost: 2, loads: flights)]),
            component("2", "q", [SyncStatus(pending: 1, rate: 2, estimatedTimeLeft: .seconds(1))], isStored: true),
        ]
    }

    private static func component(
        _ id: String, _ name: String, pipeline: String? = nil, _ details: [any PolicyStatusDetail],
        isStored: Bool = false
    ) -> HealthComponent {
        HealthComponent(
            id: id, name: name, pipeline: pipeline, isRequired: false,
            policies: details.map { PolicyHealth(PolicyStatus(policy: "p", detail: $0), at: now) }, isStored: isStored)
    }

    /// All gauges of this package's statuses.
    static var metrics: [Metric] {
        Set(components.flatMap(\.policies).flatMap(\.readings).compactMap { Metric($0) }).sorted()
    }
}
