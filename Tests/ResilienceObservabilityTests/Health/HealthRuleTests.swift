import Resilience
import ResilienceTraffic
import ResilienceObservability
import ResilienceSync
import Testing

@Suite struct HealthRuleTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let optional: HealthStatus
        let required: HealthStatus
        var policies: [PolicyHealth] = []
        var problem: String?

        init(
            _ description: String, _ optional: HealthStatus, _ required: HealthStatus,
            _ detail: (any PolicyStatusDetail)? = nil, problem: String? = nil
        ) {
            testDescription = description
            (self.optional, self.required) = (optional, required)
            if let detail {
                policies = [PolicyHealth(PolicyStatus(policy: "p", detail: detail), at: now)]
            }
            self.problem = problem
        }
    }

    struct OwnStatus: PolicyStatusDetail {
        static var kind: String { "own" }
        let isAllowed: Bool
    }

    private static func circuit(
        _ state: CircuitState, isAllowed: Bool? = nil, _ mode: CircuitBreaker.Mode = .automatic,
        for seconds: Int? = 0, calls: Int? = 0
    ) -> CircuitBreakerStatus {
        CircuitBreakerStatus(
            state: state, failureCount: 0, callCount: calls, isAllowed: isAllowed, mode: mode,
            since: seconds.map { now + .seconds(-$0) })
    }

    private static func throttled(_ rejection: Double) -> AdaptiveThrottleStatus {
        AdaptiveThrottleStatus(calls: 1_000, accepted: 499, rejection: rejection)
    }

    static let cases = [
        Case("nothing to tell", .up, .up),
        Case("closed", .up, .up, circuit(.closed)),
        Case("open", .degraded, .down, circuit(.open)),
        Case("open, and the break is over", .degraded, .degraded, circuit(.open, isAllowed: true)),
        Case("half-open", .degraded, .degraded, circuit(.halfOpen)),
        Case("half-open for a minute, and nobody calls", .up, .up, circuit(.halfOpen, for: 60)),
        Case("half-open for nearly a minute", .degraded, .degraded, circuit(.halfOpen, for: 59)),
        Case("half-open for long, with a probe", .degraded, .degraded, circuit(.halfOpen, isAllowed: false, for: 900)),
        Case(
            "half-open for long, and one of its probes was good", .degraded, .degraded,
            circuit(.halfOpen, for: 900, calls: 1)),
        Case("half-open for long in its ramp", .degraded, .degraded, circuit(.halfOpen, for: 900, calls: nil)),
        Case("restored half-open, and nobody calls", .up, .up, circuit(.halfOpen, for: nil)),
        Case("restored half-open, with a probe", .degraded, .degraded, circuit(.halfOpen, isAllowed: false, for: nil)),
        Case("open for long", .degraded, .down, circuit(.open, for: 900)),
        Case("restored open", .degraded, .down, circuit(.open, for: nil)),
        Case("isolated for long", .degraded, .down, circuit(.open, .isolated, for: 900)),
        Case("an adaptive throttle that rejects one call in a thousand", .degraded, .degraded, throttled(0.001)),
        Case("an adaptive throttle that rejects none", .up, .up, throttled(0)),
        Case("isolated", .degraded, .down, circuit(.open, .isolated)),
        Case("open, but disabled", .up, .up, circuit(.open, isAllowed: true, .disabled)),
        Case("open, but observing", .up, .up, circuit(.open, isAllowed: true, .observing)),
        Case("a throttle that is out of permits", .up, .up, ThrottleStatus(available: 0, timeUntilNext: .seconds(1))),
        Case(
            "a throttle that holds", .degraded, .degraded,
            ThrottleStatus(available: 0, timeUntilNext: .seconds(1), heldUntil: now + .seconds(1))),
        Case("a hold that is over", .up, .up, ThrottleStatus(available: 1, heldUntil: now)),
        Case("a full bulkhead", .up, .up, BulkheadStatus(limit: 1, inUse: 1, queueLimit: 1, queued: 0)),
        Case(
            "a full bulkhead and queue", .degraded, .degraded,
            BulkheadStatus(limit: 1, inUse: 1, queueLimit: 1, queued: 1)),
        Case(
            "a bulkhead that sheds", .degraded, .degraded,
            BulkheadStatus(limit: 1, inUse: 1, queueLimit: 9, queued: 2, isShedding: true)),
        Case(
            "a pool with an endpoint ejected", .up, .up,
            EndpointPoolStatus(endpoints: [
                EndpointStatus(endpoint: "a", isEjected: true), EndpointStatus(endpoint: "b"),
            ])
        ),
        Case(
            "a pool that panics", .degraded, .degraded,
            EndpointPoolStatus(
                endpoints: [EndpointStatus(endpoint: "a", isUsed: true, isEjected: true)], isPanicking: true)),
        Case("an empty pool", .degraded, .degraded, EndpointPoolStatus(endpoints: [])),
        Case("a chaos policy that is on", .degraded, .degraded, ChaosStatus(isOn: true, timeLeft: .seconds(5))),
        Case("a chaos policy that is off", .up, .up, ChaosStatus(isOn: false, faults: 9)),
        Case("a hedge without a copy left", .up, .up, HedgeStatus(delay: nil, samples: 0, hedgesLeft: 0)),
        Case("a policy of one's own that lets calls through", .up, .up, OwnStatus(isAllowed: true)),
        Case("a policy of one's own that does not", .degraded, .degraded, OwnStatus(isAllowed: false)),
        Case("a queue", .up, .up, SyncStatus(pending: 9)),
        Case(
            "a paused queue", .degraded, .degraded,
            SyncStatus(pending: 9, pausedUntil: now + .seconds(1))),
        Case("a pause that is over", .up, .up, SyncStatus(pending: 9, pausedUntil: now)),
        Case("a queue whose store fails", .degraded, .down, problem: "disk full"),
    ]

    private static let now = MonotonicInstant(nanoseconds: 1_000_000_000)

    @Test("the standard rule matches its documented table", arguments: cases)
    func standard(one: Case) {
        for (isRequired, expected) in [(false, one.optional), (true, one.required)] {
            let component = HealthComponent(
                id: "0", name: "c", isRequired: isRequired, policies: one.policies, problem: one.problem)
            #expect(HealthRule.standard.status(of: component) == expected)
        }
    }

    @Test("a worse status is greater, and a load balancer sees only down")
    func order() {
        #expect(HealthStatus.allCases.sorted() == [.up, .degraded, .down])
        #expect(HealthStatus.allCases.map(\.httpStatusCode) == [200, 200, 503])
    }
}
