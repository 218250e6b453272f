#if Dashboard
    import Hummingbird
    import HummingbirdTesting
    import Resilience
    import ResilienceDashboard
    import ResilienceObservability
    import TestSupport
    import Testing

    /// The code of the module's page, unchanged.
    @Suite(.timeLimit(.minutes(20)), .responsive) struct DashboardExamples {
        @Test("two lines add the page and /health, and another page can open circuits")
        func twoLines() async throws {
            let router = Router()
            let health = HealthMonitor("orders") { CircuitBreaker("payments") }
            let counter = EventCounter()
            router.addResilienceDashboard(health, counting: counter)
            router.addHealth(health)
            router.addResilienceDashboard(
                health, at: "/internal/resilience",
                configuration: DashboardConfiguration(allowsActions: true))
            try await Application(router: router).test(.router) { client in
                for path in ["/resilience", "/internal/resilience", "/health"] {
                    try await client.execute(uri: path, method: .get) { #expect($0.status == .ok, "\(path)") }
                }
            }
        }
    }
#endif
