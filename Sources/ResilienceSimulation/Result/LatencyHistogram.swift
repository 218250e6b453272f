import Resilience

/// Counts times, in buckets that are at most 3.2 % wide.
///
/// Each power of two nanoseconds has 32 buckets, as in HdrHistogram (Gil Tene).
public struct LatencyHistogram: Sendable, Hashable {
    private var counts: [Int] = []

    /// How many times it has counted.
    public private(set) var count = 0

    /// Creates an empty histogram.
    public init() {}

    /// Counts a time; below 0 counts as 0.
    ///
    /// - Parameter time: The time.
    public mutating func add(_ time: Duration) {
        let index = Self.index(of: max(0, time.saturatedNanoseconds))
        if index >= counts.count { counts.append(contentsOf: repeatElement(0, count: index + 1 - counts.count)) }
        counts[index] += 1
        count += 1
    }

    /// Counts the times of another histogram, too.
    ///
    /// - Parameter other: The other histogram.
    public mutating func add(_ other: LatencyHistogram) {
        if other.counts.count > counts.count {
            counts.append(contentsOf: repeatElement(0, count: other.counts.count - counts.count))
        }
        for (index, count) in other.counts.enumerated() { counts[index] += count }
        count += other.count
    }

    /// Returns the time that a share of all times does not exceed.
    ///
    /// - Parameter share: The share, from 0 to 1: 0.99 for p99.
    /// - Returns: The middle of the bucket; nil if nothing was counted.
    public func quantile(_ share: Double) -> Duration? {
        precondition((0...1).contains(share), "a share must lie in 0...1")
        guard count > 0 else { return nil }
        var left = max(1, Int((share * Double(count)).rounded(.up)))
        for (index, count) in counts.enumerated() {
            left -= count
            if left <= 0 { return .nanoseconds(Self.middle(of: index)) }
        }
        return nil
    }

    private static func index(of nanoseconds: Int64) -> Int {
        guard nanoseconds >= 64 else { return Int(nanoseconds) }
        let power = 63 - nanoseconds.leadingZeroBitCount
        // The five bits below the highest.
        return (power - 4) * 32 + Int(nanoseconds >> (power - 5)) - 32
    }

    private static func middle(of index: Int) -> Int64 {
        guard index >= 64 else { return Int64(index) }
        let shift = index / 32 - 1
        let least = Int64(index % 32 + 32) << Int64(shift)
        return least + (Int64(1) << Int64(shift)) / 2
    }
}
