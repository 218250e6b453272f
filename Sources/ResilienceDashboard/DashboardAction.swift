#if Dashboard
    import Resilience
    import ResilienceObservability

    /// What a reader of the page asks for, as the page sends it.
    struct DashboardAction: Decodable, Sendable, Equatable {
        enum Kind: String, Codable, Sendable, CaseIterable {
            /// Opens the circuit for as long as if it had opened by itself.
            case open
            /// Closes the circuit, with nothing counted.
            case close
            /// Rejects all calls until the next action.
            case isolate
            /// Lets the circuit decide again.
            case automatic
            /// Ends the hold of a throttle: the next call is its probe.
            case endHold
        }

        let component: String
        let place: Int
        let action: Kind

        /// - Returns: Whether there is such a circuit or throttle, and it can do that.
        func perform(on monitor: HealthMonitor) -> Bool {
            let policy = monitor.policy(of: component, at: place)
            if action == .endHold { return (policy as? Throttle)?.endHold() ?? false }
            guard let breaker = policy as? CircuitBreaker else { return false }
            switch action {
            case .open: return breaker.trip()
            case .close: breaker.reset(keepingGrowth: false)
            case .isolate: breaker.setMode(.isolated)
            case .automatic: breaker.setMode(.automatic)
            case .endHold: return false
            }
            return true
        }
    }
#endif
