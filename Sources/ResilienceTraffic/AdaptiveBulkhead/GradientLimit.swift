/// Lowers the limit to the share that found no queue; raises it by a share that doubles while there is no queue.
///
/// The share, baseline ÷ latency, is the gradient of Netflix's concurrency-limits and of Envoy, with the same minimum
/// of a half. By Little's law, limit × baseline ÷ latency is the other side's own concurrency. Near the limit at which
/// the last queue appeared, the limit grows by a twentieth. See
/// ``AdaptiveLimit/gradient(initial:in:tolerance:window:slowAfter:on:)``.
struct GradientLimit: LimitAlgorithm {
    private static let step = 0.05
    /// The share by which latencies may exceed the baseline, 0.01…10; by default 0.1.
    var tolerance: Double
    private var growth = 1.0
    /// The limit at the last sign of a queue.
    private var ceiling = Double.infinity

    init(tolerance: Double) { self.tolerance = tolerance }

    mutating func limit(after window: LimitWindow) -> Double {
        let gradient = window.baseline / window.latency
        if gradient * (1 + tolerance) < 1 {
            (growth, ceiling) = (Self.step, window.limit)
            return window.limit * max(0.5, gradient)
        }
        guard window.isBusy else { return window.limit }
        if (0.75 * ceiling...1.25 * ceiling).contains(window.limit) { growth = Self.step }
        defer { growth = min(1, growth * 2) }
        return window.limit + max(1, window.limit * growth)
    }

    mutating func limitAfterOverload(_ limit: Double) -> Double {
        (growth, ceiling) = (Self.step, limit)
        return limit * 0.9
    }
}
