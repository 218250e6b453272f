/// A rule by which an ``AdaptiveLimit`` changes: how many calls may run at the same time, from how long they take.
///
/// Write your own, and pass it to ``AdaptiveLimit/custom(_:initial:in:window:slowAfter:on:)``. It is asked once a window
/// and after an overload, never twice at the same time. It need not stay within the bounds, and what is no number
/// leaves the limit as it is.
///
/// - Important: It is asked under the bulkhead's lock. It must not use the bulkhead.
public protocol LimitAlgorithm: Sendable, Hashable {
    /// Whether the rule compares latencies with the baseline. If so, the bulkhead measures the baseline again from time
    /// to time, with half of the limit. True by default.
    var usesBaseline: Bool { get }

    /// Returns the limit after a window of calls.
    /// - Parameter window: What the calls of the window took.
    mutating func limit(after window: LimitWindow) -> Double

    /// Returns the limit after an overload: the other side asked for fewer calls, or a window was too slow.
    ///
    /// The calls that had begun before are no further overload.
    /// - Parameter limit: The limit until now.
    mutating func limitAfterOverload(_ limit: Double) -> Double
}

extension LimitAlgorithm {
    public var usesBaseline: Bool { true }
}

/// What a ``LimitAlgorithm`` learns from a window of calls.
public struct LimitWindow: Sendable, Hashable {
    /// The limit that the calls had. Its whole part is the number of permits.
    public let limit: Double
    /// How long a call takes: the mean of the window's calls, less what may be chance, but not less than ``baseline``
    /// for that. Above zero.
    public let latency: Duration
    /// How long a call takes when it finds no queue on the other side. Above zero.
    public let baseline: Duration
    /// Whether at least half of the permits were in use at some moment. If not, the limit limited nobody, and there is
    /// no reason to raise it.
    public let isBusy: Bool

    /// Creates a window, to test an algorithm.
    /// - Parameters:
    ///   - limit: The limit that the calls had.
    ///   - latency: How long a call takes; above zero.
    ///   - baseline: How long a call takes that finds no queue; above zero.
    ///   - isBusy: Whether at least half of the permits were in use at some moment.
    public init(limit: Double, latency: Duration, baseline: Duration, isBusy: Bool) {
        self.limit = limit
        self.latency = latency
        self.baseline = baseline
        self.isBusy = isBusy
    }
}
