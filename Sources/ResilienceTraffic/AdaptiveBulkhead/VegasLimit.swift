/// By small steps to where a few calls wait on the other side: up while fewer wait, down while more do.
///
/// TCP Vegas does so (Brakmo and Peterson, 1995); like this, it estimates how many wait: limit × (1 − baseline ÷
/// latency). The bounds are shares of the limit, as in Netflix's concurrency-limits, where fixed ones were too slow at
/// high limits. Until a queue first shows the limit doubles. See
/// ``AdaptiveLimit/vegas(initial:in:queue:window:slowAfter:on:)``.
struct VegasLimit: LimitAlgorithm {
    /// Below which share of the limit that waits on the other side the limit is raised; at most `mostQueue`.
    var leastQueue: Double
    /// Above which share of the limit that waits on the other side the limit is lowered.
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
