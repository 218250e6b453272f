import Resilience

/// The durations of the latest calls, with one percentile always at hand, and a delay for hedges.
///
/// The latencies are kept in buckets, sixteen for each doubling. So a percentile is never too early, and at most a
/// sixteenth, or 1.024 µs, too late.
///
/// A first copy that lost to a hedge took at least as long as the call. Without it, each winning hedge would make the
/// percentile shorter. But that time contains the delay: if more calls lose than the percentile leaves above it, the
/// percentile would grow with each call. So ``delay`` has bounds from lower percentiles.
struct LatencyWindow: Sendable, Hashable {
    static let capacity = 1_000
    private static let perDoubling = 16
    private static let buckets = 50 * perDoubling

    /// The percentile at hand, as a share: 0.95 for p95.
    let share: Double
    /// The number of latencies in each bucket.
    private var counts = [UInt16](repeating: 0, count: buckets)
    /// The latest latencies, the oldest at `oldest` once there are as many as fit.
    private var latest: [Latency] = []
    private var oldest = 0
    /// The number of them from copies that lost.
    private var lost = 0
    /// The percentile, and those that bound the delay.
    private var percentiles: [Percentile]

    private struct Latency: Hashable {
        let bucket: UInt16
        let isLost: Bool
    }

    private struct Percentile: Hashable {
        let share: Double
        /// The delay is at most this many times this percentile.
        let factor: Double
        /// Its bucket, and how many latencies lie in the buckets before that.
        var place = 0
        var below = 0
    }

    /// The lowest percentile that bounds the delay. At least this share of latencies is from copies that ended by
    /// themselves, so that it does not rise by itself either.
    private static let lowest = 0.25

    init(percentile share: Double) {
        self.share = share
        percentiles = [Percentile(share: share, factor: 1)]
        // The share of the calls that have a hedge. A delay of half the length may have twice as many, and so on.
        let hedged = 1 - share
        var factor = 2.0
        while factor * hedged < 1 - Self.lowest {
            percentiles.append(Percentile(share: 1 - factor * hedged, factor: factor))
            factor *= 2
        }
        if share > Self.lowest {
            percentiles.append(Percentile(share: Self.lowest, factor: (1 - Self.lowest) / hedged))
        }
        latest.reserveCapacity(Self.capacity)
    }

    /// The number of latencies in the window.
    var count: Int { latest.count }

    /// At least this share of the latencies was no longer, in nanoseconds; nil if there is none.
    var percentile: Int64? { latest.isEmpty ? nil : Self.end(of: percentiles[0].place) }

    /// The percentile, or less: a delay that is `n` times shorter is taken if at most `n` times as many calls take
    /// longer. So hedges come in time even if more calls are slow than the percentile leaves above it. In nanoseconds;
    /// nil if there is no latency.
    ///
    /// By this rule usual latencies keep their percentile: a lognormal distribution up to a sigma of 1.1.
    /// Source of the trade between fewer and earlier hedges: T. Kaler et al., "Optimal Reissue Policies for Reducing
    /// Tail Latency" (SPAA 2017).
    var delay: Int64? {
        guard let percentile else { return nil }
        return percentiles.reduce(percentile) { delay, bound in
            min(delay, Int64(saturating: bound.factor * Double(Self.end(of: bound.place))))
        }
    }

    /// The same latencies, with another percentile at hand.
    func with(percentile share: Double) -> LatencyWindow {
        var other = LatencyWindow(percentile: share)
        (other.counts, other.latest, other.oldest, other.lost) = (counts, latest, oldest, lost)
        other.findPlaces()
        return other
    }

    /// - Parameters:
    ///   - latency: In nanoseconds. Less than 0 counts as 0.
    ///   - isLost: Whether the copy lost then, and would have taken longer.
    mutating func add(_ latency: Int64, isLost: Bool = false) {
        let isFull = latest.count == Self.capacity
        let count = isFull ? latest.count : latest.count + 1
        if isLost, Double(lost + 1) > (1 - Self.lowest) * Double(count) { return }
        let new = Latency(bucket: UInt16(Self.bucket(of: max(0, latency))), isLost: isLost)
        if isFull {
            self.count(-1, latest[oldest])
            latest[oldest] = new
            oldest = (oldest + 1) % Self.capacity
        } else {
            latest.append(new)
        }
        self.count(1, new)
        findPlaces()
    }

    private mutating func count(_ change: Int, _ latency: Latency) {
        let bucket = Int(latency.bucket)
        counts[bucket] = UInt16(Int(counts[bucket]) + change)
        if latency.isLost { lost += change }
        for index in percentiles.indices where bucket < percentiles[index].place { percentiles[index].below += change }
    }

    /// Continues from the buckets where the percentiles were.
    private mutating func findPlaces() {
        guard !latest.isEmpty else { return }
        for index in percentiles.indices {
            var (place, below) = (percentiles[index].place, percentiles[index].below)
            let rank = max(1, Int((percentiles[index].share * Double(latest.count)).rounded(.up)))
            while below >= rank {
                place -= 1
                below -= Int(counts[place])
            }
            while below + Int(counts[place]) < rank {
                below += Int(counts[place])
                place += 1
            }
            (percentiles[index].place, percentiles[index].below) = (place, below)
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
