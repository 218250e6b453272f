#if Metrics
    public import CoreMetrics
    public import Resilience

    /// An observer that turns the events of policies into metrics of swift-metrics, and the state of watched objects
    /// into gauges.
    ///
    /// ```swift
    /// let metrics = ResilienceMetrics()
    /// let pipeline = Pipeline("activities", isIdempotent: true, observers: PolicyObservers(metrics)) { Retry() }
    /// metrics.watch { pipeline }
    /// await metrics.run(every: .seconds(10))     // in a task or service of its own
    /// ```
    ///
    /// Pipelines and policies send events to the observer: calls by outcome, durations of calls, attempts and waits,
    /// and the actions of policies. But the state of circuits, permits, queues and budgets has to be read: ``sample()``
    /// reads all watched objects once, and ``run(every:on:)`` repeats that.
    ///
    /// The names have the form that Prometheus expects, such as `resilience_calls_total`. The number of label values is
    /// bounded: beyond `maxNames` combinations of pipeline and policy, events and gauges are added up under `other`.
    ///
    /// See <doc:LogsMetricsTracesGuide> for the table of names.
    public final class ResilienceMetrics: MeteringObserver {
        private let series: SeriesTable
        private let gauges: GaugeBoard
        private let sources = Locked<[HealthSource]>([])

        /// Creates an observer that watches nothing yet.
        ///
        /// - Parameters:
        ///   - factory: Makes the metrics. By default the factory of `MetricsSystem`: set that up first.
        ///   - maxNames: How many combinations of pipeline and policy are counted separately, 1 or more; 1000 by
        ///     default. Events and gauges each have this limit.
        public init(factory: any MetricsFactory = MetricsSystem.factory, maxNames: Int = 1000) {
            let limit = SettingChecks("ResilienceMetrics").atLeast(1, maxNames, "maxNames")
            series = SeriesTable(factory, limit: limit)
            gauges = GaugeBoard(factory, limit: limit)
        }

        public func receive(_ event: PolicyEvent) {
            let measure = event.detail.measure
            guard case .count(let amount) = measure else { return series.count(measure, of: event.pipeline) }
            let key = SeriesKey(
                family: .event, pipeline: event.pipeline, policy: event.policy, kind: event.detail.kind)
            series[key].counter?.increment(by: max(0, amount))
        }

        public func meter(of pipeline: String) -> any CallMeter { SeriesMeter(series, pipeline) }

        // MARK: Gauges

        /// Watches pipelines, policies, registries, caches and queues from now on: their state becomes gauges.
        ///
        /// ```swift
        /// metrics.watch {
        ///     pipeline
        ///     breakers
        ///     outbox
        /// }
        /// ```
        ///
        /// Gauges are labelled with the names of pipelines and policies, not with a registry's keys: name a registry's
        /// values after their keys. Gauges of the same names are added up: do not watch the same policy twice. Reading
        /// does not count as a use of a key. While the store of a queue can't be read, the queue's only gauge is
        /// `resilience_status_known`, which is 0.
        /// - Parameter sources: The objects to watch.
        public func watch(@HealthSourceBuilder _ sources: () -> [HealthSource]) {
            let added = sources()
            self.sources.withLock { $0 += added }
        }

        /// Reads all watched objects once, and sets the gauges.
        ///
        /// Gauges of objects that no longer exist are removed.
        public func sample() async {
            var readings = GaugeReadings()
            await sources.withLock { $0 }.components(limit: .seconds(1), patience: .seconds(1)) { _, component in
                readings.add(component)
            }
            await gauges.show(readings)
        }

        /// Reads all watched objects, now and after each interval, until the task is cancelled.
        ///
        /// In a service of `swift-service-lifecycle`, call it in `cancelWhenGracefulShutdown`: otherwise it does not
        /// return when the services shut down.
        /// - Parameters:
        ///   - interval: The time between two samples; above zero, 10 seconds by default. Scrape or export no more
        ///     often than that.
        ///   - timeBase: The clock that measures the interval.
        public func run(every interval: Duration = .seconds(10), on timeBase: any TimeBase = .system) async {
            let interval = SettingChecks("ResilienceMetrics").aboveZero(interval, "interval")
            while !Task.isCancelled {
                await sample()
                // The sleep throws only if the task is cancelled.
                try? await timeBase.sleep(for: interval)
            }
        }
    }
#endif
