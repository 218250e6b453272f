#if Dashboard
    import Resilience
    import ResilienceObservability

    /// What a reader of the page asks for, as the page sends it.
    struct DashboardAction: Decodable, Sendable, Equatable {
        let component: String
        let place: Int
        let action: String

        /// - Returns: Whether there is such a policy, and it can do that.
        func perform(on monitor: HealthMonitor) -> Bool {
            monitor.policy(of: component, at: place)?.perform(action) ?? false
        }
    }
#endif
