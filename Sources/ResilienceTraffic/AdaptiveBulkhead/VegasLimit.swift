/// Moves the limit by small steps until a few calls wait on the other side: up while fewer wait, down while more do.
///
/// This is TCP Vegas (Brakmo and Peterson, 1995), with its estimate of the waiting calls: limit × (1 − baseline ÷
/// latency). The bounds are shares of the limit: in Netflix's concurrency-limits, fixed bounds were too slow at high
/// limits. Until the first queue the limit doubles. See ``AdaptiveLimit/vegas(initial:in:queue:window:slowAfter:on:)``.
struct VegasLimit: LimitAlgorithm {
    /// The limit may rise while less than this share of it waits on the other side; 0.01…0.9; at most `mostQueue`; by
    /// default 0.03.
    var leastQueue: Double
    /// The limit falls if a larger share of it than this waits on the other side; 0.01…0.9; by default 0.08.
    var mostQueue: Double
    private var isStarting = true

    init(queue: ClosedRange<Double>) { (leastQueue, mostQueue) = (queue.lowerBound, queue.upperBound) }

    mutating func limit(after window: LimitWindow) -> Double {
        let limit = window.limit
        let queued = limit * (1 - window.baseline / window.latency)
        let step = max(1, limit * 0.05)
        if queued > max(1, limit * mostQueue) {
            defer { isStarting = false }
            return limit - (isStarting ? queued : step)
        }
        guard window.isBusy, queued < limit * leastQueue else { return limit }
        return limit + (isStarting ? limit : step)
    }

    mutating func limitAfterOverload(_ limit: Double) -> Double {
        isStarting = false
        return limit * 0.9
    }
}
