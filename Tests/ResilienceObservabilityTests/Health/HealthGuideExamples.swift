import Resilience
import ResilienceObservability
import TestSupport
import Testing

/// The code of the guide, unchanged.
@Suite struct HealthGuideExamples {
    @Test("a monitor reports a required pipeline and an optional one")
    func monitor() async {
        let payments = Pipeline("payments") { CircuitBreaker("payments") }
        let breaker = CircuitBreaker("search")
        let search = Pipeline("search") { breaker }
        let health = HealthMonitor("orders") {
            HealthSource(payments, isRequired: true)
            search
        }
        breaker.trip()
        let report = await health.report()
        #expect(report.status.httpStatusCode == 200 && report.components.count == 2)
    }
}
