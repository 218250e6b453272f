/// A rule that computes an ``AdaptiveLimit`` from the latencies of calls.
///
/// Write your own, and pass it to ``AdaptiveLimit/custom(_:initial:in:window:slowAfter:on:)``. It is asked once per
/// window and after an overload, never concurrently. It may return values outside the bounds; NaN leaves the limit as
/// it is.
///
/// - Important: It is asked under the bulkhead's lock. It must not use the bulkhead.
public protocol LimitAlgorithm: Sendable, Hashable {
    /// Whether the rule compares latencies with the baseline.
    ///
    /// If so, the bulkhead sometimes measures the baseline again, with half of the limit. True by default.
    var usesBaseline: Bool { get }

    /// Returns the limit after a window of calls.
    ///
    /// - Parameter window: The measurements of the window's calls.
    mutating func limit(after window: LimitWindow) -> Double

    /// Returns the limit after an overload: the other side asked for fewer calls, or a window was too slow.
    ///
    /// Calls that began before this overload cause no further one.
    /// - Parameter limit: The limit until now.
    mutating func limitAfterOverload(_ limit: Double) -> Double
}

extension LimitAlgorithm {
    public var usesBaseline: Bool { true }
}

/// The measurements of a window of calls, for a ``LimitAlgorithm``.
public struct LimitWindow: Sendable, Hashable {
    /// The limit that the calls had.
    ///
    /// Its whole part is the number of permits.
    public let limit: Double
    /// The mean latency of the window's calls minus its standard error; the subtraction stops at ``baseline``.
    ///
    /// Above zero.
    public let latency: Duration
    /// The latency of a call that finds no queue on the other side.
    ///
    /// Above zero.
    public let baseline: Duration
    /// Whether at least half of the permits were in use at some moment.
    ///
    /// If not, the limit held back no call and should not rise.
    public let isBusy: Bool

    /// Creates a window, to test an algorithm.
    ///
    /// - Parameters:
    ///   - limit: The limit that the calls had.
    ///   - latency: The latency of a call; above zero.
    ///   - baseline: The latency of a call that finds no queue; above zero.
    ///   - isBusy: Whether at least half of the permits were in use at some moment.
    public init(limit: Double, latency: Duration, baseline: Duration, isBusy: Bool) {
        self.limit = limit
        self.latency = latency
        self.baseline = baseline
        self.isBusy = isBusy
    }
}
