import Resilience
import ResilienceObservability
import ResilienceSync
import Testing

/// On the system's threads, so that the thread sanitizer can find races.
@Suite(.timeLimit(.minutes(20))) struct HealthMonitorConcurrencyTests {
    @Test("reports on many threads, while circuits change and a queue is read, count every component once")
    func volley() async {
        let breakers = CircuitBreakerRegistry<Int> { CircuitBreaker("\($0)") }
        for key in 0..<20 { _ = breakers[key] }
        let store = TotalsStore()
        store.answer(.totals(QueueTotals(pending: 3)))
        let monitor = HealthMonitor(limit: 5, queueTimeout: .seconds(86_400)) {
            HealthSource(breakers, name: "endpoints")
            SyncQueue(idle: "outbox", store, on: .system)
        }
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for round in 0..<50 {
                        let breaker = breakers[(task + round) % 20]
                        if task < 4 { breaker.trip() } else { breaker.reset(keepingGrowth: false) }
                        let report = await monitor.report()
                        let totals = report.totals
                        #expect(totals.components == 21 && totals.omitted == 16 && report.components.count == 5)
                        // On a busy machine a break may end before the circuit is closed.
                        #expect(totals.degraded == totals.states.values.reduce(0, +) && totals.down == 0)
                        #expect(report.status == (totals.degraded == 0 ? .up : .degraded))
                    }
                }
            }
        }
        for breaker in breakers.values.values { breaker.reset(keepingGrowth: false) }
        let last = await monitor.report(limit: 50)
        #expect(last.status == .up && last.components.count == 21)
        #expect(last.components.compactMap { ($0.policies.first?.status as? SyncStatus)?.pending } == [3])
        #expect(store.readings > 0 && store.readings <= 401)
    }
}
