#if Dashboard
    import Resilience
    import ResilienceObservability

    /// The numbers of ended calls, by outcome.
    struct CallCounts: Sendable, Equatable {
        /// All calls, including successes and cancelled calls.
        var calls = 0
        var failures = 0
        var rejections = 0

        /// Returns the calls that a counter has counted, by the name of their pipeline.
        static func byPipeline(_ counts: EventCounts) -> [String: CallCounts] {
            var all: [String: CallCounts] = [:]
            for (key, count) in counts.byKey where key.policy == "call" && !key.kind.hasPrefix("attempt") {
                guard let pipeline = key.pipeline else { continue }
                var ended = CallCounts(calls: count)
                switch key.kind {
                case "succeeded", "cancelled": break
                case "rejected": ended.rejections = count
                // Every other kind is a failure.
                default: ended.failures = count
                }
                all[bounded(pipeline), default: CallCounts()] += ended
            }
            return all
        }

        static func += (sum: inout CallCounts, other: CallCounts) {
            sum.calls = sum.calls.saturatingAdding(other.calls)
            sum.failures = sum.failures.saturatingAdding(other.failures)
            sum.rejections = sum.rejections.saturatingAdding(other.rejections)
        }

        /// The growth since an earlier reading. If a number has shrunk, it was reset to zero in between.
        func since(_ earlier: CallCounts) -> CallCounts {
            func grown(_ number: Int, _ before: Int) -> Int {
                number < before ? number : number.saturatingSubtracting(before)
            }
            return CallCounts(
                calls: grown(calls, earlier.calls), failures: grown(failures, earlier.failures),
                rejections: grown(rejections, earlier.rejections))
        }
    }

    /// The pipelines' calls per second in the last minutes, from readings of a counter that only grows. Times are
    /// milliseconds on the dashboard's clock, and never go back.
    ///
    /// It holds a fixed amount of data for each pipeline that has had a call in that time.
    struct CallRates: Sendable {
        /// The numbers that a section of the page shows.
        struct Rates: Sendable, Equatable, Encodable {
            /// Per second, over the last half minute.
            let calls: Double
            let failures: Double
            let rejections: Double
            /// The calls, failures and rejections in each bar, the newest bar last; a missing earlier bar had no calls.
            let bars: [[Int]]
        }

        private struct Series {
            var total: CallCounts
            /// The counts that each of the last readings added.
            var recent: [CallCounts]
            /// The newest bar is the last, and still grows.
            var bars: [CallCounts]
        }

        /// The time between two readings, in milliseconds.
        static let step = 5_000
        /// The number of readings behind each rate.
        static let recentCount = 6
        /// The largest number of bars.
        static let barCount = 120

        /// The length of a bar in milliseconds, in whole steps.
        let barLength: Int
        /// The end of the newest bar; nil before the first reading.
        private(set) var barsEnd: Int?
        /// Whether some calls are not counted by pipeline. Then the rates of a pipeline without counts are unknown.
        var isPartial = false
        private var series: [String: Series] = [:]
        private var times: [Int] = []

        /// - Parameter history: How far back the bars reach, in milliseconds.
        init(history: Int) {
            barLength = max(1, (history - 1) / (Self.barCount * Self.step) + 1) * Self.step
        }

        /// - Parameters:
        ///   - totals: The counts until now, by pipeline.
        ///   - time: The time of the reading.
        mutating func note(_ totals: [String: CallCounts], at time: Int) {
            let isFirst = times.isEmpty
            let time = max(time, times.last ?? time)
            // The calls of a reading ended in the step before it, and the reading may be a little late.
            let middle = max(Self.step / 2, time) - Self.step / 2
            let end = (middle - middle % barLength).saturatingAdding(barLength)
            let newBars = min(Self.barCount, end.saturatingSubtracting(barsEnd ?? end) / barLength)
            barsEnd = end
            times = (times + [time]).suffix(Self.recentCount + 1)
            for name in Set(series.keys).union(totals.keys) {
                let total = totals[name] ?? CallCounts()
                var one = series[name] ?? Series(total: isFirst ? total : CallCounts(), recent: [], bars: [])
                let ended = total.since(one.total)
                one.total = total
                one.recent = (one.recent + [ended]).suffix(Self.recentCount)
                one.bars = (one.bars + Array(repeating: CallCounts(), count: newBars)).suffix(Self.barCount)
                if one.bars.isEmpty { one.bars = [ended] } else { one.bars[one.bars.count - 1] += ended }
                if let first = one.bars.firstIndex(where: { $0.calls > 0 }) { one.bars.removeFirst(first) }
                // A pipeline without calls keeps only its total, and is removed if the counter has dropped it.
                if one.bars.allSatisfy({ $0.calls == 0 }) { (one.recent, one.bars) = ([], []) }
                series[name] = total == CallCounts() && one.bars.isEmpty ? nil : one
            }
        }

        /// - Returns: The rates of a pipeline's calls, zero if it has no calls; nil before the second reading, or if
        ///   the rates are unknown.
        func rates(of pipeline: String) -> Rates? {
            guard let first = times.first, let last = times.last, first < last else { return nil }
            let one = series[pipeline]
            if isPartial, one == nil { return nil }
            var sum = CallCounts()
            for ended in one?.recent ?? [] { sum += ended }
            let length = Double(last.saturatingSubtracting(first))
            func perSecond(_ count: Int) -> Double { (Double(count) * 100_000 / length).rounded() / 100 }
            return Rates(
                calls: perSecond(sum.calls), failures: perSecond(sum.failures), rejections: perSecond(sum.rejections),
                bars: one?.bars.map { [$0.calls, $0.failures, $0.rejections] } ?? [])
        }
    }
#endif
