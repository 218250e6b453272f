#if Metrics
    import CoreMetrics
    import Resilience

    /// A time series of the metrics: all events with the same labels.
    struct SeriesKey: Hashable, Sendable {
        enum Family: UInt8, Sendable {
            case call, attempt, wait, event
        }

        let family: Family
        let pipeline: String?
        /// Empty for calls and attempts, which belong to the whole pipeline.
        let policy: String
        /// The outcome of a call or an attempt, or the kind of an event; empty for a wait.
        let kind: String

        static func attempt(_ outcome: CallOutcome, _ pipeline: String?) -> SeriesKey {
            SeriesKey(family: .attempt, pipeline: pipeline, policy: "", kind: outcome.rawValue)
        }

        static func call(_ outcome: CallOutcome, _ pipeline: String?) -> SeriesKey {
            SeriesKey(family: .call, pipeline: pipeline, policy: "", kind: outcome.rawValue)
        }
    }

    /// The handles of one series, made once.
    final class Series: Sendable {
        let counter: Counter?
        let timer: Timer?
        let recorder: Recorder?

        init(_ key: SeriesKey, _ factory: any MetricsFactory) {
            let pipeline = (key.pipeline ?? LabelValue.none).asLabel
            let (policy, kind) = (key.policy.asLabel, key.kind.asLabel)
            func dimensions(_ metric: Metric) -> [(String, String)] {
                Array(
                    zip(
                        metric.labels,
                        key.family == .event || key.family == .wait
                            ? [pipeline, policy, kind] : [pipeline, kind]))
            }
            func counter(_ metric: Metric) -> Counter {
                Counter(label: metric.name, dimensions: dimensions(metric), factory: factory)
            }
            func timer(_ metric: Metric) -> Timer {
                Timer(label: metric.name, dimensions: dimensions(metric), factory: factory)
            }
            let metric = Metric.callAttempts
            switch key.family {
            case .call:
                self.counter = counter(.calls)
                self.timer = timer(.callDuration)
                recorder = Recorder(
                    label: metric.name, dimensions: dimensions(metric), aggregate: true, factory: factory)
            case .attempt: (self.counter, self.timer, recorder) = (counter(.attempts), timer(.attemptDuration), nil)
            case .wait: (self.counter, self.timer, recorder) = (nil, timer(.waitDuration), nil)
            case .event: (self.counter, self.timer, recorder) = (counter(.events), nil, nil)
            }
        }

        func count(_ took: Duration, _ attempts: Int? = nil) {
            counter?.increment()
            timer?.recordNanoseconds(took.saturatedNanoseconds)
            if let attempts { recorder?.record(attempts) }
        }
    }

    /// The set of series: bounded, however many names there are.
    struct SeriesNames: Sendable {
        private struct Names: Hashable, Sendable {
            let pipeline: String?
            let policy: String
        }

        /// How many combinations of pipeline and policy are counted separately, 1 or more.
        let limit: Int
        /// How many kinds of events of one of them are counted separately. A policy has only a few, unless it makes
        /// them from data.
        static let kindLimit = 100
        private var kinds: [Names: Int] = [:]

        init(limit: Int) { self.limit = limit }

        /// Returns the key under which the events of a new key are counted: the key itself, or `other` in place of its
        /// names.
        mutating func admit(_ key: SeriesKey) -> SeriesKey {
            let names = Names(pipeline: key.pipeline, policy: key.policy)
            let known = kinds[names]
            guard known != nil || kinds.count < limit else { return key.overflow }
            guard known ?? 0 < Self.kindLimit else {
                return SeriesKey(
                    family: key.family, pipeline: key.pipeline, policy: key.policy, kind: LabelValue.other)
            }
            kinds[names, default: 0] += 1
            return key
        }
    }

    extension SeriesKey {
        /// The kinds of calls are few, and stay; the kinds of other policies' events may be many.
        fileprivate var overflow: SeriesKey {
            SeriesKey(
                family: family, pipeline: LabelValue.other, policy: policy.isEmpty ? "" : LabelValue.other,
                kind: family == .event ? LabelValue.other : kind)
        }
    }

    /// The series by their keys. A known one costs one lock and one lookup.
    final class SeriesTable: Sendable {
        private struct State: Sendable {
            var series: [SeriesKey: Series] = [:]
            var names: SeriesNames
        }

        private let factory: any MetricsFactory
        private let state: Locked<State>

        init(_ factory: any MetricsFactory, limit: Int) {
            self.factory = factory
            state = Locked(State(names: SeriesNames(limit: limit)))
        }

        subscript(key: SeriesKey) -> Series {
            if let known = state.withLock({ $0.series[key] }) { return known }
            let (admitted, known) = state.withLock { state in
                // Another thread may have been here meanwhile.
                if let known = state.series[key] { return (key, known as Series?) }
                let admitted = state.names.admit(key)
                return (admitted, state.series[admitted])
            }
            if let known { return known }
            // Outside of the lock: the factory is user code. Two handles of one name count together.
            let made = Series(admitted, factory)
            return state.withLock { state in
                if let other = state.series[admitted] { return other }
                state.series[admitted] = made
                return made
            }
        }

        /// Counts the end of an attempt or of a call.
        func count(_ measure: EventMeasure, of pipeline: String?) {
            switch measure {
            case .count: break
            case .attempt(let outcome, let took): self[.attempt(outcome, pipeline)].count(took)
            case .call(let outcome, let took, let attempts, let waits):
                self[.call(outcome, pipeline)].count(took, attempts)
                count(waits, of: pipeline)
            }
        }

        func count(_ waits: [PolicyWait], of pipeline: String?) {
            for wait in waits {
                let key = SeriesKey(family: .wait, pipeline: pipeline, policy: wait.policy, kind: "")
                self[key].timer?.recordNanoseconds(wait.duration.saturatedNanoseconds)
            }
        }
    }
#endif
