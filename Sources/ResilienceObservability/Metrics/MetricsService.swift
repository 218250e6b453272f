#if Metrics && ServiceLifecycle
    public import Resilience
    public import ServiceLifecycle

    /// Reads the gauges of metrics at intervals, as a service: see ``ResilienceMetrics/run(every:on:)``.
    ///
    /// ```swift
    /// let group = ServiceGroup(
    ///     services: [MetricsService(metrics), server], gracefulShutdownSignals: [.sigterm], logger: logger)
    /// ```
    public struct MetricsService: Service {
        let metrics: ResilienceMetrics
        let interval: Duration
        let timeBase: any TimeBase

        /// Creates the service.
        ///
        /// - Parameters:
        ///   - metrics: The metrics whose gauges are read.
        ///   - interval: The time between two samples; above zero, 10 seconds by default.
        ///   - timeBase: The clock that measures the interval.
        public init(
            _ metrics: ResilienceMetrics, every interval: Duration = .seconds(10), on timeBase: any TimeBase = .system
        ) {
            self.metrics = metrics
            self.interval = interval
            self.timeBase = timeBase
        }

        /// Reads the gauges at intervals until a graceful shutdown, or until the task is cancelled; then once more.
        ///
        /// Neither is an error.
        public func run() async {
            let (metrics, interval, timeBase) = (metrics, interval, timeBase)
            await cancelWhenGracefulShutdown { await metrics.run(every: interval, on: timeBase) }
            // In a new task: a cancelled task would not wait for a store.
            await Task { await metrics.sample() }.value
        }
    }
#endif
