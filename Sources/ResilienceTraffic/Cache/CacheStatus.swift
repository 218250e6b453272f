public import Resilience

/// The state of a ``CallCache`` at one moment.
public struct CacheStatus: PolicyStatusDetail {
    /// The number of cached values and failures, including those that are no longer usable.
    public let count: Int
    /// Their total cost; 0 if costs are not counted.
    public let cost: Int
    /// The number of loads in flight, and of calls that wait for them.
    public let loads: SingleFlightStatus

    /// Creates a status, for tests and previews.
    ///
    /// - Parameters:
    ///   - count: The number of cached values and failures.
    ///   - cost: Their total cost.
    ///   - loads: The number of loads in flight, and of calls that wait for them.
    public init(count: Int, cost: Int, loads: SingleFlightStatus) {
        self.count = count
        self.cost = cost
        self.loads = loads
    }

    /// Always true: a cache rejects no call.
    public var isAllowed: Bool { true }

    public static var kind: String { "cache" }

    public func readings(at now: MonotonicInstant) -> [StatusReading] {
        [
            StatusReading("cache_entries", "Values and failures that a cache keeps.", title: "entries", count),
            StatusReading("cache_cost", "Total cost of a cache's entries.", title: cost > 0 ? "cost" : nil, cost),
        ] + loads.readings(at: now)
    }
}
