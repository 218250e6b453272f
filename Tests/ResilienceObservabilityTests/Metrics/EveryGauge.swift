import Resilience
import ResilienceSync

@testable import ResilienceObservability

/// Components that have a reading for each gauge.
enum EveryGauge {
    static let now = MonotonicInstant(nanoseconds: 1_000_000_000)

    static var components: [HealthComponent] {
        let details: [any PolicyStatusDetail] = [
            CircuitBreakerStatus(state: .open, failureCount: 5, timeRemaining: .seconds(3)),
            ThrottleStatus(available: 3), AdaptiveThrottleStatus(calls: 9, accepted: 3, rejection: 0.5),
            BulkheadStatus(
                limit: 4, inUse: 2, queueLimit: 9, queued: 1,
                adaptive: AdaptiveLimitStatus(range: 1...9, latency: .seconds(1), baseline: .seconds(1)),
                isShedding: true),
            HedgeStatus(delay: .seconds(1), samples: 100, hedgesLeft: 3), ChaosStatus(isOn: true),
            EndpointPoolStatus(endpoints: [EndpointStatus(endpoint: "10.0.0.1")]),
        ]
        let policies = details.map { PolicyHealth(PolicyStatus(policy: "p", detail: $0), at: now) }
        let flights = SingleFlightStatus(flights: 1, waiting: 2, abandoned: 0)
        return [
            HealthComponent(id: "0", name: "pay", pipeline: "pay", policies: policies, retriesLeft: ["retry": 3]),
            HealthComponent(id: "1", name: "c", cache: CacheStatus(count: 1, cost: 2, loads: flights)),
            HealthComponent(id: "2", name: "q", queue: QueueHealth(SyncStatus(pending: 1, rate: 2), at: now)),
        ]
    }
}
