#if Dashboard
    /// The settings of a dashboard.
    public struct DashboardConfiguration: Sendable, Hashable {
        /// Whether a reader of the page may open, close and isolate circuits and end the hold of a throttle by hand.
        ///
        /// false by default: then the page has no such buttons, and the service answers such a request with 403.
        ///
        /// Set it only where the page is behind your own authentication. The dashboard accepts such a request only from
        /// the page itself, which protects a reader from other sites; you decide who may read the page. It is not
        /// enough that only your network can reach the page: another site can point its own name to the service's
        /// address, and then act as the page in a browser inside the network (DNS rebinding). A login bound to the
        /// service's own name protects against that, and so does a proxy that accepts no other name.
        public var allowsActions: Bool
        /// How many pages may be open at the same time; at least 1, 16 by default.
        ///
        /// A further page gets a 503, shows that it has no connection, and tries again later.
        public var maxClients: Int
        /// How many components the page shows at most, the worst first; at least 1, 200 by default.
        public var limit: Int
        /// How far back the timelines and the bars of calls reach; a minute to a day, 10 minutes by default.
        public var history: Duration

        /// Creates settings.
        ///
        /// A number that is too small counts as the smallest allowed.
        ///
        /// - Parameters:
        ///   - allowsActions: Whether a reader of the page may change circuits and throttles by hand.
        ///   - maxClients: How many pages may be open at the same time.
        ///   - limit: How many components the page shows at most.
        ///   - history: How far back the timelines and the bars reach, at most a day.
        public init(
            allowsActions: Bool = false, maxClients: Int = 16, limit: Int = 200, history: Duration = .seconds(600)
        ) {
            self.allowsActions = allowsActions
            self.maxClients = maxClients
            self.limit = limit
            self.history = history
        }

        /// These settings with every number in its range.
        var checked: DashboardConfiguration {
            DashboardConfiguration(
                allowsActions: allowsActions, maxClients: max(1, maxClients), limit: max(1, limit),
                history: min(max(.seconds(60), history), .seconds(86_400)))
        }
    }
#endif
