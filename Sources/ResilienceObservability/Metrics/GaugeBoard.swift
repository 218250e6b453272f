#if Metrics
    import CoreMetrics

    /// The existing gauges. Samples set them one after another. A gauge that is missing from a sample is
    /// removed: otherwise an evicted circuit would be shown as open for ever.
    actor GaugeBoard {
        private let factory: any MetricsFactory
        private let limit: Int
        private var meters: [GaugeKey: Meter] = [:]
        /// The labels of the first gauge of a name. A backend remembers these labels, and may trap if a later gauge of
        /// the name has others.
        private var labels: [String: [String]] = [:]

        init(_ factory: any MetricsFactory, limit: Int) {
            self.factory = factory
            self.limit = limit
        }

        func show(_ readings: GaugeReadings) {
            let values = readings.bounded(to: limit, preferring: Set(meters.keys.map(\.names)))
            for (key, meter) in meters where values[key] == nil {
                meter.destroy()
                meters[key] = nil
            }
            for (key, value) in values.sorted(by: { $0.key < $1.key }) { meter(for: key)?.set(value) }
        }

        /// - Returns: nil if other gauges of the name have other labels.
        private func meter(for key: GaugeKey) -> Meter? {
            if let known = meters[key] { return known }
            if labels[key.metric.name] == nil { labels[key.metric.name] = key.metric.labels }
            guard labels[key.metric.name] == key.metric.labels else { return nil }
            let made = Meter(
                label: key.metric.name, dimensions: Array(zip(key.metric.labels, key.values)), factory: factory)
            meters[key] = made
            return made
        }
    }
#endif
