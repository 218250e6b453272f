#if Dashboard
    import Resilience
    import ResilienceObservability

    /// A reader's action, as the page sends it.
    struct DashboardAction: Decodable, Sendable, Equatable {
        let component: String
        let place: Int
        let action: String

        /// - Returns: Whether the policy exists and supports the action.
        func perform(on monitor: HealthMonitor) -> Bool {
            monitor.policy(of: component, at: place)?.perform(action) ?? false
        }
    }
#endif
