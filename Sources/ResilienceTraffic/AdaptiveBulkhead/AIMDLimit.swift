/// Additive increase, multiplicative decrease: up by a constant each window, down by a factor after an overload.
///
/// TCP does so (Chiu and Jain, "Analysis of the Increase and Decrease Algorithms", 1989), and Netflix's
/// concurrency-limits with the same factor. Until the first overload the limit doubles. See
/// ``AdaptiveLimit/aimd(initial:in:increase:decrease:window:slowAfter:on:)``.
struct AIMDLimit: LimitAlgorithm {
    /// How many permits are added with each window in which at least half are in use.
    var increase: Double
    /// What the limit is multiplied with after an overload.
    var decrease: Double
    private var isStarting = true

    init(increase: Double, decrease: Double) {
        self.increase = increase
        self.decrease = decrease
    }

    var usesBaseline: Bool { false }

    mutating func limit(after window: LimitWindow) -> Double {
        guard window.isBusy else { return window.limit }
        return isStarting ? window.limit * 2 : window.limit + increase
    }

    mutating func limitAfterOverload(_ limit: Double) -> Double {
        isStarting = false
        return limit * decrease
    }
}
