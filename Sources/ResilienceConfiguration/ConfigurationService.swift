#if Configuration && ServiceLifecycle
    public import ServiceLifecycle

    /// Follows a configuration as a service: see ``ConfiguredPipelinesOf/run()``.
    ///
    /// ```swift
    /// let group = ServiceGroup(
    ///     services: [ConfigurationService(pipelines), server],
    ///     gracefulShutdownSignals: [.sigterm], logger: logger)
    /// try await group.run()
    /// ```
    public struct ConfigurationService: Service {
        private let follow: @Sendable () async -> Void

        /// Creates the service.
        ///
        /// - Parameter pipelines: The pipelines and registries whose settings follow the configuration.
        public init<Settings>(_ pipelines: ConfiguredPipelinesOf<Settings>) { follow = { await pipelines.run() } }

        /// Follows the configuration until a graceful shutdown, or until the task is cancelled.
        ///
        /// Neither is an error.
        public func run() async {
            await cancelWhenGracefulShutdown { await follow() }
        }
    }
#endif
