#if Configuration && ServiceLifecycle
    public import ServiceLifecycle

    /// Follows a configuration as a service: see ``ConfiguredPipelines/run()``.
    ///
    /// ```swift
    /// let group = ServiceGroup(
    ///     services: [ConfigurationService(pipelines), server],
    ///     gracefulShutdownSignals: [.sigterm], logger: logger)
    /// try await group.run()
    /// ```
    public struct ConfigurationService: Service {
        let pipelines: ConfiguredPipelines

        /// Creates the service.
        /// - Parameter pipelines: The pipelines and registries whose settings follow the configuration.
        public init(_ pipelines: ConfiguredPipelines) { self.pipelines = pipelines }

        /// Follows the configuration until a graceful shutdown, or until the task is cancelled. Neither is an error.
        public func run() async {
            let pipelines = pipelines
            await cancelWhenGracefulShutdown { await pipelines.run() }
        }
    }
#endif
