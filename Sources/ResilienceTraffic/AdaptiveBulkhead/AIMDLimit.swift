/// Additive increase, multiplicative decrease: up by a constant each window, down by a factor after an overload.
///
/// TCP does so (Chiu and Jain, "Analysis of the Increase and Decrease Algorithms", 1989), as does Netflix's
/// concurrency-limits, with the same factor. Until the first overload the limit doubles. See
/// ``AdaptiveLimit/aimd(initial:in:increase:decrease:window:slowAfter:on:)``.
struct AIMDLimit: LimitAlgorithm {
    /// The number of permits added after each window in which at least half are in use; above 0; by default 1.
    var increase: Double
    /// The limit's factor after an overload, above 0 and below 1; by default 0.9.
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
