#if Metrics
    import CoreMetrics
    import Resilience
    import Synchronization

    /// Counts the calls of one pipeline: the series of successful and of rejected calls are looked up once.
    final class SeriesMeter: CallMeter {
        private let table: SeriesTable
        private let pipeline: String?
        private let calls = KeptSeries()
        private let rejected = KeptSeries()
        private let attempts = KeptSeries()

        init(_ table: SeriesTable, _ pipeline: String?) { (self.table, self.pipeline) = (table, pipeline) }

        func count(_ end: some PolicyEventDetail) {
            let measure = end.measure
            switch measure {
            case .attempt(.success, let took):
                attempts.use(table, .attempt(.success, pipeline)) { $0.count(took) }
            case .call(.success, let took, let attempts, let waits):
                calls.use(table, .call(.success, pipeline)) { $0.count(took, attempts) }
                table.count(waits, of: pipeline)
            case .call(.rejected, let took, let attempts, []):
                rejected.use(table, .call(.rejected, pipeline)) { $0.count(took, attempts) }
            default: table.count(measure, of: pipeline)
            }
        }
    }

    /// A series that is looked up only once.
    private struct KeptSeries: ~Copyable, Sendable {
        /// Owns the series, and is set once.
        private let reference = Atomic<Unmanaged<Series>?>(nil)

        func use(_ table: SeriesTable, _ key: @autoclosure () -> SeriesKey, _ body: (Series) -> Void) {
            if let known = reference.load(ordering: .acquiring) { return known._withUnsafeGuaranteedRef(body) }
            let made = Unmanaged.passRetained(table[key()])
            body(made.takeUnretainedValue())
            let (isFirst, _) = reference.compareExchange(expected: nil, desired: made, ordering: .acquiringAndReleasing)
            if !isFirst { made.release() }
        }

        deinit { reference.load(ordering: .acquiring)?.release() }
    }
#endif
