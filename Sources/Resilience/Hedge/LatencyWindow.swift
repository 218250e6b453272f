/// How long the latest successes took, with one of their percentiles always at hand.
///
/// The latencies are kept in buckets, sixteen for each doubling. So a percentile is never too early, and at most a
/// sixteenth, or 1.024 µs, too late.
struct LatencyWindow: Sendable, Hashable {
    static let capacity = 1_000
    private static let perDoubling = 16
    private static let buckets = 50 * perDoubling

    /// Which percentile is at hand, as a share: 0.95 for p95.
    let share: Double
    /// How many latencies lie in each bucket.
    private var counts = [UInt16](repeating: 0, count: buckets)
    /// The bucket of each latency, the oldest at `oldest` once there are as many as fit.
    private var latest: [UInt16] = []
    private var oldest = 0
    /// The bucket of the percentile, and how many latencies lie in the buckets before it.
    private var place = 0
    private var below = 0

    init(percentile share: Double) {
        self.share = share
        latest.reserveCapacity(Self.capacity)
    }

    /// The number of latencies in the window.
    var count: Int { latest.count }

    /// At least this share of the latencies was not longer, in nanoseconds; nil if there is none.
    var percentile: Int64? { latest.isEmpty ? nil : Self.end(of: place) }

    /// The same latencies, with another percentile at hand.
    func with(percentile share: Double) -> LatencyWindow {
        var other = LatencyWindow(percentile: share)
        (other.counts, other.latest, other.oldest) = (counts, latest, oldest)
        other.findPlace()
        return other
    }

    /// - Parameter latency: In nanoseconds. Less than 0 counts as 0.
    mutating func add(_ latency: Int64) {
        let new = Self.bucket(of: max(0, latency))
        if latest.count < Self.capacity {
            latest.append(UInt16(new))
        } else {
            count(-1, in: Int(latest[oldest]))
            latest[oldest] = UInt16(new)
            oldest = (oldest + 1) % Self.capacity
        }
        count(1, in: new)
        findPlace()
    }

    private mutating func count(_ change: Int, in bucket: Int) {
        counts[bucket] = UInt16(Int(counts[bucket]) + change)
        if bucket < place { below += change }
    }

    /// Goes on from the bucket where the percentile was.
    private mutating func findPlace() {
        let rank = max(1, Int((share * Double(latest.count)).rounded(.up)))
        while below >= rank {
            place -= 1
            below -= Int(counts[place])
        }
        while !latest.isEmpty, below + Int(counts[place]) < rank {
            below += Int(counts[place])
            place += 1
        }
    }

    /// The buckets of the first doublings, below 16 units, are a unit wide.
    private static func bucket(of latency: Int64) -> Int {
        let units = latency >> 10
        guard units >= perDoubling else { return Int(units) }
        let shift = Int64.bitWidth - 5 - units.leadingZeroBitCount
        return shift * perDoubling + Int(units >> shift)
    }

    /// The first latency, in nanoseconds, that is too long for the bucket.
    private static func end(of bucket: Int) -> Int64 {
        let shift = max(0, bucket / perDoubling - 1)
        let units = Int64(bucket - shift * perDoubling + 1)
        return units.saturatingMultiplied(by: 1 << (shift + 10))
    }
}
