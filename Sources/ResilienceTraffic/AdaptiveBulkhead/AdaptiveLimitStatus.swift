import Resilience

/// The values that an ``AdaptiveLimit`` has learned so far.
public struct AdaptiveLimitStatus: Sendable, Hashable, Codable {
    /// The lowest limit.
    public let lowest: Int
    /// The highest limit.
    ///
    /// `Int.max` is written as null.
    public let highest: Int
    /// The mean latency of the last window; nil before the first is over.
    public let latency: Duration?
    /// The latency of a call that finds no queue on the other side; nil before the first window is over.
    public let baseline: Duration?
    /// Whether the limit is lowered to measure the baseline.
    public let isSearching: Bool

    /// Creates a status, for tests and previews.
    ///
    /// - Parameters:
    ///   - range: The bounds of the limit.
    ///   - latency: The mean latency of the last window; nil before the first is over.
    ///   - baseline: The latency of a call that finds no queue; nil before the first window is over.
    ///   - isSearching: Whether the limit is lowered to measure the baseline.
    public init(
        range: ClosedRange<Int>, latency: Duration? = nil, baseline: Duration? = nil, isSearching: Bool = false
    ) {
        lowest = range.lowerBound
        highest = range.upperBound
        self.latency = latency
        self.baseline = baseline
        self.isSearching = isSearching
    }

    private enum CodingKeys: String, UnlimitedCodingKey {
        case lowest, highest, isSearching
        case latency = "latencySeconds"
        case baseline = "baselineSeconds"
    }
}
